"""Words of a command of mlir-opt that are no passes, but of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irwidget.toolchain.mlir import PlannedPass
from irwidget.trace import Step

UNREGISTERED = "allow-unregistered-dialect"
"""The option of mlir-opt with which it takes operations that it does not know."""


def allows_unregistered(step: Step) -> bool:
    """Whether a step takes operations of dialects that MLIR does not know."""
    return any(word.lstrip("-").partition("=")[0] == UNREGISTERED for word in step.arguments.split())


def flags_of(steps: Iterable[Step]) -> str:
    """What a command that only reads the IR of steps has besides."""
    return f"--{UNREGISTERED}" if any(map(allows_unregistered, steps)) else ""


def alone(tool: str, one: PlannedPass, words: Sequence[str]) -> str:
    """The command of just one of the passes that a tool runs with these words."""
    flags = [word for word in words if word.lstrip("-") == UNREGISTERED]
    return " ".join([tool, *flags, f"--pass-pipeline='{one.pipeline}'"])
