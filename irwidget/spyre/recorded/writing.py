"""Write a program as a run of torch-spyre leaves it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from irwidget.errors import UsageError
from irwidget.spyre.bundlemlir import bundle_mlir
from irwidget.spyre.kernel import SpyreKernel

HOST = "host.py"
BUNDLE = "bundle.mlir"


def write(host: str, kernels: Sequence[SpyreKernel], folder: str | Path) -> Path:
    """A folder for each kernel, and the host module. Raises UsageError when it cannot be written."""
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        (root / HOST).write_text(host, encoding="utf-8")
        for kernel in kernels:
            place = root / kernel.name
            place.mkdir(exist_ok=True)
            (place / BUNDLE).write_text(bundle_mlir(kernel), encoding="utf-8")
            for name, file in kernel.files():
                (place / name).write_text(json.dumps(file, indent=2), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{root} cannot be written: {error}") from None
    return root
