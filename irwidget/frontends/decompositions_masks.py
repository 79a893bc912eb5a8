"""Reads and writes where a mask is true.

Of reads, torch-mlir's pass to linalg makes an endless loop, or IR that does not verify; by several masks it crashes.
Of writes it collects the places, and ends the process where there are none. TOSA and StableHLO have no form of that.
"""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import is_one

aten: Any = torch.ops.aten


def takes(x: Any, indices: Any, values: Any, *_: Any, **__: Any) -> bool:
    """Whether a mask is the only index of an `index_put`, and all its places get the same values.

    Or each its own, of which the number depends on the mask: as many as were read by it.
    """
    length = _length(x, indices, values) if reads(x, indices) else 0
    return not isinstance(length, int) or is_one(length)


def pairs(x: Any, indices: Any, values: Any, accumulate: bool = False, **_: Any) -> bool:
    """Whether there are several indices of an `index_put`, each of one dimension of it, and a mask among them.

    Of others there is one place, or all places get the same.
    """
    given = [one for one in indices if one is not None]
    if len(given) < _FEWEST or not any(map(_is_mask, given)):
        return False
    if not all(value_of(one).dim() == 1 if _is_truth(one) else value_of(one).dim() <= 1 for one in given):
        return False
    single = all(_is_truth(one) or is_one(value_of(one).numel()) for one in given)
    behind = value_of(x).dim() - max(dim for dim, one in enumerate(indices) if one is not None) - 1
    return single or (not accumulate and value_of(values).dim() <= behind)


_FEWEST = 2


def paired_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A choice by one mask of all these dimensions, which are put in front."""
    if not pairs(x, indices, values, accumulate):
        return NotImplemented
    dims = [dim for dim, one in enumerate(indices) if one is not None]
    front = [*range(len(dims))]
    at = dims[0] if dims[-1] - dims[0] < len(dims) else 0  # of the values
    values = values[(None,) * (x.dim() - len(dims) + 1 - values.dim())].movedim(at, 0)
    x = x.movedim(dims, front)
    return _put(x, [_of_pairs(x, [indices[dim] for dim in dims])], values, accumulate).movedim(front, dims)


def _of_pairs(x: Any, indices: Any) -> Any:
    """Where the first places of all indices meet, the second of all, and so on; a single one meets all."""
    extents = x.shape[: len(indices)]
    count = max(extent if _is_truth(one) else one.numel() for one, extent in zip(indices, extents, strict=True))
    number = torch.arange(count, device=x.device)[:, None]
    made: Any = True
    for dim, (one, extent) in enumerate(zip(indices, extents, strict=True)):
        if _is_truth(one):
            before = one.to(torch.int64).cumsum(0)
            mine = one & ((before - 1 == number) | (before[-1:] == 1))
        else:
            place = torch.where(one < 0, one + extent, one).reshape(-1, 1)
            place = place.index_select(0, number.reshape(-1).clamp(max=one.numel() - 1))
            mine = place == torch.arange(extent, device=x.device)
        made = mine.reshape([count, *(extent if at == dim else 1 for at in range(len(indices)))]) & made
    return made.to(torch.int64).sum(0) > 0


def puts(x: Any, indices: Any, values: Any, *_: Any, **__: Any) -> bool:
    """The same where each place has values of its own, of which the number is known."""
    length = _length(x, indices, values) if reads(x, indices) else 0
    return isinstance(length, int) and length > 1


def reads(x: Any, indices: Any) -> bool:
    """Whether a mask is the only index, of sizes that are known."""
    masks = [one for one in indices if one is not None]
    return len(masks) == 1 and _is_mask(masks[0])


def _is_truth(index: Any) -> bool:
    value = value_of(index)
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool


def _is_mask(index: Any) -> bool:
    return _is_truth(index) and value_of(index).dim() > 0


def _behind(x: Any, indices: Any, mask: Any) -> int:
    """How many dimensions follow those of the mask."""
    ahead = next(at for at, one in enumerate(indices) if one is not None)
    return int(value_of(x).dim() - ahead - value_of(mask).dim())


def _length(x: Any, indices: Any, values: Any) -> Any:
    """How many values there are for the places, along their dimension; one where they have none."""
    mask = next(one for one in indices if one is not None)
    shape, rest = value_of(values).shape, _behind(x, indices, mask)
    return shape[len(shape) - rest - 1] if len(shape) > rest else 1


def chooses(x: Any, indices: Any) -> bool:
    """Whether a mask is among the indices."""
    return any(map(_is_mask, indices)) and all(_is_mask(one) or not _is_truth(one) for one in indices)


def follows(x: Any, indices: Any) -> bool:
    """Whether there are several indices, and how many depends on values; masks are `chooses`'."""
    values = [value_of(one) for one in indices if one is not None]
    open_ = any(not isinstance(size, int) for value in values for size in value.shape)
    return len(values) > 1 and open_ and not any(map(_is_truth, indices))


def index(x: Any, indices: Any) -> Any:
    """By the places where masks are true; torch-mlir lowers these."""
    return _chosen(x, indices) if chooses(x, indices) else NotImplemented


def open_index(x: Any, indices: Any) -> Any:
    """By one place for each of several indices."""
    return _chosen(x, indices) if follows(x, indices) else NotImplemented


def _chosen(x: Any, indices: Any) -> Any:
    """What has an index as one dimension, and one index into that."""
    numbers: dict[int, Any] = {}
    for dim, one in enumerate(indices):
        if _is_mask(one):
            x = x.flatten(dim, dim + one.dim() - 1)
            numbers[dim] = torch.nonzero(one.reshape(-1)).squeeze(1)
        elif one is not None:
            numbers[dim] = torch.where(one < 0, one + x.shape[dim], one)
    dims = [*numbers]
    at = dims[0] if dims[-1] - dims[0] < len(dims) else 0  # in front, where they are apart
    number = numbers[dims[0]]
    for dim in dims[1:]:
        number = number * x.shape[dim] + numbers[dim]
    if len(dims) > 1:
        x = x.movedim(dims, [*range(at, at + len(dims))]).flatten(at, at + len(dims) - 1)
    made = x.index_select(at, number.reshape(-1))
    return made if number.dim() == 1 else made.reshape(*made.shape[:at], *number.shape, *made.shape[at + 1 :])


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
        if is_one(shape[dim]):
            values = values[(*[slice(None)] * dim, *[None] * (mask.dim() - 1))]
        else:
            number = (mask.reshape(-1).to(torch.int64).cumsum(0) - 1).clamp(min=0)
            if isinstance(shape[dim], int):
                number = number.clamp(max=shape[dim] - 1)
            else:  # there may be none: a last one that nobody gets
                last = values.new_zeros([1 if at == dim else size for at, size in enumerate(shape)])
                values = torch.cat([values, last], dim)
            values = values.index_select(dim, number)
            values = values.reshape(*shape[:dim], *mask.shape, *shape[dim + 1 :])
    if accumulate:
        values = x | values if x.dtype == torch.bool else x + values
    return torch.where(mask[(..., *[None] * rest)], values, x)
