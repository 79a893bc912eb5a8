"""The grid of a launch: how many programs, and whether a GPU runs them."""

from __future__ import annotations

import math
import operator
import reprlib
from typing import Any

from irwidget.errors import UsageError
from irwidget.toolchain.triton_archs import Arch

_MOST = 2**31 - 1
"""Triton's launchers take sizes as ints of C."""
_MOST_ACROSS = 65535
"""CUDA's limit of the second and the third size."""


def dimensions(kernel: Any, grid: Any) -> tuple[int, ...]:
    """The sizes that Triton's launchers read of a grid: one to three. Raises UsageError for what they refuse."""
    try:
        sizes = tuple(operator.index(grid[axis]) for axis in range(min(3, len(grid)) or 1))
    except (TypeError, ValueError, LookupError):
        raise UsageError(
            f"{kernel.__name__} is launched on {reprlib.repr(grid)}, which is no grid: one to three sizes"
        ) from None
    if any(not -_MOST - 1 <= n <= _MOST for n in sizes):
        raise UsageError(f"{kernel.__name__} is launched on {sizes}: Triton's launchers take sizes up to {_MOST}")
    return sizes


def trouble(kernel: Any, arch: Arch, sizes: tuple[int, ...]) -> str:
    """Why a launch on a grid does not run as it says; empty where it does. Raises UsageError where CUDA refuses it."""
    programs = (math.prod(sizes) + _MOST + 1) % 2**32 - _MOST - 1  # as the launchers have it, in an int of C
    if 0 in sizes:
        return "which has no program: nothing runs"
    if arch.backend != "cuda":
        return "a size is negative, of which HIP makes a large number" if min(sizes) < 0 else ""
    if programs <= 0:
        why = (
            "a size is negative"
            if min(sizes) < 0
            else "Triton multiplies the sizes in 32 bits, and comes to no program"
        )
        return f"{why}: nothing runs"
    said = f"{kernel.__name__} is launched on {sizes}: CUDA launches"
    if min(sizes) < 0:
        raise UsageError(f"{said} no negative number of programs")
    if any(n > _MOST_ACROSS for n in sizes[1:]):
        raise UsageError(f"{said} at most {_MOST_ACROSS} programs along the second and the third axis")
    return ""
