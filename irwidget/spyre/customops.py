"""The operators of the device that ATen has no name for: shapes for tracing, and what they compute on the CPU.

Imported by the tracing passes, never by `import irwidget.spyre`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

Tensor = torch.Tensor
NAMESPACE = "irwidget_spyre"

_SCHEMAS = {
    "matmul": "(Tensor a, Tensor b) -> Tensor",
    "scaled_matmul": "(Tensor a, Tensor b, ScalarType dtype) -> Tensor",
    "qfp8ch": "(Tensor x) -> Tensor",
    "scaled": "(Tensor x, float by) -> Tensor",
    "copied": "(Tensor x, ScalarType dtype) -> Tensor",
    "exx2": "(Tensor x, float scale, bool zero_mean) -> Tensor",
    "layernormscale": "(Tensor x, float eps) -> Tensor",
    "layernormnorm": "(Tensor x, Tensor exx2, Tensor scale, Tensor weight, Tensor bias) -> Tensor",
    "clip": "(Tensor x, Scalar low, Scalar high) -> Tensor",
    "silu": "(Tensor x) -> Tensor",
    "gelu": "(Tensor x, str approximate) -> Tensor",
    "softplus": "(Tensor x, float beta, float threshold) -> Tensor",
    "topkvalue": "(Tensor x, int k, int dim) -> Tensor",
    "topkindex": "(Tensor x, int k, int dim) -> Tensor",
    "unfold": "(Tensor x, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
    "reshape_via_cpu": "(Tensor x, int[] size) -> Tensor",
    "to_dtype_cpu": "(Tensor x, ScalarType dtype) -> Tensor",
    "max_dim_int64_fallback": "(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    "min_dim_int64_fallback": "(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    "bits": "(Tensor x, ScalarType source, ScalarType dtype) -> Tensor",
}


# -- shapes ----------------------------------------------------------------------------------------


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]))


def _scaled_matmul(a: Tensor, b: Tensor, dtype: torch.dtype) -> Tensor:
    return _matmul(a, b).new_empty((*a.shape[:-1], b.shape[-1]), dtype=dtype)


def _like(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x)


def _row_major(x: Tensor, *_: Any) -> Tensor:
    return x.new_empty(x.shape)


def _fp8(x: Tensor) -> Tensor:
    return torch.empty_like(x, dtype=torch.float8_e4m3fn)


def _exx2(x: Tensor, scale: float, zero_mean: bool) -> Tensor:
    return x.new_empty((*x.shape[:-1], 1))


def _topk(x: Tensor, k: int, dim: int) -> Tensor:
    size = list(x.shape)
    size[dim] = k
    return x.new_empty(size)


def _topk_index(x: Tensor, k: int, dim: int) -> Tensor:
    return _topk(x, k, dim).to(torch.int64)


def _unfold(x: Tensor, kernel: list[int], dilation: list[int], padding: list[int], stride: list[int]) -> Tensor:
    blocks = 1
    for i in range(2):
        blocks *= (x.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
    return x.new_empty((x.shape[0], x.shape[1] * kernel[0] * kernel[1], blocks))


def _sized(x: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(rest[-1])


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.empty_like(x, dtype=dtype)


def _bits(x: Tensor, source: torch.dtype, dtype: torch.dtype) -> Tensor:
    return x.new_empty(x.shape, dtype=source).view(dtype)


_META: dict[str, Any] = {
    "matmul": _matmul,
    "scaled_matmul": _scaled_matmul,
    "qfp8ch": _fp8,
    "scaled": _row_major,
    "copied": lambda x, dtype: x.new_empty(x.shape, dtype=dtype),
    "exx2": _exx2,
    "layernormscale": _like,
    "layernormnorm": _row_major,
    "clip": _like,
    "silu": _row_major,
    "gelu": _row_major,
    "softplus": _row_major,
    "topkvalue": _topk,
    "topkindex": _topk_index,
    "unfold": _unfold,
    "reshape_via_cpu": _sized,
    "to_dtype_cpu": _cast,
    "max_dim_int64_fallback": lambda x, dim, keepdim=False: tuple(torch.max(x, dim, keepdim)),
    "min_dim_int64_fallback": lambda x, dim, keepdim=False: tuple(torch.min(x, dim, keepdim)),
    "bits": _bits,
}


# -- values ----------------------------------------------------------------------------------------


def _moments(x: Tensor, scale: float, zero_mean: bool) -> Tensor:
    """The mean and the mean square, which the device keeps in two lanes of a stick: here a complex number."""
    wide = x.float()
    return torch.complex((wide * scale).sum(-1, keepdim=True), (wide * wide * scale).sum(-1, keepdim=True))


def _inverse_deviation(moments: Tensor, eps: float) -> Tensor:
    return torch.rsqrt(moments.imag - moments.real**2 + eps)


def _normalized(x: Tensor, moments: Tensor, scale: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return ((x.float() - moments.real) * scale * weight.float() + bias.float()).to(x.dtype)


_CPU: dict[str, Any] = {
    "matmul": torch.matmul,
    "scaled_matmul": lambda a, b, dtype: (a.float() @ b.float()).to(dtype),
    "qfp8ch": lambda x: x.to(torch.float8_e4m3fn),
    "scaled": lambda x, by: (x * by).contiguous(),
    "copied": lambda x, dtype: x.to(dtype, memory_format=torch.contiguous_format, copy=True),
    "exx2": _moments,
    "layernormscale": _inverse_deviation,
    "layernormnorm": _normalized,
    "clip": torch.clamp,
    "silu": lambda x: torch.nn.functional.silu(x).contiguous(),
    "gelu": lambda x, approximate: torch.nn.functional.gelu(x, approximate=approximate).contiguous(),
    "softplus": lambda x, beta, threshold: torch.nn.functional.softplus(x, beta, threshold).contiguous(),
    "topkvalue": lambda x, k, dim: torch.topk(x, k, dim).values,
    "topkindex": lambda x, k, dim: torch.topk(x, k, dim).indices,
    "unfold": torch.nn.functional.unfold,
    "reshape_via_cpu": lambda x, size: x.reshape(size).clone(),
    "to_dtype_cpu": lambda x, dtype: x.to(dtype, copy=True),
    "max_dim_int64_fallback": _META["max_dim_int64_fallback"],
    "min_dim_int64_fallback": _META["min_dim_int64_fallback"],
    "bits": lambda x, source, dtype: x.to(source, memory_format=torch.contiguous_format, copy=True).view(dtype),
}


@lru_cache(maxsize=1)
def ops() -> Any:
    """`torch.ops.irwidget_spyre`, defined on first use."""
    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    for name, schema in _SCHEMAS.items():
        library.define(name + schema, tags=(torch.Tag.pointwise,) if name == "clip" else ())
        library.impl(name, _META[name], "Meta")
        library.impl(name, _CPU[name], "CPU")
    _keep.append(library)
    return getattr(torch.ops, NAMESPACE)


_keep: list[torch.library.Library] = []
"""A library forgets its operators when it is collected."""
