"""The grid of a launch: how many programs, and whether a GPU runs them."""

from __future__ import annotations

import operator
from typing import Any

from irwidget.errors import UsageError
from irwidget.toolchain.triton_archs import Arch

_MOST = 2**31 - 1
"""Triton's launchers take sizes as ints of C."""
_MOST_ACROSS = 65535
"""CUDA's limit of the second and the third size."""


def dimensions(kernel: Any, grid: Any) -> tuple[int, ...] | None:
    """The grid as numbers. Raises UsageError for what is none."""
    if not grid:
        return None
    try:
        return tuple(operator.index(n) for n in grid)
    except (TypeError, ValueError):
        raise UsageError(f"{kernel.__name__} is launched on {grid!r}, which is no grid: one to three sizes") from None


def trouble(arch: Arch, grid: tuple[int, ...]) -> str:
    """Why a launch on a grid does not run as it says; empty where it does."""
    heeded = grid[:3]
    if any(abs(n) > _MOST for n in heeded):
        return f"a size is at most {_MOST}: the launch would fail"
    if any(n < 0 for n in heeded):
        return "a size is negative: nothing runs"
    if 0 in heeded:
        return "which has no program: nothing runs"
    if arch.backend == "cuda" and any(n > _MOST_ACROSS for n in heeded[1:]):
        return f"CUDA launches at most {_MOST_ACROSS} programs along the second and the third axis: nothing runs"
    return "Triton heeds the first three sizes" if len(grid) > 3 else ""
