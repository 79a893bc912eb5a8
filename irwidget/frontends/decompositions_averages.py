"""Averages of windows that torch-mlir refuses or lowers to something else, as those within a padded tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import sub
from typing import Any, NamedTuple

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How
from irwidget.frontends.decompositions_narrow import single
from irwidget.frontends.decompositions_pools import along, around, each, first, framed, of_windows, within

aten: Any = torch.ops.aten


class _Asked(NamedTuple):
    """What an operator is given besides its tensor, by its names."""

    kernel_size: Any
    stride: Any = ()
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: Any = None


def _is_divided(_: Any, *how: Any, **named: Any) -> bool:
    """Whether sums are divided by a number that the user gives."""
    return _Asked(*how, **named).divisor_override is not None


def _is_ceiled(x: Any, *how: Any, **named: Any) -> bool:
    """The same, or windows may reach behind the padding."""
    return _Asked(*how, **named).ceil_mode or _is_divided(x, *how, **named)


def _is_of_one_image(x: Any, *how: Any, **named: Any) -> bool:
    """Whether sums are divided by a number, or a single image is padded."""
    padding = each(_Asked(*how, **named).padding, _OF_IMAGES)
    return _is_divided(x, *how, **named) or (any(padding) and value_of(x).dim() == _OF_IMAGES + 1)


_OF_IMAGES = 2


def _averaged(takes: Callable[..., bool], pool: Any, rank: int) -> How:
    def made(x: Any, *how: Any, **named: Any) -> Any:
        if not takes(x, *how, **named):
            return NotImplemented
        asked = _Asked(*how, **named)
        return _pooled(pool, rank, x, asked) if x.dtype.is_floating_point else _of_slices(rank)(x, *asked)

    return takes, made


def _pooled(pool: Any, rank: int, x: Any, asked: _Asked) -> Any:
    """Of a tensor that is padded first, so that no window reaches behind it; what is no element is divided out."""
    kernel, stride, ahead = (
        each(one, rank) for one in (asked.kernel_size, asked.stride or asked.kernel_size, asked.padding)
    )
    ends = list(map(within, x.shape[-rank:], kernel, stride, ahead, [asked.ceil_mode] * rank))
    counts, behind = zip(*ends, strict=True)
    total = first(pool(framed(single(x), ahead, behind, 0), kernel, stride), counts)
    if asked.divisor_override is not None:
        return (total * (math.prod(kernel) / asked.divisor_override)).to(x.dtype)
    if asked.count_include_pad and not asked.ceil_mode:
        return total.to(x.dtype)
    counted = torch.ones((1,) * (x.dim() - rank) + x.shape[-rank:], dtype=total.dtype, device=x.device)
    if asked.count_include_pad:
        counted = framed(counted, ahead, ahead, 1)
        ahead, behind = [0] * rank, list(map(sub, behind, ahead))
    return (total / first(pool(framed(counted, ahead, behind, 0), kernel, stride), counts)).to(x.dtype)


def _of_slices(rank: int) -> Callable[..., Any]:
    """The sum of every window by its elements, with those of the padding or without, or by a number."""

    def made(
        x: Any,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        padded: bool = True,
        by: Any = None,
    ) -> Any:
        sizes = [each(one, rank) for one in (kernel, stride or kernel, padding)]
        dimensions = list(map(along, x.shape[-rank:], *sizes, [1] * rank, [ceil_mode] * rank))
        total = of_windows(torch.add, single(x), dimensions, around(dimensions), 0)
        if by is not None or (padded and not ceil_mode):
            return _quotient(total, by or math.prod(sizes[0])).to(x.dtype)
        inside = torch.ones(x.shape[-rank:], dtype=total.dtype, device=x.device)
        ahead = [one for size in reversed(sizes[2]) for one in (size, size)]
        behind = around(dimensions)
        if padded:
            inside = aten.constant_pad_nd.default(inside, ahead, 1)
            behind = [one - other for one, other in zip(behind, ahead, strict=True)]
        return _quotient(total, of_windows(torch.add, inside, dimensions, behind, 0)).to(x.dtype)

    return made


def _quotient(total: Any, number: Any) -> Any:
    return total / number if total.dtype.is_floating_point else torch.div(total, number, rounding_mode="trunc")


def _in_batch(pool: Any, rank: int) -> How:
    """Of a single image as of a batch of one."""

    def takes(x: Any, *_: Any, **__: Any) -> bool:
        return value_of(x).dim() == rank + 1

    def made(x: Any, *how: Any, **named: Any) -> Any:
        return pool(x.unsqueeze(0), *how, **named).squeeze(0) if takes(x) else NotImplemented

    return takes, made


def _is_of_floats(x: Any, *_: Any, **__: Any) -> bool:
    return value_of(x).dtype.is_floating_point


def _of_three(x: Any, *how: Any, **named: Any) -> Any:
    return _of_slices(3)(x, *how, **named) if _is_of_floats(x) else NotImplemented


_RANKS = {aten.avg_pool2d.default: 2, aten.avg_pool3d.default: 3}
_SINGLE: dict[Any, How] = {aten._adaptive_avg_pool3d.default: _in_batch(aten._adaptive_avg_pool3d.default, 3)}
IN_STABLEHLO: dict[Any, How] = {
    **{pool: _averaged(_is_ceiled, pool, rank) for pool, rank in _RANKS.items()},
    **_SINGLE,
}
"""By operator: whether it is taken apart, and how."""
IN_TOSA: dict[Any, How] = {
    aten.avg_pool2d.default: _averaged(_is_of_one_image, aten.avg_pool2d.default, _OF_IMAGES),
    aten.avg_pool3d.default: (_is_of_floats, _of_three),
    **_SINGLE,
}
"""The same."""
IN_LINALG: dict[Any, How] = {**{pool: _in_batch(pool, rank) for pool, rank in _RANKS.items()}, **_SINGLE}
"""The same."""
