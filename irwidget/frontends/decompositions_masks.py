"""Writes where a mask is true: torch-mlir collects the places, and ends the process where there are none.

TOSA and StableHLO have no form of that.
"""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of

aten: Any = torch.ops.aten


def takes(x: Any, indices: Any, values: Any, *_: Any, **__: Any) -> bool:
    """Whether a mask is the only index of an `index_put`, and all its places get the same values."""
    masks = [one for one in indices if one is not None]
    return len(masks) == 1 and _is_mask(masks[0]) and _is_same(x, indices, masks[0], values)


def _is_mask(index: Any) -> bool:
    value = value_of(index)
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.dim() > 0


def _behind(x: Any, indices: Any, mask: Any) -> int:
    """How many dimensions follow those of the mask."""
    ahead = next(at for at, one in enumerate(indices) if one is not None)
    return int(value_of(x).dim() - ahead - value_of(mask).dim())


def _is_same(x: Any, indices: Any, mask: Any, values: Any) -> bool:
    """Whether values have no dimension for the places, or one of a single element."""
    shape, rest = value_of(values).shape, _behind(x, indices, mask)
    length = shape[len(shape) - rest - 1] if len(shape) > rest else 1
    return isinstance(length, int) and length == 1


def index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A choice by the mask."""
    if not takes(x, indices, values):
        return NotImplemented
    mask = next(one for one in indices if one is not None)
    rest = _behind(x, indices, mask)
    mask = mask[(..., *[None] * rest)]
    if values.dim() > rest:
        place = values.dim() - rest
        values = values[(*[slice(None)] * place, *[None] * (mask.dim() - rest - 1))]
    if accumulate:
        values = x | values if x.dtype == torch.bool else x + values
    return torch.where(mask, values, x)
