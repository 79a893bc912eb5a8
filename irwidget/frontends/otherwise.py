"""What torch.export does not trace, as it wants a number of Python, computed otherwise.

Reads and assignments at an index of no dimensions (`x[i] = y`, `x[i, rows]`) are those of a row of one place, and
covariances are products.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)
"""Of uint8 an index is a mask."""


class Otherwise(TorchFunctionMode):
    """Of reads, those that are no views."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__setitem__ and _places(args[0], args[1]):
            return _assign(*args)
        if func is torch.Tensor.__getitem__ and _places(args[0], args[1]) and _is_copied(args[1]):
            return _narrowed(*args[:2])
        return _INSTEAD.get(func, func)(*args, **(kwargs or {}))


def _listed(index: Any) -> list[Any]:
    return list(index) if isinstance(index, tuple) else [index]


def _is_place(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and not index.dim() and index.dtype in _INTEGERS


def _is_copied(index: Any) -> bool:
    """Whether what is read at an index is a copy: there is one with dimensions."""
    return any(isinstance(one, list) or (isinstance(one, torch.Tensor) and one.dim()) for one in _listed(index))


def _places(x: torch.Tensor, index: Any) -> list[tuple[int, int]]:
    """Where in an index those of no dimensions are, and the dimensions of the tensor that they are of."""
    given, found, dim = _listed(index), list[tuple[int, int]](), 0
    taken = sum(map(_extent, given))
    for at, one in enumerate(given):
        if _is_place(one):
            found.append((at, dim))
        dim += x.dim() - taken if one is Ellipsis else _extent(one)
    return found


def _extent(index: Any) -> int:
    """How many dimensions of a tensor an index is of."""
    if index is None or index is Ellipsis or isinstance(index, bool):
        return 0
    return index.dim() if isinstance(index, torch.Tensor) and index.dtype == torch.bool else 1


def _rows(x: torch.Tensor, index: Any) -> list[tuple[int, torch.Tensor]]:
    """The dimensions, and the places in them as rows of one, from the front."""
    given = _listed(index)
    numbers = ((dim, given[at].reshape(1).to(torch.int64)) for at, dim in _places(x, index))
    return [(dim, torch.where(number < 0, number + x.shape[dim], number)) for dim, number in numbers]


def _within(x: torch.Tensor, index: Any) -> tuple[Any, ...]:
    """The index of the same elements where a dimension has nothing but the place."""
    places = {at for at, _ in _places(x, index)}
    return tuple(0 if at in places else one for at, one in enumerate(_listed(index)))


def _narrowed(x: torch.Tensor, index: Any) -> Any:
    part = x
    for dim, row in _rows(x, index):
        part = part.index_select(dim, row)
    return part[_within(x, index)]


def _assign(x: torch.Tensor, index: Any, value: Any) -> None:
    parts = [x]
    for dim, row in _rows(x, index):
        parts.append(parts[-1].index_select(dim, row))
    parts[-1][_within(x, index)] = value
    for (dim, row), whole, part in reversed(list(zip(_rows(x, index), parts, parts[1:], strict=False))):
        whole.index_copy_(dim, row, part)


# Covariances


def _cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Of rows that are variables, with how often and how much each column counts."""
    x = x.reshape(1, -1) if x.dim() < _MATRIX else x
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total = x.shape[1] if weights is None else weights.sum()
    counted = total - correction
    if aweights is not None and correction:
        counted = total - correction * (weights * aweights).sum() / total
    apart = x - (x if weights is None else x * weights).sum(1, keepdim=True) / total
    made = apart @ (apart if weights is None else apart * weights).mH
    return (made / (counted.clamp(min=0) if isinstance(counted, torch.Tensor) else max(counted, 0))).squeeze()


def _corrcoef(x: Any) -> Any:
    made = _cov(x)
    if not made.dim():
        return made / made
    deviation = torch.sqrt(made.diag().real if made.is_complex() else made.diag())
    made = made / deviation[:, None] / deviation[None]
    if made.is_complex():
        return torch.complex(made.real.clamp(-1, 1), made.imag.clamp(-1, 1))
    return made.clamp(-1, 1)


_MATRIX = 2
_INSTEAD: dict[Any, Any] = {
    **dict.fromkeys((torch.cov, torch.Tensor.cov), _cov),
    **dict.fromkeys((torch.corrcoef, torch.Tensor.corrcoef), _corrcoef),
}
