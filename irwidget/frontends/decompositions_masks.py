"""Reads and writes where a mask is true.

Of reads, torch-mlir's pass to linalg makes an endless loop, or IR that does not verify; of writes it collects the
places, and ends the process where there are none. TOSA and StableHLO have no form of that.
"""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of

aten: Any = torch.ops.aten


def takes(x: Any, indices: Any, values: Any, *_: Any, **__: Any) -> bool:
    """Whether a mask is the only index of an `index_put`, and all its places get the same values."""
    return reads(x, indices) and _length(x, indices, values) == 1


def puts(x: Any, indices: Any, values: Any, *_: Any, **__: Any) -> bool:
    """The same where each place has values of its own, of which the number is known."""
    length = _length(x, indices, values) if reads(x, indices) else 0
    return isinstance(length, int) and length > 1


def reads(x: Any, indices: Any) -> bool:
    """Whether a mask is the only index, of sizes that are known."""
    masks = [one for one in indices if one is not None]
    return len(masks) == 1 and _is_mask(masks[0])


def _is_mask(index: Any) -> bool:
    value = value_of(index)
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.dim() > 0


def _behind(x: Any, indices: Any, mask: Any) -> int:
    """How many dimensions follow those of the mask."""
    ahead = next(at for at, one in enumerate(indices) if one is not None)
    return int(value_of(x).dim() - ahead - value_of(mask).dim())


def _length(x: Any, indices: Any, values: Any) -> Any:
    """How many values there are for the places, along their dimension; one where they have none."""
    mask = next(one for one in indices if one is not None)
    shape, rest = value_of(values).shape, _behind(x, indices, mask)
    return shape[len(shape) - rest - 1] if len(shape) > rest else 1


def index(x: Any, indices: Any) -> Any:
    """By the places where the mask is true; torch-mlir lowers these."""
    if not reads(x, indices):
        return NotImplemented
    dim, mask = next((at, one) for at, one in enumerate(indices) if one is not None)
    flat = x.flatten(dim, dim + mask.dim() - 1)
    return flat.index_select(dim, torch.nonzero(mask.reshape(-1)).squeeze(1))


def index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A choice by the mask."""
    return _put(x, indices, values, accumulate) if takes(x, indices, values) else NotImplemented


def own_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """The same, where each place has the next of the values."""
    return _put(x, indices, values, accumulate) if puts(x, indices, values) else NotImplemented


def _put(x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    mask = next(one for one in indices if one is not None)
    rest = _behind(x, indices, mask)
    if values.dim() > rest:
        dim, shape = values.dim() - rest - 1, values.shape
        if shape[dim] == 1:
            values = values[(*[slice(None)] * dim, *[None] * (mask.dim() - 1))]
        else:
            number = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
            values = values.index_select(dim, number.clamp(0, shape[dim] - 1))
            values = values.reshape(*shape[:dim], *mask.shape, *shape[dim + 1 :])
    if accumulate:
        values = x | values if x.dtype == torch.bool else x + values
    return torch.where(mask[(..., *[None] * rest)], values, x)
