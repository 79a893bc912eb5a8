"""Triton's kernels among other objects. Does not import Triton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from irwidget.errors import UsageError
from irwidget.frontends.base import Given
from irwidget.toolchain import triton_private


def is_kernel(obj: object) -> bool:
    """Whether an object is a Triton kernel: `@triton.jit`, also under `@triton.autotune` and `@triton.heuristics`.

    Without Triton imported nothing can be one, so it is not imported to find out.
    """
    return triton_private.is_kernel(obj)


def kernels(namespace: Mapping[str, object]) -> dict[str, object]:
    """The kernels of a namespace by name."""
    return {name: value for name, value in namespace.items() if not name.startswith("_") and is_kernel(value)}


def is_bound(obj: object) -> bool:
    """Whether an object is `kernel[grid]`, a kernel with its grid and without arguments."""
    return triton_private.bound(obj) is not None


def unbound(given: Given) -> Given:
    """The same of the kernel itself, with the grid as an option, where `kernel[grid]` is given.

    Raises UsageError where there is a second grid.
    """
    if (found := triton_private.bound(given.obj)) is None:
        return given
    if "grid" in given.options:
        raise UsageError("kernel[grid] has its grid already: leave out grid=, or give the kernel alone")
    return replace(given, obj=found[0], options={**given.options, "grid": found[1]})
