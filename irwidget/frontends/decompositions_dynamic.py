"""Operators that torch-mlir, or PyTorch's decomposition, has right for dimensions of a known size alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import either, value_of
from irwidget.frontends.decompositions_empty import lies_in_order, variances
from irwidget.frontends.decompositions_kinds import How, is_one
from irwidget.frontends.decompositions_order import LONGEST, by_rank
from irwidget.private_torch import statically_known_true

aten: Any = torch.ops.aten


def is_open(sizes: Iterable[Any]) -> bool:
    """Whether one of these sizes, or of the nodes that stand for them, is known at run time only."""
    return any(not isinstance(value_of(size), int) for size in sizes)


def _sums_up(x: Any, dim: int, **_: Any) -> bool:
    value = value_of(x)
    return bool(value.dim()) and is_open([value.shape[dim]])


def _cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return running_sum(x, dim, dtype) if _sums_up(x, dim) else NotImplemented


def running_sum(x: Any, dim: int, dtype: Any = None) -> Any:
    """Of each element the sum of those up to it, which a mask has."""
    kind = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    places = torch.arange(x.shape[dim], device=x.device)
    rows = x.to(kind).movedim(dim, -1).unsqueeze(-2)
    return torch.where(places <= places[:, None], rows, 0).sum(-1, dtype=kind).movedim(-1, dim)


def _pads(x: Any, pads: Sequence[Any], value: Any = 0) -> bool:
    """Whether one is of a size, and none of these below zero."""
    sizes = [pad for pad in map(value_of, pads) if not isinstance(pad, int)]
    return bool(sizes) and all(statically_known_true(pad >= 0) for pad in sizes)


def _padded(x: Any, pads: Sequence[Any], value: Any = 0) -> Any:
    if not _pads(x, pads):
        return NotImplemented
    known = [pad if isinstance(pad, int) else 0 for pad in pads]
    x = aten.constant_pad_nd.default(x, known, value) if any(known) else x
    for at, (before, behind) in enumerate(zip(pads[::2], pads[1::2], strict=True), 1):
        parts = [x if size is None else _filled(x, -at, size, value) for size in (before, None, behind)]
        x = torch.cat([part for part in parts if part is not None], -at)
    return x


def _filled(x: Any, dim: int, size: Any, value: Any) -> Any:
    """So much more of a tensor along a dimension; nothing where the size is a number, which is there already."""
    if isinstance(size, int):
        return None
    shape = list(x.shape)
    shape[dim] = size
    return x.new_full(shape, value or 0)


def _is_view(x: Any, sizes: Sequence[Any], strides: Sequence[Any], offset: Any = None) -> bool:
    """Whether strides are those of a view of all elements in order; torch-mlir takes no such size by strides."""
    value, sizes, strides = value_of(x), [value_of(size) for size in sizes], [value_of(stride) for stride in strides]
    return (
        is_open(sizes)
        and not offset
        and statically_known_true(math.prod(sizes) == value.numel())
        and lies_in_order(value.shape, value.stride())
        and lies_in_order(sizes, strides)
    )


def _viewed(x: Any, sizes: Sequence[Any], strides: Sequence[Any], offset: Any = None) -> Any:
    return aten.view.default(x, sizes) if _is_view(x, sizes, strides, offset) else NotImplemented


def _writes(x: Any, part: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> bool:
    """Whether a part is written to a place in a dynamic dimension that is known not to be counted from its end."""
    size, start = value_of(x).shape[dim], value_of(start)
    return step == 1 and is_open([size]) and (start is None or statically_known_true(start >= 0))


def _written(x: Any, part: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    if not _writes(x, part, dim, start, end, step):
        return NotImplemented
    first = 0 if start is None else start
    behind = first + part.shape[dim]
    return torch.cat([x.narrow(dim, 0, first), part, x.narrow(dim, behind, x.shape[dim] - behind)], dim)


def _is_averaged(x: Any, sizes: Sequence[Any]) -> bool:
    """Whether parts of a dynamic dimension are averaged: PyTorch's decomposition takes them to be as in the example."""
    inside = value_of(x).shape[-len(sizes) :]
    return any(is_open([extent]) and not is_one(size) for extent, size in zip(inside, sizes, strict=True))


def _averaged(x: Any, sizes: Sequence[Any]) -> Any:
    """One dimension after the other: of each part what a mask leaves."""
    if not _is_averaged(x, sizes):
        return NotImplemented
    made = x.to(torch.promote_types(x.dtype, torch.float32))
    for dim, size in zip(range(-len(sizes), 0), sizes, strict=True):
        extent, parts = x.shape[dim], torch.arange(size, device=x.device)
        first = torch.div(parts * extent, size, rounding_mode="floor")
        end = torch.div((parts + 1) * extent + size - 1, size, rounding_mode="floor")
        places = torch.arange(extent, device=x.device)
        inside = (places >= first[:, None]) & (places < end[:, None])
        summed = torch.where(inside, made.movedim(dim, -1).unsqueeze(-2), 0.0).sum(-1)
        made = (summed / (end - first)).movedim(-1, dim)
    return made.to(x.dtype)


_AVERAGES = (
    *(aten.adaptive_avg_pool1d.default, aten.adaptive_avg_pool2d.default, aten.adaptive_avg_pool3d.default),
    *(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default),
)


def averages(known: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """By operator, before any other is taken apart; of dimensions that are not dynamic as in the table `known`."""
    return {name: either(_averaged, known[name]) if name in known else _averaged for name in _AVERAGES}


def _joins(x: Any, sizes: Sequence[Any]) -> bool:
    """Whether a view joins dynamic dimensions, of which torch-mlir takes all but the first for one element in linalg.

    Fewer are dynamic in it than in what it is of, besides those at both ends that stay. `nn.Linear` of a batch of
    sequences is one.
    """
    given, made = list(value_of(x).shape), [value_of(size) for size in sizes]
    if len(given) == 1 or len(made) == 1:
        return False
    for at in (0, -1):
        while given and made and statically_known_true(given[at] == made[at]):
            del given[at], made[at]
    return _count(given) > max(_count(made), 1)


def _count(sizes: Sequence[Any]) -> int:
    return sum(is_open([size]) for size in sizes)


def _by_a_row(x: Any, sizes: Sequence[Any]) -> Any:
    return aten.view.default(x.reshape([-1]), sizes) if _joins(x, sizes) else NotImplemented


def _splits(x: Any, sizes: Sequence[Any], dim: int = 0) -> bool:
    """Whether a dynamic dimension is split, or into parts whose sizes are known at run time only."""
    return is_open([value_of(x).shape[dim], *sizes])


def _split(x: Any, sizes: Sequence[Any], dim: int = 0) -> Any:
    if not _splits(x, sizes, dim):
        return NotImplemented
    return [x.narrow(dim, sum(sizes[:at]), size) for at, size in enumerate(sizes)]


def _is_ordered(x: Any, dim: int = -1, *_: Any, **__: Any) -> bool:
    """Whether elements of which there may be a table of every pair are sorted beside a dynamic dimension, or in it."""
    sizes = value_of(x).shape
    return is_open(sizes) and (is_open([sizes[dim]]) or sizes[dim] <= LONGEST)


def _ordered(x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    return by_rank(x, dim, descending) if _is_ordered(x, dim) else NotImplemented


def _has_top(x: Any, k: Any, dim: int = -1, *_: Any, **__: Any) -> bool:
    return _is_ordered(x, dim)


def _top(x: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return by_rank(x, dim, largest, k) if _has_top(x, k, dim) else NotImplemented


EVERYWHERE: dict[Any, How] = {
    aten.as_strided.default: (_is_view, _viewed),
    aten.split_with_sizes.default: (_splits, _split),
}
"""By operator: whether it is taken apart, and how."""
IN_LINALG: dict[Any, How] = {
    **EVERYWHERE,
    **dict.fromkeys((aten.view.default, aten._unsafe_view.default), (_joins, _by_a_row)),
}
"""The same."""
IN_STABLEHLO: dict[Any, How] = {
    **EVERYWHERE,
    **variances(is_open),
    aten.cumsum.default: (_sums_up, _cumsum),
    **dict.fromkeys((aten.sort.default, aten.sort.stable), (_is_ordered, _ordered)),
    aten.topk.default: (_has_top, _top),
    aten.constant_pad_nd.default: (_pads, _padded),
    aten.slice_scatter.default: (_writes, _written),
}
"""The same."""
