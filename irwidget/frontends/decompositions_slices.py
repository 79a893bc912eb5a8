"""Assignments to slices whose bounds PyTorch leaves out, gives past the end, or counts from it.

torch-mlir lists all places up to the end for StableHLO: `x[4:] = y`, whose end is the largest integer, never ends. TOSA
takes no bound that is left out.
"""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How

aten: Any = torch.ops.aten


def _bounds(x: Any, dim: int, start: Any, end: Any) -> tuple[Any, Any]:
    """From where to where it goes, within the dimension; a bound that is a symbol stays."""
    size = x.shape[dim]
    return _within(0 if start is None else start, size), _within(size if end is None else end, size)


def _within(place: Any, size: Any) -> Any:
    if not isinstance(place, int):
        return place
    if not isinstance(size, int):
        return size if place == torch.iinfo(torch.int64).max else place
    return min(max(place + size if place < 0 else place, 0), size)


def _takes(x: Any, _: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> bool:
    bounds = _bounds(value_of(x), dim, start, end)
    return bounds != (start, end)


def _slice_scatter(x: Any, part: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    if not _takes(x, part, dim, start, end, step):
        return NotImplemented
    return aten.slice_scatter.default(x, part, dim, *_bounds(x, dim, start, end), step)


IN_BOTH: dict[Any, How] = {aten.slice_scatter.default: (_takes, _slice_scatter)}
