"""Writes along a dimension counted from the back, on which torch-mlir's pass to TMTensor, for linalg, crashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How

aten: Any = torch.ops.aten


def in_front(x: Any, dim: int) -> int:
    """A dimension counted from the front; of a number, the one that it has none of."""
    return dim % max(value_of(x).dim(), 1)


def _is_from_the_back(_: Any, dim: int, *__: Any, **___: Any) -> bool:
    return dim < 0


def _from_the_front(operator: Any) -> Callable[..., Any]:
    return lambda x, dim, *given, **how: operator(x, in_front(x, dim), *given, **how) if dim < 0 else NotImplemented


IN_LINALG: dict[Any, How] = {
    operator: (_is_from_the_back, _from_the_front(operator))
    for operator in (aten.scatter.src, aten.scatter.value, aten.scatter_add.default, aten.scatter_reduce.two)
}
