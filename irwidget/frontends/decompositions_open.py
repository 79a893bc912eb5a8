"""Tensors of as many elements as values make, of which torch-mlir takes none for one.

It reads that one beyond the end where it writes at such places, and ends the process where memory has no element.
"""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How, is_one
from irwidget.private_torch import statically_known_true

aten: Any = torch.ops.aten


def _takes(x: Any, indices: Any, values: Any, *_: Any, **__: Any) -> bool:
    """Whether there may be no place in an `index_put` by vectors of integers."""
    given = [value_of(one) for one in indices if one is not None]
    vectors = all(one.dim() == 1 and one.dtype != torch.bool for one in given)
    return vectors and any(not statically_known_true(one.shape[0] > 0) for one in given)


def _put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """One place more, behind the end of the first dimension with an index, which is cut off again."""
    if not _takes(x, indices, values, accumulate):
        return NotImplemented
    dims = [dim for dim, one in enumerate(indices) if one is not None]
    several = [dim for dim in dims if not is_one(indices[dim].shape[0])]  # one place meets all
    first, extent = several[0], x.shape[several[0]]
    places = [
        _longer(one, 0, extent if dim == first else 0) if dim in several else one
        for dim, one in enumerate(_from_the_front(x, indices))
    ]
    apart = dims[-1] - dims[0] >= len(dims)
    at = values.dim() - 1 - (x.dim() - len(dims) if apart else x.dim() - dims[-1] - 1)
    if at >= 0 and not is_one(values.shape[at]):
        values = _longer(values, at, 0)
    return aten.index_put.default(_longer(x, first, 0), places, values, accumulate).narrow(first, 0, extent)


def _is_made(sizes: Any, strides: Any, **_: Any) -> bool:
    """Whether memory that may have no element lies without gaps."""
    given, step = [value_of(one) for one in sizes], 1
    for size, stride in zip(reversed(given), reversed(strides), strict=True):
        if not statically_known_true(value_of(stride) == step):
            return False
        step = step * torch.sym_max(size, 1)
    return any(not statically_known_true(size > 0) for size in given if not isinstance(size, int))


def _made(sizes: Any, strides: Any, **how: Any) -> Any:
    return aten.empty.memory_format(sizes, **how) if _is_made(sizes, strides) else NotImplemented


def _from_the_front(x: Any, indices: Any) -> list[Any]:
    return [one if one is None else torch.where(one < 0, one + x.shape[dim], one) for dim, one in enumerate(indices)]


def _longer(x: Any, dim: int, number: int) -> Any:
    """With one element more along a dimension."""
    return torch.cat([x, x.new_full([1 if at == dim else size for at, size in enumerate(x.shape)], number)], dim)


IN_LINALG: dict[Any, How] = {
    **dict.fromkeys((aten.index_put.default, aten._unsafe_index_put.default), (_takes, _put)),
    aten.empty_strided.default: (_is_made, _made),
}
"""By operator: whether it is taken apart, and how."""
