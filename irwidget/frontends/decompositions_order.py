"""Operators of places and orders that torch-mlir lacks, or has no form of below, in terms of others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_scatter import in_front

aten: Any = torch.ops.aten


def _running(beats: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The best element so far and its place, of equal ones the last; NaN beats all others."""

    def made(x: Any, dim: int) -> Any:
        if not x.dim():
            return x.clone(), torch.zeros_like(x, dtype=torch.int64)
        length = x.shape[dim]
        if not isinstance(length, int):
            return NotImplemented
        best = (x.to(torch.int32) if x.dtype == torch.bool else x).movedim(dim, 0)
        places = torch.arange(length, device=x.device).reshape(-1, *[1] * (x.dim() - 1)).expand(best.shape)
        for step in itertools.takewhile(lambda step: step < length, (2**power for power in itertools.count())):
            stays = beats(best[step:], best[:-step])
            if x.dtype.is_floating_point:
                stays = stays | torch.isnan(best[step:])
            best = torch.cat([best[:step], torch.where(stays, best[step:], best[:-step])])
            places = torch.cat([places[:step], torch.where(stays, places[step:], places[:-step])])
        return best.movedim(0, dim).to(x.dtype), places.movedim(0, dim)

    return made


def _median(x: Any, dim: int = 0, keepdim: bool = False) -> Any:
    """The lower one of two in the middle; NaN where there is one."""
    return _middle(x, dim, keepdim, skip=False)


def _nanmedian(x: Any, dim: int = 0, keepdim: bool = False) -> Any:
    """That of the elements that are no NaN."""
    return _middle(x, dim, keepdim, skip=True)


def _middle(x: Any, dim: int, keepdim: bool, *, skip: bool) -> Any:
    """The element in the middle of a sorted dimension, and its place."""
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    length = x.shape[dim]
    if not isinstance(length, int) or not length:
        return NotImplemented
    if not x.dtype.is_floating_point:
        ordered, places = torch.sort(x, dim)
        at = torch.full_like(places.narrow(dim, 0, 1), (length - 1) // 2)
        values, indices = ordered.gather(dim, at), places.gather(dim, at)
    else:
        missing = torch.isnan(x)
        count = missing.to(torch.int64).sum(dim, keepdim=True)
        ordered, places = torch.sort(torch.where(missing, torch.full_like(x, math.inf), x), dim)
        at = (length - 1 - (count if skip else torch.zeros_like(count))).clamp(min=0) // 2
        no_number = count == length if skip else count > 0
        first = missing.to(torch.int64).argmax(dim, keepdim=True)
        values = torch.where(no_number, torch.full_like(count, math.nan, dtype=x.dtype), ordered.gather(dim, at))
        indices = torch.where(no_number, first, places.gather(dim, at))
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _of_all(function: Callable[..., Any]) -> Callable[..., Any]:
    """The value of a reduction along a dimension, of all elements."""

    def made(x: Any) -> Any:
        found = function(x.reshape(-1), 0)
        return found if found is NotImplemented else found[0]

    return made


def _searchsorted(
    ordered: Any, x: Any, *, out_int32: bool = False, right: bool = False, side: Any = None, sorter: Any = None
) -> Any:
    """How many of a sorted row come before each element."""
    if sorter is not None:
        ordered = ordered.gather(-1, sorter)
    rows = ordered if ordered.dim() == 1 else ordered.unsqueeze(-2)
    each = x.unsqueeze(-1)
    before = rows <= each if right or side == "right" else rows < each
    if x.dtype.is_floating_point:
        before = before | torch.isnan(each)  # which comes after all
    return before.to(torch.int64).sum(-1).to(torch.int32 if out_int32 else torch.int64)


def _number_searchsorted(ordered: Any, number: Any, **how: Any) -> Any:
    return _searchsorted(ordered, torch.full((), number, dtype=ordered.dtype, device=ordered.device), **how)


def _masked_select(x: Any, mask: Any) -> Any:
    """By the places where the mask is true; torch-mlir lowers these, and no mask."""
    x, mask = torch.broadcast_tensors(x, mask)
    return x.reshape(-1).index_select(0, torch.nonzero(mask.reshape(-1)).squeeze(1))


# Writes at indices

_HOW = {"add": "sum", "multiply": "prod"}


def _scatter(x: Any, dim: int, index: Any, values: Any, *, reduce: str) -> Any:
    """By the operator that has a name for each way of reducing."""
    values = values if isinstance(values, torch.Tensor) else torch.full_like(index, values, dtype=x.dtype)
    return aten.scatter_reduce.two(x, in_front(x, dim), index, values, _HOW[reduce])


def _index_reduce(x: Any, dim: int, index: Any, values: Any, reduce: str, *, include_self: bool = True) -> Any:
    """With an index for every element of the values."""
    if not x.dim():
        flat = index.reshape(-1), values.reshape(-1)
        return aten.scatter_reduce.two(x.reshape(1), 0, *flat, reduce, include_self=include_self).reshape(())
    dim = in_front(x, dim)
    spread = index.reshape([-1 if axis == dim else 1 for axis in range(x.dim())]).expand(values.shape)
    return aten.scatter_reduce.two(x, dim, spread, values, reduce, include_self=include_self)


def _put(x: Any, index: Any, values: Any, accumulate: bool = False) -> Any:
    """At places of the flat tensor."""
    made = aten.index_put.default(x.reshape(-1), [index.reshape(-1)], values.reshape(-1), accumulate)
    return made.reshape(x.shape)


LONGEST = 2048


def is_short(x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> bool:
    """Whether elements along a dimension are few enough for a table of every pair."""
    value = value_of(x)
    length = value.shape[dim] if value.dim() else None
    return isinstance(length, int) and length <= LONGEST


def sorted_by_rank(x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    """Values and places of few elements."""
    return by_rank(x, dim, descending) if is_short(x, dim) else NotImplemented


def by_rank(x: Any, dim: int, descending: bool, most: Any = None) -> Any:
    """The first values and places by how many elements come before each: all, or as many as `most` says.

    Of equal ones those before it, NaN as the largest.
    """
    rows = x.movedim(dim, -1)
    place = torch.arange(rows.shape[-1], device=x.device)
    mine, others = rows.unsqueeze(-1), rows.unsqueeze(-2)
    less, more = others < mine, others > mine
    if x.dtype.is_floating_point:
        less, more = (
            less | (torch.isnan(mine) & ~torch.isnan(others)),
            more | (torch.isnan(others) & ~torch.isnan(mine)),
        )
    before = (more if descending else less) | (~less & ~more & (place < place[:, None]))
    rank = before.to(torch.int64).sum(-1)
    first = place if most is None else torch.arange(most, device=x.device)
    places = torch.where(rank.unsqueeze(-2) == first[:, None], place, torch.zeros_like(place)).sum(-1)
    return rows.gather(-1, places).movedim(-1, dim), places.movedim(-1, dim)


def _histogram(x: Any, bins: int = 100, least: Any = 0, most: Any = 0) -> Any:
    """How many elements lie in each of equal parts of a range, the last of which has its end."""
    if least >= most:  # the range is that of the elements
        return NotImplemented
    x = x.reshape(-1)
    part = torch.floor((x - least) * bins / (most - least)).clamp(max=bins - 1)
    bin_ = torch.arange(bins, device=x.device, dtype=x.dtype)[:, None]
    return ((part == bin_) & (x >= least) & (x <= most)).to(torch.int64).sum(1).to(x.dtype)


def _has_range(_: Any, __: int = 100, least: Any = 0, most: Any = 0) -> bool:
    return least < most


def grouped_mm(x: Any, weights: Any, ends: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Rows by the matrix of their group, which ends before the row that is given: a product with each, and a choice."""
    if not _are_rows(x, weights, ends, bias, out_dtype):
        return NotImplemented
    rows = torch.arange(x.shape[0], device=x.device)[None]
    first = torch.cat([torch.zeros_like(ends[:1]), ends[:-1]])
    mine = (rows >= first[:, None]) & (rows < ends[:, None])
    made = torch.bmm(x.expand(weights.shape[0], *x.shape), weights)
    return torch.where(mine[:, :, None], made, torch.zeros_like(made)).sum(0, dtype=x.dtype)


def _are_rows(x: Any, weights: Any, ends: Any = None, bias: Any = None, out_dtype: Any = None) -> bool:
    return value_of(x).dim() == 2 and value_of(weights).dim() == 3 and ends is not None and bias is out_dtype is None


# Views by strides, of tensors that lie in order


def _strided_places(x: Any, size: Sequence[Any], stride: Sequence[Any], offset: Any) -> Any:
    """The place of each element of the view in the flat tensor; None where strides or the tensor do not lie so."""
    numbers = (*size, *stride, offset or 0)
    if not all(isinstance(one, int) for one in (*numbers, *x.shape)) or not _lies_in_order(x):
        return None
    places = torch.full([1] * len(size), offset or 0, dtype=torch.int64, device=x.device)
    for axis, (extent, step) in enumerate(zip(size, stride, strict=True)):
        places = places + (torch.arange(extent, device=x.device) * step).reshape([-1] + [1] * (len(size) - axis - 1))
    return places.reshape(-1)


def _lies_in_order(x: Any, *_: Any, **__: Any) -> bool:
    value = value_of(x)
    return value.is_contiguous() and value.storage_offset() == 0


def _as_strided(x: Any, size: Any, stride: Any, offset: Any = None) -> Any:
    places = _strided_places(x, size, stride, offset)
    return NotImplemented if places is None else x.reshape(-1).index_select(0, places).reshape(size)


def _as_strided_scatter(x: Any, values: Any, size: Any, stride: Any, offset: Any = None) -> Any:
    places = _strided_places(x, size, stride, offset)
    if places is None:
        return NotImplemented
    return x.reshape(-1).scatter(0, places, values.reshape(-1)).reshape(x.shape)


TABLE: dict[Any, Callable[..., Any]] = {
    aten.cummax.default: _running(torch.ge),
    aten.cummin.default: _running(torch.le),
    aten.median.dim: _median,
    aten.median.default: _of_all(_median),
    aten.nanmedian.dim: _nanmedian,
    aten.nanmedian.default: _of_all(_nanmedian),
    aten.searchsorted.Tensor: _searchsorted,
    aten.searchsorted.Scalar: _number_searchsorted,
    aten.masked_select.default: _masked_select,
    **dict.fromkeys((aten.scatter.reduce, aten.scatter.value_reduce), _scatter),
    aten.index_reduce.default: _index_reduce,
    aten.put.default: _put,
    aten.sort.stable: sorted_by_rank,
    aten.histc.default: _histogram,
    aten._grouped_mm.default: grouped_mm,
    **dict.fromkeys((aten.as_strided.default, aten.as_strided_copy.default), _as_strided),
    aten.as_strided_scatter.default: _as_strided_scatter,
}
"""By operator."""
TAKES: dict[Any, Callable[..., bool]] = {
    **dict.fromkeys(
        (aten.as_strided.default, aten.as_strided_copy.default, aten.as_strided_scatter.default), _lies_in_order
    ),
    aten.sort.stable: is_short,
    aten.histc.default: _has_range,
    aten._grouped_mm.default: _are_rows,
}
"""Whether an operator of the table is taken apart for some arguments."""
