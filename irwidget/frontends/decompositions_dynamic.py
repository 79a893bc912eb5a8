"""Operators that torch-mlir has in StableHLO for dimensions of a known size alone, along those that are dynamic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_empty import variances
from irwidget.frontends.decompositions_kinds import How
from irwidget.private_torch import statically_known_true

aten: Any = torch.ops.aten


def is_open(sizes: Iterable[Any]) -> bool:
    """Whether one of these sizes, or of the nodes that stand for them, is known at run time only."""
    return any(not isinstance(value_of(size), int) for size in sizes)


def _sums_up(x: Any, dim: int, **_: Any) -> bool:
    value = value_of(x)
    return bool(value.dim()) and is_open([value.shape[dim]])


def _cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Of each element the sum of those up to it, which a mask has."""
    if not _sums_up(x, dim):
        return NotImplemented
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


IN_STABLEHLO: dict[Any, How] = {
    **variances(is_open),
    aten.cumsum.default: (_sums_up, _cumsum),
    aten.constant_pad_nd.default: (_pads, _padded),
}
"""By operator: whether it is taken apart, and how."""
