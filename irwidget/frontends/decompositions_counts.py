"""Means along dynamic dimensions, and casts beside them, for TOSA, which has no sizes that are computed.

As many ones as there are elements are added up; what torch-mlir casts is the sum, or the product, of one element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_dynamic import is_open
from irwidget.frontends.decompositions_empty import variances
from irwidget.frontends.decompositions_kinds import How, named_dims
from irwidget.frontends.decompositions_narrow import HALVES, single

aten: Any = torch.ops.aten
prims: Any = torch.ops.prims


def _counts(x: Any, dims: Any = None, *_: Any, dtype: Any = None, **__: Any) -> bool:
    """Whether floats are averaged along a dynamic dimension."""
    value = value_of(x)
    return (dtype or value.dtype).is_floating_point and is_open(value.shape[dim] for dim in named_dims(value, dims))


def _count(x: Any, dims: Sequence[int], keepdim: bool = False) -> Any:
    """How many elements a tensor has along dimensions, as a float: each is zero, or is not."""
    dims = [dim % x.dim() for dim in dims]
    found = x != torch.zeros([1] * x.dim(), dtype=x.dtype, device=x.device)
    for dim in range(x.dim()):
        if dim not in dims or not is_open([x.shape[dim]]):
            found = found.any(dim, True)
    known = math.prod(x.shape[dim] for dim in dims if not is_open([x.shape[dim]]))
    return (found | ~found).to(torch.float32).sum(dims, keepdim) * known


def _mean(x: Any, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if not _counts(x, dims, dtype=dtype):
        return NotImplemented
    kind, dims = dtype or x.dtype, named_dims(x, dims)
    wide = single(x.to(kind))
    return (wide.sum(dims, keepdim) / _count(x, dims, keepdim)).to(kind)


def _is_half(x: Any, *_: Any) -> bool:
    value = value_of(x)
    return value.dtype in HALVES and is_open(value.shape)


def _softmax(operator: Any) -> How:
    """In float32, as eager PyTorch has it: torch-mlir casts to that itself."""

    def made(x: Any, dim: int, half_to_float: bool) -> Any:
        if not _is_half(x):
            return NotImplemented
        found = operator(single(x), dim, False)
        return found if half_to_float else found.to(x.dtype)

    return _is_half, made


def _casts(x: Any, dtype: Any = None, **_: Any) -> bool:
    """Whether numbers beside a dynamic dimension are made others, or truths."""
    value = value_of(x)
    if dtype is None or dtype == value.dtype or not is_open(value.shape):
        return False
    return not (value.dtype.is_complex or dtype.is_complex or torch.uint8 in (value.dtype, dtype))


def _cast(x: Any, dtype: Any = None, **how: Any) -> Any:
    """By a choice, or beside a zero of a dtype that has all of theirs."""
    if not _casts(x, dtype):
        return NotImplemented
    if dtype == torch.bool:
        return x != 0
    numbers = [torch.full([1] * max(x.dim(), 1), one, dtype=dtype, device=x.device) for one in (1, 0, -0.0)]
    one, zero, below = numbers
    if x.dtype == torch.bool:
        return torch.where(x, one, zero)
    if torch.promote_types(x.dtype, dtype) == dtype:
        return x + (below if dtype.is_floating_point else zero)
    alone = x.unsqueeze(-1)  # a product of floats keeps the sign of zero; TOSA has none of integers
    return alone.prod(-1, dtype=dtype) if dtype.is_floating_point else alone.sum(-1, dtype=dtype)


IN_TOSA: dict[Any, How] = {
    **dict.fromkeys((aten.mean.default, aten.mean.dim), (_counts, _mean)),
    **dict.fromkeys((aten._to_copy.default, prims.convert_element_type.default), (_casts, _cast)),
    **{one: _softmax(one) for one in (aten._softmax.default, aten._log_softmax.default)},
    **variances(is_open, of_all=True, count=_count),
}
"""By operator: whether it is taken apart, and how."""
