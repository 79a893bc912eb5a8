"""Versions of what a lowering depends on, here and in toolchain.lock."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata

from irwidget.dumps import Step

PACKAGE_OF_TOOL = {
    "torch.export": "torch",
    "torch-mlir-opt": "torch-mlir",
    "mlir-opt": "torch-mlir",
}


def versions(steps: Iterable[Step]) -> dict[str, str]:
    """Package and version of each embedded tool that the steps name."""
    packages = dict.fromkeys(PACKAGE_OF_TOOL[step.tool] for step in steps if step.tool in PACKAGE_OF_TOOL)
    return {package: metadata.version(package) for package in packages}
