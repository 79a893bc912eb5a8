"""Parts of tensors with a dynamic dimension and their joints, of which torch-mlir has TOSA for known sizes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_dynamic import is_open, running_sum
from irwidget.frontends.decompositions_kinds import How
from irwidget.frontends.decompositions_order import by_rank
from irwidget.private_torch import statically_known_true

aten: Any = torch.ops.aten


def _length(x: Any, dim: int) -> int | None:
    """That of a dimension of a known size beside a dynamic one, of numbers; None of others."""
    value = value_of(x)
    if not is_open(value.shape) or value.dtype == torch.bool or value.dtype.is_complex:
        return None
    return length if isinstance(length := value.shape[dim], int) else None


def _place(x: Any, length: int, dim: int) -> Any:
    """The place of each element along a dimension."""
    return torch.arange(length, device=x.device).reshape([-1, *[1] * (x.dim() - dim % x.dim() - 1)])


def _only(chosen: Any, x: Any, dim: int) -> Any:
    """The one element along a dimension that is chosen. Zero has no sign then; TOSA's largest would have no -inf."""
    return torch.where(chosen, x, 0).sum(dim, dtype=x.dtype)


def _selects(x: Any, dim: int, index: Any) -> bool:
    return _length(x, dim) is not None and isinstance(value_of(index), int)


def _selected(x: Any, dim: int, index: Any) -> Any:
    if not _selects(x, dim, index):
        return NotImplemented
    length = x.shape[dim]
    return _only(_place(x, length, dim) == index % length, x, dim)


def _places(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> range | None:
    """What a slice takes of a dimension; None where that is not known, or nothing."""
    length = _length(x, dim)
    if length is None or not all(isinstance(value_of(one), int | None) for one in (start, end)):
        return None
    return range(length)[start:end:step] or None


def _is_whole(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> bool:
    """Whether a slice takes all of a dynamic dimension, as that of `x[:, None]` does."""
    length = value_of(x).shape[dim]
    return is_open([length]) and not start and step == 1 and (end is None or end == _END)


_END = 2**63 - 1
"""What stands for the end of a dimension."""


def _slices(x: Any, dim: int = 0, *given: Any, **named: Any) -> bool:
    if _is_whole(x, dim, *given, **named):
        return True
    found = _places(x, dim, *given, **named)
    return found is not None and (_are_parts(found, _length(x, dim)) or len(found) * (_length(x, dim) or 0) <= _MOST)


_MOST = 1 << 12
"""Pairs of an element and one of its slice."""


def _are_parts(places: range, length: int | None) -> bool:
    """Whether a slice is one of equal parts of a dimension."""
    size = len(places)
    return length is not None and places.step == 1 and not places.start % size and not length % size


def _sliced(x: Any, dim: int = 0, *given: Any, **named: Any) -> Any:
    """One of equal parts, which a view has side by side; of another slice each element by a mask."""
    if not _slices(x, dim, *given, **named):
        return NotImplemented
    if _is_whole(x, dim, *given, **named):
        return aten.alias.default(x)
    places, length, dim = _places(x, dim, *given, **named) or range(0), x.shape[dim], dim % x.dim()
    if _are_parts(places, length):
        size = len(places)
        parts = x.reshape([*x.shape[:dim], length // size, size, *x.shape[dim + 1 :]])
        return _selected(parts, dim, places.start // size)
    return _taken(x, dim, torch.arange(len(places), device=x.device) * places.step + places.start)


def _taken(x: Any, dim: int, index: Any) -> Any:
    """The elements at a row of places."""
    rows = x.unsqueeze(dim)
    wanted = index.reshape([-1, *[1] * (x.dim() - dim)])
    return _only(_place(rows, x.shape[dim], dim + 1) == wanted, rows, dim + 1)


def _indexes(x: Any, dim: int, index: Any) -> bool:
    count: Any = math.prod(value_of(index).shape)
    return isinstance(count, int) and count * (_length(x, dim) or _MOST + 1) <= _MOST


def _indexed(x: Any, dim: int, index: Any) -> Any:
    return _taken(x, dim % x.dim(), index) if _indexes(x, dim, index) else NotImplemented


def _gathers(x: Any, dim: int, index: Any, **_: Any) -> bool:
    """Whether there is an index for every place besides those of its dimension."""
    given, made = list(value_of(x).shape), list(value_of(index).shape)
    if len(given) != len(made) or not given:
        return False
    count, length = made.pop(dim), _length(x, dim)
    del given[dim]
    each = all(statically_known_true(one == other) for one, other in zip(given, made, strict=True))
    return each and length is not None and isinstance(count, int) and count * length <= _MOST


def _gathered(x: Any, dim: int, index: Any, **_: Any) -> Any:
    if not _gathers(x, dim, index):
        return NotImplemented
    dim %= x.dim()
    rows = x.unsqueeze(dim)
    chosen = index.unsqueeze(dim + 1) == _place(rows, x.shape[dim], dim + 1)
    return _only(chosen, rows, dim + 1)


def _scatters(x: Any, dim: int, index: Any, source: Any) -> bool:
    """Whether there is an index for every place besides those of its dimension, and one value, or one for all."""
    return _gathers(x, dim, index) and (
        not isinstance(value_of(source), torch.Tensor) or value_of(index).shape[dim] == 1
    )


def _scattered(x: Any, dim: int, index: Any, source: Any) -> Any:
    if not _scatters(x, dim, index, source):
        return NotImplemented
    dim %= x.dim()
    hit = (index.unsqueeze(dim) == _place(x.unsqueeze(dim + 1), x.shape[dim], dim)).any(dim + 1)
    return torch.where(hit, source, x)


def _is_hot(index: Any, classes: Any = -1) -> bool:
    return is_open(value_of(index).shape) and isinstance(classes, int) and classes > 0


def _hot(index: Any, classes: Any = -1) -> Any:
    if not _is_hot(index, classes):
        return NotImplemented
    return (index.unsqueeze(-1) == torch.arange(classes, device=index.device)).to(torch.int64)


def _spreads(x: Any, sizes: Sequence[Any], **_: Any) -> bool:
    """Whether numbers are repeated along dimensions of a known size, and along no other."""
    value = value_of(x)
    if not is_open(value.shape) or value.dtype == torch.bool or value.dtype.is_complex:
        return False
    given = [1] * (len(sizes) - value.dim()) + list(value.shape)
    asked = [value_of(size) for size in sizes]
    pairs = [(one, size) for one, size in zip(given, asked, strict=True) if not (isinstance(size, int) and size == -1)]
    wider = [size for one, size in pairs if not statically_known_true(one == size)]
    return bool(wider) and all(isinstance(size, int) for size in wider)


def _spread(x: Any, sizes: Sequence[Any], **_: Any) -> Any:
    """Beside as many zeros, of floats those below it, which change no number."""
    if not _spreads(x, sizes):
        return NotImplemented
    x = x.reshape([*[1] * (len(sizes) - x.dim()), *x.shape])
    wider = [size if isinstance(size, int) and size > 0 else 1 for size in sizes]
    return x + torch.full(wider, -0.0 if x.dtype.is_floating_point else 0, dtype=x.dtype, device=x.device)


def _repeats(x: Any, times: Sequence[Any]) -> bool:
    """Whether numbers are repeated, each dimension as often as a number says, one of them a dynamic one."""
    value = value_of(x)
    known = all(isinstance(value_of(one), int) for one in times)
    numbers = value.dtype != torch.bool and not value.dtype.is_complex
    return known and numbers and sum(is_open([size]) for size in value.shape) == 1


def _repeated(x: Any, times: Sequence[Any]) -> Any:
    """Beside as many zeros in a dimension of its own before each, which is then joined with it."""
    if not _repeats(x, times):
        return NotImplemented
    sizes = [*[1] * (len(times) - x.dim()), *x.shape]
    pairs = [(1, size) for size in sizes], [(one, size) for one, size in zip(times, sizes, strict=True)]
    alone, wide = ([one for pair in found for one in pair] for found in pairs)
    return aten.expand.default(x.reshape(alone), wide).reshape([one * size for one, size in pairs[1]])


def _is_row(x: Any, weight: Any, *_: Any) -> bool:
    """Whether a convolution has one dimension, beside a dynamic one."""
    return value_of(weight).dim() == 3 and is_open(value_of(x).shape[:1]) and not is_open(value_of(x).shape[1:])


def _as_image(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, turned: bool, more: Any, groups: int
) -> Any:
    """Of images one element high."""
    if not _is_row(x, weight):
        return NotImplemented
    how = [1, *stride], [0, *padding], [1, *dilation], turned, [0, *more], groups
    return aten.convolution.default(x.unsqueeze(2), weight.unsqueeze(2), bias, *how).squeeze(2)


def _joins(tensors: Sequence[Any], dim: int = 0) -> bool:
    values = [value_of(one) for one in tensors]
    alike = len({(one.dtype, one.dim()) for one in values}) == 1
    return alike and (_are_batches(values, dim) or all(_length(one, dim) is not None for one in values))


def _are_batches(values: Sequence[Any], dim: int) -> bool:
    """Whether all have the same dynamic number of rows, of numbers, and are joined below each other."""
    rows, kind = values[0].shape[dim], values[0].dtype
    same = all(statically_known_true(one.shape[dim] == rows) for one in values)
    return is_open([rows]) and same and kind != torch.bool and not kind.is_complex


def _joined(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Each padded to the length of all, and chosen where it is; batches side by side, which is the same in a view."""
    if not _joins(tensors, dim):
        return NotImplemented
    dim %= tensors[0].dim()
    if _are_batches(tensors, dim):
        return _joined([one.unsqueeze(dim) for one in tensors], dim).flatten(dim, dim + 1)
    lengths = [one.shape[dim] for one in tensors]
    place, made, before = _place(tensors[0], sum(lengths), dim), None, 0
    for one, length in zip(tensors, lengths, strict=True):
        ends = [*[0, 0] * (one.dim() - dim - 1), before, sum(lengths) - before - length]
        padded = aten.constant_pad_nd.default(one, ends, 0)
        made = padded if made is None else torch.where(place < before, made, padded)
        before += length
    return made


def _has_pairs(x: Any, dim: int = -1, *_: Any, **__: Any) -> bool:
    """Whether there may be a table of every pair along a dimension."""
    return bool(value_of(x).dim()) and (_length(x, dim) or _MOST) ** 2 <= _MOST


def _summed_up(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return running_sum(x, dim, dtype) if _has_pairs(x, dim) else NotImplemented


def _ordered(x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    return by_rank(x, dim, descending) if _has_pairs(x, dim) else NotImplemented


def _has_top(x: Any, _: Any, dim: int = -1, *__: Any, **___: Any) -> bool:
    return _has_pairs(x, dim)


def _top(x: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return by_rank(x, dim, largest, k) if _has_pairs(x, dim) else NotImplemented


def _reads(x: Any, indices: Sequence[Any]) -> bool:
    """Whether rows of dimensions side by side are read that have known sizes, by indices that have, too."""
    places = [at for at, one in enumerate(indices) if one is not None]
    found = [value_of(indices[at]) for at in places]
    if not places or places[-1] - places[0] >= len(places) or any(one.dtype == torch.bool for one in found):
        return False
    lengths = [_length(x, at) for at in places]
    if any(length is None for length in lengths) or any(is_open(one.shape) for one in found):
        return False
    count = math.prod(torch.broadcast_shapes(*(one.shape for one in found)))
    return count * math.prod(length or 1 for length in lengths) <= _MOST


def _read(x: Any, indices: Sequence[Any]) -> Any:
    """In a row of all that lies in these dimensions."""
    if not _reads(x, indices):
        return NotImplemented
    places = [at for at, one in enumerate(indices) if one is not None]
    first, last, row = places[0], places[-1] + 1, torch.zeros((), dtype=torch.int64, device=x.device)
    for at in places:
        index = torch.where(indices[at] < 0, indices[at] + x.shape[at], indices[at])
        row = row * x.shape[at] + index
    made = _taken(x.reshape([*x.shape[:first], -1, *x.shape[last:]]), first, row.reshape([-1]))
    return made.reshape([*x.shape[:first], *row.shape, *x.shape[last:]])


def _splits(x: Any, sizes: Any, dim: int = 0) -> bool:
    length = _length(x, dim)
    return length is not None and _are_equal(sizes, length)


def _are_equal(sizes: Any, length: int) -> bool:
    return not length % sizes if isinstance(sizes, int) else len(set(sizes)) == 1


def _split(x: Any, sizes: Any, dim: int = 0) -> Any:
    if not _splits(x, sizes, dim):
        return NotImplemented
    size = sizes if isinstance(sizes, int) else sizes[0]
    return [_sliced(x, dim, first, first + size) for first in range(0, x.shape[dim], size)]


def _unbinds(x: Any, dim: int = 0) -> bool:
    return _length(x, dim) is not None


def _unbound(x: Any, dim: int = 0) -> Any:
    return [_selected(x, dim, at) for at in range(x.shape[dim])] if _unbinds(x, dim) else NotImplemented


IN_TOSA: dict[Any, How] = {
    aten.select.int: (_selects, _selected),
    aten.slice.Tensor: (_slices, _sliced),
    aten.cat.default: (_joins, _joined),
    **dict.fromkeys((aten.split.Tensor, aten.split_with_sizes.default), (_splits, _split)),
    aten.unbind.int: (_unbinds, _unbound),
    aten.index_select.default: (_indexes, _indexed),
    aten.index.Tensor: (_reads, _read),
    aten.cumsum.default: (_has_pairs, _summed_up),
    **dict.fromkeys((aten.sort.default, aten.sort.stable), (_has_pairs, _ordered)),
    aten.topk.default: (_has_top, _top),
    aten.gather.default: (_gathers, _gathered),
    **dict.fromkeys((aten.scatter.value, aten.scatter.src), (_scatters, _scattered)),
    aten.one_hot.default: (_is_hot, _hot),
    aten.expand.default: (_spreads, _spread),
    aten.repeat.default: (_repeats, _repeated),
    aten.convolution.default: (_is_row, _as_image),
}
"""By operator: whether it is taken apart, and how."""
