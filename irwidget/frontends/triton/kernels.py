"""Triton's kernels among other objects. Does not import Triton."""

from __future__ import annotations

from collections.abc import Mapping

from irwidget.toolchain import triton_private


def is_kernel(obj: object) -> bool:
    """Whether an object is a Triton kernel: `@triton.jit`, also under `@triton.autotune` and `@triton.heuristics`.

    Without Triton imported nothing can be one, so it is not imported to find out.
    """
    return triton_private.is_kernel(obj)


def kernels(namespace: Mapping[str, object]) -> dict[str, object]:
    """The kernels of a namespace by name."""
    return {name: value for name, value in namespace.items() if not name.startswith("_") and is_kernel(value)}
