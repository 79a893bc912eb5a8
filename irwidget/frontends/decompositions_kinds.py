"""Operators of which all tensors have one narrow dtype, computed of integers of 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import held, value_of, wide
from irwidget.private_torch import pytree

aten: Any = torch.ops.aten
How = tuple[Callable[..., bool], Callable[..., Any]]
"""Whether an operator is taken apart for some arguments, and how."""
COMPARISONS = tuple(getattr(aten, name).Scalar for name in ("lt", "le", "gt", "ge", "eq", "ne"))
"""With a number."""


def named_dims(x: Any, dims: Any) -> list[int]:
    """The dimensions of a tensor that an operator names, all where it names none; a number has none."""
    if dims in (None, []) or not x.dim():
        return list(range(x.dim()))
    return [dims] if isinstance(dims, int) else list(dims)


def is_byte(x: Any, *_: Any, **__: Any) -> bool:
    """Whether a tensor, or a node of a graph that stands for one, has elements of uint8."""
    return _has(torch.uint8, x)


def is_truth(x: Any, *_: Any, **__: Any) -> bool:
    """The same of bool."""
    return _has(torch.bool, x)


def _has(kind: torch.dtype, x: Any) -> bool:
    value = value_of(x)
    return isinstance(value, torch.Tensor) and value.dtype == kind


def is_single(x: Any, *_: Any, **__: Any) -> bool:
    """Whether a tensor has no dimensions."""
    return not value_of(x).dim()


def as_row(operator: Any) -> Callable[..., Any]:
    """Along a dimension of a single number: along that of a row of one."""

    def made(x: Any, *how: Any, **named: Any) -> Any:
        if not is_single(x):
            return NotImplemented
        return pytree.tree_map(lambda row: row.reshape(()), operator(x.reshape(1), *how, **named))

    return made


def all_of(kind: torch.dtype) -> Callable[..., bool]:
    """Whether all tensors that are given, one at least, are of a dtype."""

    def takes(*given: Any, **_: Any) -> bool:
        tensors = [one for one in given if isinstance(value_of(one), torch.Tensor)]
        return bool(tensors) and all(_has(kind, one) for one in tensors)

    return takes


def in_32_bits(operator: Any, kind: torch.dtype, *, by_number: bool = False) -> How:
    """Computed of int32 where all tensors are of a dtype; results that are no places have it again.

    `by_number` says that numbers among the arguments are computed with, of which eager PyTorch takes the low bits.
    """
    takes = all_of(kind)

    def given_as(one: Any) -> Any:
        return held(one, kind) if by_number and not isinstance(one, torch.Tensor) else number(one)

    def made(*given: Any, **named: Any) -> Any:
        if not takes(*given):
            return NotImplemented
        found = operator(*map(given_as, given), **named)
        return narrowed(found, kind)

    return takes, made


def number(x: Any) -> Any:
    """A tensor of bytes or truths as one of int32; others as they are."""
    return x.to(torch.int32) if isinstance(x, torch.Tensor) and x.dtype == torch.bool else wide(x)


def alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors, or one and a number, as tensors of the dtype of their result."""
    kind = torch.result_type(x, y)
    shaped = x if isinstance(x, torch.Tensor) else y
    x, y = (
        wide(one).to(kind) if isinstance(one, torch.Tensor) else torch.full_like(shaped, held(one, kind), dtype=kind)
        for one in (x, y)
    )
    return x, y


def clamped(x: Any, least: Any, most: Any) -> Any:
    """Between numbers, tensors or None, as the dtype that eager PyTorch gives it."""
    given = [limit for limit in (least, most) if limit is not None]
    kind = x.dtype
    for limit in given:
        kind = torch.promote_types(kind, torch.result_type(x, limit))
    if not isinstance(given[0], torch.Tensor):
        return aten.clamp.default(wide(x).to(kind), least, most)
    return aten.clamp.Tensor(*(None if one is None else wide(one).to(kind) for one in (x, least, most)))


def narrowed(found: Any, kind: torch.dtype) -> Any:
    """Results of 32 bits as those of a dtype; places have 64."""
    if isinstance(found, tuple | list):
        return tuple(map(partial(narrowed, kind=kind), found))
    if found.dtype != torch.int32:
        return found
    return found != 0 if kind == torch.bool else found.to(kind)


def is_one(size: Any) -> bool:
    """Whether a size is known to be 1: one that is a symbol is not asked."""
    return isinstance(size, int) and size == 1
