"""The operators of the device that ATen has no name for, registered for tracing: shapes only.

Imported by the tracing passes, never by `import irwidget.spyre`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

NAMESPACE = "irwidget_spyre"

_SCHEMAS = {
    "matmul": "(Tensor a, Tensor b) -> Tensor",
    "exx2": "(Tensor x, float scale, bool zero_mean) -> Tensor",
    "layernormscale": "(Tensor x, float eps) -> Tensor",
    "layernormnorm": "(Tensor x, Tensor exx2, Tensor scale, Tensor weight, Tensor bias) -> Tensor",
    "clip": "(Tensor x, float low, float high) -> Tensor",
    "topkvalue": "(Tensor x, int k, int dim) -> Tensor",
    "topkindex": "(Tensor x, int k, int dim) -> Tensor",
    "unfold": "(Tensor x, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
    "reshape_via_cpu": "(Tensor x, int[] size) -> Tensor",
    "to_dtype_cpu": "(Tensor x, ScalarType dtype) -> Tensor",
    "unimplemented": "(Tensor x, str op, int[] size) -> Tensor",
}


def _matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]))


def _like(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(x)


def _exx2(x: torch.Tensor, scale: float, zero_mean: bool) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], 1))


def _topk(x: torch.Tensor, k: int, dim: int) -> torch.Tensor:
    size = list(x.shape)
    size[dim] = k
    return x.new_empty(size)


def _topk_index(x: torch.Tensor, k: int, dim: int) -> torch.Tensor:
    return _topk(x, k, dim).to(torch.int64)


def _unfold(
    x: torch.Tensor,
    kernel: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
) -> torch.Tensor:
    blocks = 1
    for i in range(2):
        blocks *= (x.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
    return x.new_empty((x.shape[0], x.shape[1] * kernel[0] * kernel[1], blocks))


def _sized(x: torch.Tensor, *rest: Any) -> torch.Tensor:
    return x.new_empty(rest[-1])


def _cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_like(x, dtype=dtype)


_META: dict[str, Any] = {
    "matmul": _matmul,
    "exx2": _exx2,
    "layernormscale": _like,
    "layernormnorm": _like,
    "clip": _like,
    "topkvalue": _topk,
    "topkindex": _topk_index,
    "unfold": _unfold,
    "reshape_via_cpu": _sized,
    "to_dtype_cpu": _cast,
    "unimplemented": _sized,
}


@lru_cache(maxsize=1)
def ops() -> Any:
    """`torch.ops.irwidget_spyre`, defined on first use."""
    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    for name, schema in _SCHEMAS.items():
        library.define(name + schema)
        library.impl(name, _META[name], "Meta")
    _keep.append(library)
    return getattr(torch.ops, NAMESPACE)


_keep: list[torch.library.Library] = []
"""A library forgets its operators when it is collected."""
