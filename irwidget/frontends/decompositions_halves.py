"""Sums of float16 and bfloat16, which eager PyTorch adds up in float32, and torch-mlir in the dtype of the result.

To 256, bfloat16 adds 1 in vain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.checking.growth import FEW
from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How, named_dims
from irwidget.frontends.decompositions_narrow import HALVES, single
from irwidget.frontends.decompositions_pools import each

aten: Any = torch.ops.aten


def _is_long(count: Any) -> bool:
    return not isinstance(count, int) or count > FEW


def _of_dims(x: Any, dims: Any = None, *_: Any, **__: Any) -> Any:
    """How many elements of a tensor are added up along dimensions, all where none is named."""
    value = value_of(x)
    return math.prod(value.shape[dim] for dim in named_dims(value, dims))


def _of_norm(x: Any, order: Any = 2, dims: Any = None, *_: Any, **__: Any) -> Any:
    return _of_dims(x, dims)


def _of_windows(rank: int) -> Callable[..., Any]:
    return lambda x, kernel, *_, **__: math.prod(each(kernel, rank))


def _of_all(x: Any, *_: Any, **__: Any) -> Any:
    """How many elements a tensor has."""
    return value_of(x).numel()


def _of_values(x: Any, dim: int, places: Any, values: Any, reduce: str = "sum", **_: Any) -> Any:
    """How many elements are added along a dimension, all of which may be to one place."""
    return value_of(values).shape[dim] if reduce in ("sum", "mean") and value_of(values).dim() else 1


def _of_written(x: Any, indices: Any, values: Any, accumulate: bool = False, *_: Any) -> Any:
    """The same at indices, as `index_add` has it."""
    return value_of(values).numel() if accumulate else 1


def _of_bags(weight: Any, indices: Any, *_: Any, **__: Any) -> Any:
    return value_of(indices).numel()


_COUNTS: dict[Any, Callable[..., Any]] = {
    **dict.fromkeys((aten.mean.default, aten._adaptive_avg_pool3d.default), _of_all),
    **dict.fromkeys((aten.sum.dim_IntList, aten.mean.dim, aten.cumsum.default), _of_dims),
    **dict.fromkeys((aten.linalg_vector_norm.default, aten.norm.ScalarOpt_dim), _of_norm),
    aten.avg_pool2d.default: _of_windows(2),
    aten.avg_pool3d.default: _of_windows(3),
    **dict.fromkeys((aten.scatter_add.default, aten.scatter_reduce.two), _of_values),
    aten.index_put.default: _of_written,
    **dict.fromkeys((aten._embedding_bag.default, aten._embedding_bag_forward_only.default), _of_bags),
}
"""By operator, how many elements it adds up."""


def _in_single(operator: Any, count: Callable[..., Any]) -> How:
    def takes(x: Any, *how: Any, dtype: Any = None, **named: Any) -> bool:
        return (dtype or value_of(x).dtype) in HALVES and _is_long(count(x, *how, **named))

    def made(x: Any, *how: Any, dtype: Any = None, **named: Any) -> Any:
        if not takes(x, *how, dtype=dtype, **named):
            return NotImplemented
        kind = dtype or x.dtype
        wide = [single(one) if isinstance(one, torch.Tensor) else one for one in (x.to(kind), *how)]
        found = operator(*wide, **named)
        return (found[0].to(kind), *found[1:]) if isinstance(found, tuple) else found.to(kind)

    return takes, made


def _normalizes(x: Any, shape: Sequence[Any], weight: Any = None, eps: Any = None) -> bool:
    return eps is None or value_of(x).dtype in HALVES


def _normalized(x: Any, shape: Sequence[Any], weight: Any = None, eps: Any = None) -> Any:
    """By a mean of squares in float32, and the number that is added to it where that is PyTorch's own.

    torch-mlir leaves it out, so that what is zero becomes no number.
    """
    if not _normalizes(x, shape, weight, eps):
        return NotImplemented
    wide = single(x)
    least = torch.finfo(wide.dtype).eps if eps is None else eps
    made = wide * torch.rsqrt((wide * wide).mean(list(range(-len(shape), 0)), True) + least)
    return (made if weight is None else made * weight).to(x.dtype)


EVERYWHERE: dict[Any, How] = {
    **{operator: _in_single(operator, count) for operator, count in _COUNTS.items()},
    aten.rms_norm.default: (_normalizes, _normalized),
}
"""By operator: whether it is taken apart, and how."""
