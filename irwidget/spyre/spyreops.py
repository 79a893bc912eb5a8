"""`torch.ops.spyre.*`: upstream's own operators by their names and schemas, for code that calls them.

Each is composed of ATen and of the device's primitives (`customops`), so that it has shapes under tracing, values on
the CPU, and the same lowering as what it is composed of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from irwidget.spyre.customops import ops
from irwidget.spyre.decomposed_pointwise import bounds

Tensor = torch.Tensor
NAMESPACE = "spyre"
FP8_MAX = 448.0
"""The largest float8_e4m3fn."""
_SCHEMAS: dict[str, str] = {}
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        name = schema.partition("(")[0]
        _SCHEMAS[name], _FUNCTIONS[name] = schema, function
        return function

    return keep


@_operator("softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor")
def _softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return torch.nn.functional.softplus(input, beta, threshold)


@_operator("gelu(Tensor input, str approximate='none') -> Tensor")
def _gelu(input: Tensor, approximate: str = "none") -> Tensor:
    return torch.nn.functional.gelu(input, approximate=approximate)


@_operator("silu(Tensor input) -> Tensor")
def _silu(input: Tensor) -> Tensor:
    return torch.nn.functional.silu(input)


@_operator("clamp(Tensor input, Scalar? min=None, Scalar? max=None) -> Tensor")
def _clamp(input: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    least, most = bounds(input.dtype)
    return ops().clip(input, least if min is None else min, most if max is None else max)


@_operator("logical_not(Tensor input) -> Tensor")
def _logical_not(input: Tensor) -> Tensor:
    return torch.logical_not(input)


@_operator("restickify(Tensor x) -> Tensor")
def _restickify(x: Tensor) -> Tensor:
    return x.clone()


@_operator("empty(SymInt[] size, Device device, ScalarType? dtype=None) -> Tensor")
def _empty(size: Sequence[int], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    return torch.empty(size, dtype=dtype)


# -- norms -----------------------------------------------------------------------------------------


@_operator(
    "layer_norm(Tensor x, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> Tensor"
)
def _layer_norm(
    x: Tensor, shape: list[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    return torch.nn.functional.layer_norm(x, shape, weight, bias, eps)


@_operator("rms_norm(Tensor x, SymInt[] normalized_shape, Tensor? weight=None, float eps=1e-5) -> Tensor")
def _rms_norm(x: Tensor, shape: list[int], weight: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    return torch.nn.functional.rms_norm(x, shape, weight, eps)


@_operator("exx2(Tensor x, float exx2Scale, bool useZeroMean) -> Tensor")
def _exx2(x: Tensor, scale: float, zero_mean: bool) -> Tensor:
    return ops().exx2(x, scale, zero_mean).squeeze(-1)


@_operator("layernormscale(Tensor x, float eps) -> Tensor")
def _layernormscale(x: Tensor, eps: float) -> Tensor:
    return ops().layernormscale(x, eps)


@_operator("layernormnorm(Tensor x, Tensor mean, Tensor norm_mean, Tensor? weight, Tensor? bias) -> Tensor")
def _layernormnorm(x: Tensor, mean: Tensor, norm_mean: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    weight = torch.ones(x.shape[-1:], dtype=x.dtype) if weight is None else weight
    bias = torch.zeros(x.shape[-1:], dtype=x.dtype) if bias is None else bias
    return ops().layernormnorm(x, mean.unsqueeze(-1), norm_mean.unsqueeze(-1), weight, bias)


# -- reductions and matmuls ------------------------------------------------------------------------


@_operator("topkvalue(Tensor x, SymInt k, SymInt dim) -> Tensor")
def _topkvalue(x: Tensor, k: int, dim: int) -> Tensor:
    return ops().topkvalue(x, k, dim % x.dim())


@_operator("topkindex(Tensor x, SymInt k, SymInt dim) -> Tensor")
def _topkindex(x: Tensor, k: int, dim: int) -> Tensor:
    return ops().topkindex(x, k, dim % x.dim())


@_operator("batched_matmul(Tensor x, Tensor y) -> Tensor")
def _batched_matmul(x: Tensor, y: Tensor) -> Tensor:
    return torch.matmul(x, y)


@_operator("max_dim_int64_fallback(Tensor input, SymInt dim, bool keepdim=False) -> (Tensor, Tensor)")
def _max_dim(input: Tensor, dim: int, keepdim: bool = False) -> Any:
    return tuple(torch.max(input, dim, keepdim))


@_operator("min_dim_int64_fallback(Tensor input, SymInt dim, bool keepdim=False) -> (Tensor, Tensor)")
def _min_dim(input: Tensor, dim: int, keepdim: bool = False) -> Any:
    return tuple(torch.min(input, dim, keepdim))


@_operator("prod_dim_int(Tensor input, SymInt dim, bool keepdim=False) -> Tensor")
def _prod(input: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    return torch.prod(input, dim, keepdim, dtype=input.dtype)


# -- copies into a part ----------------------------------------------------------------------------


def _part(output: Tensor, input: Tensor, dims: Sequence[int], offsets: Sequence[int]) -> Tensor:
    for dim, offset in zip(dims, offsets, strict=True):
        output = torch.narrow(output, dim, offset, input.size(dim))
    return output


@_operator("overwrite(Tensor input, Tensor(a!) output, SymInt[] dims, SymInt[] offsets) -> ()")
def _overwrite(input: Tensor, output: Tensor, dims: Sequence[int], offsets: Sequence[int]) -> None:
    _part(output, input, dims, offsets).copy_(input)


@_operator("overwrite_f(Tensor input, Tensor output, SymInt[] dims, SymInt[] offsets) -> Tensor")
def _overwrite_f(input: Tensor, output: Tensor, dims: Sequence[int], offsets: Sequence[int]) -> Tensor:
    wholes = [output]
    for dim, offset in zip(dims, offsets, strict=True):
        wholes.append(torch.narrow(wholes[-1], dim, offset, input.size(dim)))
    piece = input
    for whole, dim, offset in zip(reversed(wholes[:-1]), reversed(list(dims)), reversed(list(offsets)), strict=True):
        piece = torch.slice_scatter(whole, piece, dim, offset, offset + input.size(dim))
    return piece if dims else input.clone()


@_operator("copy_(Tensor src, Tensor(a!) dst) -> ()")
def _copy(src: Tensor, dst: Tensor) -> None:
    dst.copy_(src)


@_operator("copy_f(Tensor src, Tensor dst) -> Tensor")
def _copy_f(src: Tensor, dst: Tensor) -> Tensor:
    return torch.ops.aten.copy.default(dst, src)


@_operator("copy_from_d2d(Tensor src, Tensor(a!) dst, SymInt src_off, SymInt dst_off) -> ()")
def _copy_from_d2d(src: Tensor, dst: Tensor, src_off: int, dst_off: int) -> None:
    dst.copy_(src)


# -- what runs on the host -------------------------------------------------------------------------


@_operator(
    "unfold(Tensor input, int[] kernel_size, int[]? dilation=None, int[]? padding=None, int[]? stride=None) -> Tensor"
)
def _unfold(
    input: Tensor,
    kernel_size: list[int],
    dilation: list[int] | None = None,
    padding: list[int] | None = None,
    stride: list[int] | None = None,
) -> Tensor:
    return ops().unfold(input, kernel_size, dilation or [1, 1], padding or [0, 0], stride or [1, 1])


@_operator("reshape_via_cpu(Tensor input, SymInt[] shape) -> Tensor")
def _reshape_via_cpu(input: Tensor, shape: list[int]) -> Tensor:
    return ops().reshape_via_cpu(input, shape)


@_operator("to_dtype_cpu(Tensor input, ScalarType dtype) -> Tensor")
def _to_dtype_cpu(input: Tensor, dtype: torch.dtype) -> Tensor:
    return ops().to_dtype_cpu(input, dtype)


@_operator("causal_mask(SymInt seqlen_q, SymInt seqlen_kv, ScalarType dtype, Device device) -> Tensor")
def _causal_mask(queries: int, keys: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.full((1, 1, queries, keys), float("-inf"), dtype=dtype).triu(1)


# -- float8 ----------------------------------------------------------------------------------------


@_operator("qfp8ch(Tensor input) -> Tensor")
def _qfp8ch(input: Tensor) -> Tensor:
    return ops().qfp8ch(input)


@_operator("quantize_fp8_with_scale(Tensor input, Tensor scale) -> Tensor")
def _quantize(input: Tensor, scale: Tensor) -> Tensor:
    return ops().qfp8ch(_clamp(input * torch.reciprocal(scale), -FP8_MAX, FP8_MAX))


@_operator("dequantize_fp8_with_scale(Tensor input, Tensor scale) -> Tensor")
def _dequantize(input: Tensor, scale: Tensor) -> Tensor:
    return input.to(torch.float16) * scale


@lru_cache(maxsize=1)
def register() -> dict[Any, Callable[..., Any]]:
    """Define what of `torch.ops.spyre` is not there yet; operator -> what it is composed of.

    Where torch-spyre itself is installed, its operators stay what they are, and are traced as ours.
    """
    ops()
    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    _keep.append(library)
    table: dict[Any, Callable[..., Any]] = {}
    for name, schema in _SCHEMAS.items():
        if not hasattr(torch.ops.spyre, name):
            library.define(schema)
            library.impl(name, _FUNCTIONS[name], "CompositeImplicitAutograd")
        table[getattr(torch.ops.spyre, name).default] = _FUNCTIONS[name]
    return table


_keep: list[torch.library.Library] = []
"""A library forgets its operators when it is collected."""
