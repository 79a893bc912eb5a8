"""Reductions as Spyre's front end takes them apart: norms, softmax, extrema, sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.fx.traceback as fx_traceback

from irwidget.errors import UnsupportedError
from irwidget.spyre.customops import ops
from irwidget.spyre.decomposed import new_table

Tensor = torch.Tensor
aten = torch.ops.aten
TABLE, decomposes = new_table()


@decomposes("rms_norm", "_fused_rms_norm")
def _rms_norm(x: Tensor, shape: list[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    _one_dim("rms_norm", shape)
    eps = torch.finfo(torch.promote_types(x.dtype, torch.float32)).eps if eps is None else eps
    y = x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + eps)
    return y if weight is None else y * weight


@decomposes("layer_norm")
def _layer_norm(
    x: Tensor,
    shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    _one_dim("layer_norm", shape)
    if shape[0] == 1:
        raise UnsupportedError("Spyre backend does not support: layer norm of single elements.")
    moments = ops().exx2(x, 1.0 / shape[0], False)
    scale = ops().layernormscale(moments, eps)
    if weight is None:
        weight = torch.full(shape, 1, dtype=x.dtype)
    if bias is None:
        bias = torch.full(shape, 0, dtype=x.dtype)
    return ops().layernormnorm(x, moments, scale, weight, bias)


def _one_dim(op: str, shape: list[int]) -> None:
    if len(shape) != 1:
        raise UnsupportedError(
            f"Spyre backend does not support: {op} over a shape of length {len(shape)} ({list(shape)}):"
            " only the last dim can be normalised. Flatten the normalised dims into one."
        )


@decomposes("_softmax")
def softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    """The exponentials, less the largest, over their sum; of a tensor that is laid out otherwise, of a copy."""
    x = x.contiguous()
    shifted = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return shifted / torch.sum(shifted, dim, keepdim=True)


@decomposes("_log_softmax")
def _log_softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    x = x.contiguous()
    shifted = x - torch.amax(x, dim, keepdim=True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


@decomposes("logsumexp")
def _logsumexp(x: Tensor, dim: list[int], keepdim: bool = False) -> Any:
    if not x.dtype.is_floating_point:
        return NotImplemented
    top = torch.amax(x, dim, keepdim=True)
    y = torch.log(torch.sum(torch.exp(x - top), dim, keepdim=True)) + top
    return y if keepdim else y.squeeze(dim)


@decomposes("linalg_vector_norm")
def _vector_norm(x: Tensor, order: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if order not in (math.inf, -math.inf):
        x = x.to(dtype or x.dtype)
    if not x.dim():
        return torch.ne(x, 0.0).to(x.dtype) if order == 0 else torch.abs(x)
    dims: Any = list(range(x.dim())) if dim in (None, []) else dim
    if order in (math.inf, -math.inf):
        return (torch.amax if order > 0 else torch.amin)(torch.abs(x), dims, keepdim).to(dtype or x.dtype)
    if order == 0:
        return torch.sum(torch.ne(x, 0.0).to(x.dtype), dims, keepdim)
    if all(x.shape[d] == 1 for d in dims):
        y = torch.abs(x)
        return y if keepdim else y.squeeze(dims)
    if math.fmod(order, 2.0):
        x = torch.abs(x)
    with fx_traceback.annotate({"aten": "pow"}):
        powers = torch.pow(x, order)
    return torch.pow(torch.sum(powers, dims, keepdim), 1.0 / order)


@decomposes("norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.Scalar", "norm.ScalarOpt_dtype")
def _norm(x: Tensor, order: float | None = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _vector_norm(x, 2 if order is None else order, dim, keepdim, dtype=dtype)


@decomposes("topk")
def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sort: bool = True) -> tuple[Tensor, Tensor]:
    if x.dim() != 2:
        raise UnsupportedError(f"Spyre backend does not support: topk of a {x.dim()}-D tensor; it takes 2-D ones.")
    if k > 4 or not largest:
        raise UnsupportedError(
            f"Spyre backend does not support: Topk is not supported for this config (k={k}, largest={largest}):"
            " it finds the 4 largest at most."
        )
    dim = dim % 2
    return ops().topkvalue(x, k, dim), ops().topkindex(x, k, dim)


@decomposes("sort")
def _sort(x: Tensor, dim: int = -1, descending: bool = False) -> Any:
    return aten.sort.stable(x, stable=False, dim=dim % max(x.dim(), 1), descending=descending)


def _along(name: str) -> Callable[..., tuple[Tensor, Tensor]]:
    def reduce(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """The extremes along a dim and where they are: of int64 on the host, of bool as numbers."""
        if x.dtype == torch.int64:
            return getattr(ops(), f"{name}_dim_int64_fallback")(x, dim, keepdim)
        numbers = x.to(torch.float16) if x.dtype == torch.bool else x
        values, at = (getattr(torch, kind + name)(numbers, dim, keepdim) for kind in ("a", "arg"))
        return values.to(x.dtype), at

    return reduce


TABLE["max.dim"] = _along("max")
TABLE["min.dim"] = _along("min")


@decomposes("aminmax")
def _aminmax(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    dims = list(range(x.dim())) if dim is None else [dim]
    return torch.amin(x, dims, keepdim), torch.amax(x, dims, keepdim)


@decomposes("max")
def _max_all(x: Tensor) -> Tensor:
    return torch.amax(x, list(range(x.dim())))


@decomposes("min")
def _min_all(x: Tensor) -> Tensor:
    return torch.amin(x, list(range(x.dim())))


def _extreme(name: str) -> Callable[..., Any]:
    def reduce(x: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
        if x.dtype != torch.bool:
            return NotImplemented
        return getattr(torch, name)(x.to(torch.float16), dim, keepdim).to(torch.bool)

    return reduce


TABLE["amax"] = _extreme("amax")
TABLE["amin"] = _extreme("amin")


@decomposes("var.correction", "var", "var.dim", "std.correction", "std", "std.dim", "var_mean.correction")
def _variance(*args: Any, **kwargs: Any) -> Any:
    raise UnsupportedError(
        "Spyre backend does not support: variance and standard deviation; their Welford reduction has no OpFunc."
        " Write it as mean((x - mean(x)) ** 2)."
    )


@decomposes("mean")
def _mean_all(x: Tensor, *, dtype: Any = None) -> Tensor:
    return torch.mean(x, list(range(x.dim())), dtype=dtype)


@decomposes("sum")
def _sum_all(x: Tensor, *, dtype: Any = None) -> Tensor:
    return torch.sum(x, list(range(x.dim())), dtype=dtype)
