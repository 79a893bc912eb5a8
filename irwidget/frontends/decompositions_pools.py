"""Pools that torch-mlir's passes crash on, refuse, or lowers to something else, in terms of others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How
from irwidget.frontends.decompositions_narrow import even_parts
from irwidget.frontends.refusing import uses_places

aten: Any = torch.ops.aten


def _is_taken(rank: int) -> Callable[..., bool]:
    """Whether a pool is of integers, has no batch, or leaves it to PyTorch to say how far apart its windows are."""

    def takes(x: Any, kernel: Any, stride: Any = (), *_: Any, **__: Any) -> bool:
        value = value_of(x)
        return not value.dtype.is_floating_point or value.dim() == rank + 1 or not stride

    return takes


def _max_pool(operator: Any, rank: int) -> Callable[..., Any]:
    takes = _is_taken(rank)

    def made(
        x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        if not takes(x, kernel, stride):
            return NotImplemented
        sizes = [each(one, rank) for one in (kernel, stride or kernel, padding, dilation)]
        if not x.dtype.is_floating_point:
            return _largest(x, list(map(along, x.shape[-rank:], *sizes, [ceil_mode] * rank)))
        if x.dim() > rank + 1:
            return operator(x, *sizes, ceil_mode)
        return tuple(one.squeeze(0) for one in operator(x.unsqueeze(0), *sizes, ceil_mode))

    return made


def each(value: Any, rank: int) -> list[Any]:
    """One for each dimension, of which a single one may be given for all."""
    values = list(value) if isinstance(value, list | tuple) else [value]
    return values if len(values) == rank else values * rank


def along(length: Any, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> Any:
    """What is padded before and behind a dimension, and the slice of this that each place of a window sees."""
    span = dilation * (kernel - 1) + 1
    count = (length + 2 * padding - span + (stride - 1 if ceil else 0)) // stride + 1
    if ceil and (count - 1) * stride >= length + padding:  # a window starts in the tensor or before it
        count -= 1
    reach = (count - 1) * stride + 1
    behind = reach + span - 1 - length - padding if ceil else padding
    starts = range(0, span, dilation)
    return (padding, max(behind, 0)), [slice(start, start + reach, stride) for start in starts]


def around(dimensions: list[Any]) -> list[Any]:
    """What is padded, as PyTorch takes it."""
    return [size for sizes, _ in reversed(dimensions) for size in sizes]


def _largest(x: Any, dimensions: list[Any]) -> Any:
    """The largest of every window, and the first place of it in the tensor without padding; of NaN, the last."""
    inside = x.shape[-len(dimensions) :]
    places = torch.arange(math.prod(inside), device=x.device).reshape(inside).expand(x.shape)
    padding = around(dimensions)
    real = x.dtype.is_floating_point
    if any(padding):
        x = aten.constant_pad_nd.default(x, padding, -math.inf if real else torch.iinfo(x.dtype).min)
        places = aten.constant_pad_nd.default(places, padding, -1)
    best: Any = None
    place: Any = None
    for window in itertools.product(*(slices for _, slices in dimensions)):
        value, at = x[(..., *window)], places[(..., *window)]
        if best is None:
            best, place = value.clone(), at.clone()
            continue
        more = (value > best) | value.isnan() if real else value > best
        place = torch.where(more | (place < 0), at, place)
        best = torch.maximum(best, value)
    return best, place


def of_windows(
    combine: Callable[[Any, Any], Any], x: Any, dimensions: list[Any], padding: list[Any], number: Any
) -> Any:
    """What a function of two makes of all elements of a window, dimension by dimension, with a number around."""
    made = aten.constant_pad_nd.default(x, padding, number) if any(padding) else x
    for dim, (_, slices) in zip(range(-len(dimensions), 0), dimensions, strict=True):
        rest = (slice(None),) * (-1 - dim)
        made = reduce(combine, [made[(..., one, *rest)] for one in slices])
    return made


def _by_dimension(rank: int, takes: Callable[..., bool]) -> How:
    """From slices: the values dimension by dimension, the places, where they are used, from whole windows."""

    def made(
        x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        if not takes(x, kernel, stride, padding, dilation):
            return NotImplemented
        sizes = [each(one, rank) for one in (kernel, stride or kernel, padding, dilation)]
        dimensions = list(map(along, x.shape[-rank:], *sizes, [ceil_mode] * rank))
        values = of_windows(torch.maximum, x, dimensions, around(dimensions), -math.inf)
        return values, _largest(x, dimensions)[1]

    return takes, made


def _is_dilated(x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, *_: Any) -> bool:
    return _is_of(2)(x) and set(each(dilation, 2)) != {1}


def placed(nodes: Iterable[torch.fx.Node], language: str) -> dict[Any, Callable[..., Any]]:
    """Pools of which the places are used where a language has the values alone, and what they become."""
    operator, (_, made) = _PLACED.get(language, (None, (None, None)))
    used = any(node.target == operator and uses_places(node) for node in nodes)
    return {operator: made} if made and used else {}


def _is_of(rank: int) -> Callable[..., bool]:
    return lambda x, *_: _has_known_windows(x, (0,) * rank) and value_of(x).dtype.is_floating_point


def within(length: Any, kernel: int, stride: int, padding: int, ceil: bool) -> tuple[Any, Any]:
    """How many windows there are in a dimension, and what is padded behind it, or may be where it is dynamic.

    There are more within that, of which the first are meant.
    """
    count = (length + 2 * padding - kernel + (stride - 1 if ceil else 0)) // stride + 1
    if ceil and stride > kernel - padding:  # a window starts in the tensor or before it
        started = (length + padding - 1) // stride + 1
        count = min(count, started) if isinstance(length, int) else torch.sym_min(count, started)
    if not isinstance(length, int):
        return count, padding + (stride - 1 if ceil else 0)
    return count, max((count - 1) * stride + kernel - length - padding, padding)


def framed(x: Any, ahead: Sequence[int], behind: Sequence[int], number: float) -> Any:
    """A tensor with a number before and behind its last dimensions."""
    sizes = [size for pair in reversed(list(zip(ahead, behind, strict=True))) for size in pair]
    return aten.constant_pad_nd.default(x, sizes, number) if any(sizes) else x


def first(x: Any, counts: Sequence[Any]) -> Any:
    """The first so many of dynamic dimensions at the end; there are no more of others."""
    for dim, count in zip(range(-len(counts), 0), counts, strict=True):
        x = x if isinstance(count, int) else x.narrow(dim, 0, count)
    return x


def _adaptive_max(x: Any, sizes: Any) -> Any:
    """The largest of windows as even as can be, one dimension after the other, and the first place of it."""
    inside = x.shape[-len(sizes) :]
    wanted = [1] * (x.dim() - len(sizes)) + list(sizes)
    if not all(extent if isinstance(extent, int) else size == 1 for extent, size in zip(x.shape, wanted, strict=True)):
        return NotImplemented
    places = torch.arange(math.prod(inside), device=x.device).reshape(inside).expand(x.shape)
    for dim, size in zip(range(-1, -1 - len(sizes), -1), reversed(sizes), strict=True):
        found = [_largest_within(x, places, dim, *ends) for ends in even_parts(x.shape[dim], size)]
        x, places = (torch.cat(parts, dim) for parts in zip(*found, strict=True))
    return x, places


def _largest_within(x: Any, places: Any, dim: int, first: int, end: int) -> Any:
    values, at = x.narrow(dim, first, end - first).max(dim, keepdim=True)
    return values, places.narrow(dim, first, end - first).gather(dim, at)


def _are_uneven(x: Any, sizes: Any) -> bool:
    """Whether the windows have several lengths: what torch-mlir makes of these for linalg may end the process."""
    extents = value_of(x).shape[-len(sizes) :]
    return any(isinstance(extent, int) and extent % size for extent, size in zip(extents, sizes, strict=True))


def _has_known_windows(x: Any, sizes: Any) -> bool:
    """Whether the sizes are known: what torch-mlir makes of others begins with a number that nothing has set."""
    return all(isinstance(extent, int) for extent in value_of(x).shape[-len(sizes) :])


def _is_ceiled(
    x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: Any = False, **_: Any
) -> bool:
    """Whether the last windows may reach behind the padding, for which torch-mlir's StableHLO pads in front, too."""
    return bool(ceil_mode)


def _ceiled(operator: Any, rank: int) -> Callable[..., Any]:
    """Padded first."""

    def made(x: Any, kernel: Any, *how: Any, **named: Any) -> Any:
        if not _is_ceiled(x, kernel, *how, **named):
            return NotImplemented
        stride, padding, dilation, *_ = (*how, *((), 0, 1)[len(how) :])
        sizes = [each(one, rank) for one in (kernel, stride or kernel, padding, dilation)]
        if not x.dtype.is_floating_point:
            return _largest(x, list(map(along, x.shape[-rank:], *sizes, [True] * rank)))
        kernels, strides, ahead, dilations = sizes
        spans = [dilation * (kernel - 1) + 1 for kernel, dilation in zip(kernels, dilations, strict=True)]
        ends = list(map(within, x.shape[-rank:], spans, strides, ahead, [True] * rank))
        padded = framed(x, ahead, [behind for _, behind in ends], -math.inf)
        values, places = operator(padded, kernels, strides, [0] * rank, dilations)
        values, places = (first(one, [count for count, _ in ends]) for one in (values, places))
        return values, _moved(places, padded.shape[-rank:], x.shape[-rank:], ahead)

    return made


def _moved(places: Any, padded: Any, inside: Any, ahead: list[int]) -> Any:
    """Places in a padded tensor as those in the tensor without padding."""
    made: Any = 0
    step = 1
    for of_padded, of_inside, before in reversed(list(zip(padded, inside, ahead, strict=True))):
        made = made + (places % of_padded - before) * step
        places = torch.div(places, of_padded, rounding_mode="floor")
        step = step * of_inside
    return made


_POOLS = {aten.max_pool2d_with_indices.default: 2, aten.max_pool3d_with_indices.default: 3}
_ADAPTIVE = (aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
TABLE: dict[Any, Callable[..., Any]] = {
    **{operator: _max_pool(operator, rank) for operator, rank in _POOLS.items()},
    **dict.fromkeys(_ADAPTIVE, _adaptive_max),
}
"""By operator."""
TAKES: dict[Any, Callable[..., bool]] = {operator: _is_taken(rank) for operator, rank in _POOLS.items()}
"""Whether an operator of the table is taken apart for some arguments."""
CEILED: dict[Any, How] = {operator: (_is_ceiled, _ceiled(operator, rank)) for operator, rank in _POOLS.items()}
"""By operator, what torch-mlir lowers to something else in StableHLO: whether it is taken apart, and how."""
IN_TOSA: dict[Any, How] = {
    aten.max_pool2d_with_indices.default: _by_dimension(2, _is_dilated),
    aten.max_pool3d_with_indices.default: _by_dimension(3, _is_of(3)),
}
"""What TOSA has no operation for: it pools images alone, of elements beside each other ("TOSA 1.0", max_pool2d)."""
_PLACED: dict[str, tuple[Any, How]] = {
    "TOSA": (aten.max_pool2d_with_indices.default, _by_dimension(2, _is_of(2))),
    "StableHLO": (aten.max_pool3d_with_indices.default, _by_dimension(3, _is_of(3))),
}
UNEVEN: dict[Any, How] = {
    aten.adaptive_max_pool2d.default: (_are_uneven, _adaptive_max),
    aten.adaptive_max_pool3d.default: (_has_known_windows, _adaptive_max),
}
"""What torch-mlir lowers to something else in linalg."""
