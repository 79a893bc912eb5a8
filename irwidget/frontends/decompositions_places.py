"""Reads and writes at an index without dimensions, or of a number, which torch-mlir's passes refuse: of rows of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from irwidget.frontends.decompositions_kinds import is_single
from irwidget.frontends.decompositions_scatter import in_front

aten: Any = torch.ops.aten


def _row(x: Any) -> Any:
    """A tensor of one dimension at least; numbers of Python as they are."""
    return x.reshape(1) if isinstance(x, torch.Tensor) and not x.dim() else x


def _takes(x: Any, _: int, index: Any, *__: Any, **___: Any) -> bool:
    return is_single(x) or is_single(index)


def _read(operator: Any) -> Callable[..., Any]:
    """Of the shape of the index."""

    def made(x: Any, dim: int, index: Any, **how: Any) -> Any:
        if not _takes(x, dim, index):
            return NotImplemented
        return operator(_row(x), in_front(x, dim), _row(index), **how).reshape(index.shape)

    return made


def _written(operator: Any) -> Callable[..., Any]:
    """Of the shape of what is written to."""

    def made(x: Any, dim: int, index: Any, values: Any, *given: Any, **how: Any) -> Any:
        if not _takes(x, dim, index):
            return NotImplemented
        return operator(_row(x), in_front(x, dim), _row(index), _row(values), *given, **how).reshape(x.shape)

    return made


def _index_select(x: Any, dim: int, index: Any) -> Any:
    if not _takes(x, dim, index):
        return NotImplemented
    made = aten.index_select.default(_row(x), in_front(x, dim), _row(index))
    return made if x.dim() else made.reshape(())


_WRITES = (aten.scatter.src, aten.scatter.value, aten.scatter_add.default, aten.scatter_reduce.two)
TABLE: dict[Any, Callable[..., Any]] = {
    aten.gather.default: _read(aten.gather.default),
    **{operator: _written(operator) for operator in _WRITES},
    aten.index_select.default: _index_select,
}
"""By operator."""
TAKES: dict[Any, Callable[..., bool]] = dict.fromkeys(TABLE, _takes)
"""Whether an operator of the table is taken apart for some arguments."""


def traceable(table: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """Those of PyTorch's decompositions that raise for an index without dimensions, of a row where it is one."""
    plain_add, plain_take = table[aten.index_add.default], table[aten.take.default]

    def add(x: Any, dim: int, index: Any, *given: Any, **how: Any) -> Any:
        if x.dim() and not index.dim():
            return aten.index_add.default(x, dim, index.reshape(1), *given, **how)
        return plain_add(x, dim, index, *given, **how)

    def take(x: Any, index: Any) -> Any:
        return plain_take(x, _row(index)).reshape(index.shape)

    return {aten.index_add.default: add, aten.take.default: take}
