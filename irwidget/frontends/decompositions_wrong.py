"""Operators that torch-mlir lowers to something else than PyTorch computes, in terms of others.

Most are of unsigned elements that it takes for signed ones: true is -1 there, and 200 of a byte -56.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of, wide

aten: Any = torch.ops.aten


def _is_unsigned(x: Any, *_: Any) -> bool:
    return value_of(x).dtype in (torch.bool, torch.uint8)


def _sort(operator: Any) -> Callable[..., Any]:
    """As numbers of 32 bits."""

    def made(x: Any, *how: Any, **named: Any) -> Any:
        if not _is_unsigned(x):
            return NotImplemented
        values, places = operator(_as_numbers(x), *how, **named)
        return values.to(x.dtype), places

    return made


def _as_numbers(x: Any) -> Any:
    return x.to(torch.int32) if x.dtype == torch.bool else wide(x)


_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")


def _overloads(names: Sequence[str]) -> list[Any]:
    """Of a tensor with another, and with a number."""
    return [getattr(getattr(aten, name), overload) for name in names for overload in ("Tensor", "Scalar")]


def _is_byte(x: Any, *_: Any) -> bool:
    value = value_of(x)
    return isinstance(value, torch.Tensor) and value.dtype == torch.uint8


def _of_bytes(x: Any, y: Any, *_: Any) -> bool:
    return _is_byte(x) or _is_byte(y)


def _compares_wrongly(x: Any, y: Any, *_: Any) -> bool:
    """Whether a byte is compared with what is none; with another, or a number that a signed byte holds, it is right."""
    other = value_of(y)
    if isinstance(other, torch.Tensor):
        return _is_byte(x) != _is_byte(y)
    return _is_byte(x) and not (isinstance(other, int) and -128 <= other < 128)


def _leaves_bytes(x: Any, y: Any, *_: Any) -> bool:
    """Whether bytes become something else with what they are computed with."""
    return _of_bytes(x, y) and torch.result_type(value_of(x), value_of(y)) != torch.uint8


def _widened(operator: Any, takes: Callable[..., bool], kind: Callable[..., Any]) -> Callable[..., Any]:
    """Of bytes as numbers of 32 bits, of the dtype that `kind` says it has."""

    def made(*given: Any, **how: Any) -> Any:
        if not takes(*given):
            return NotImplemented
        found = operator(*map(wide, given), **how)
        return found.to(kind(*given)) if kind(*given) else found

    return made


def _kind_of_both(x: Any, y: Any, *_: Any) -> torch.dtype:
    return torch.result_type(x, y)


def _kind_of_quotient(x: Any, y: Any, *_: Any) -> torch.dtype:
    kind = torch.result_type(x, y)
    return kind if kind.is_floating_point else torch.get_default_dtype()


def _its_own(*_: Any) -> None:
    return None


def _abs(x: Any) -> Any:
    return x.clone() if _is_byte(x) else NotImplemented


def _truth(operator: Any) -> Callable[..., Any]:
    """Of bytes: of whether they are zero."""
    return lambda x: operator(x != 0).to(torch.uint8) if _is_byte(x) else NotImplemented


_BYTES: dict[Any, tuple[Callable[..., bool], Callable[..., Any]]] = {
    **dict.fromkeys(_overloads(_COMPARED), (_compares_wrongly, _its_own)),
    **dict.fromkeys(_overloads(("add", "sub", "mul")), (_leaves_bytes, _kind_of_both)),
    **dict.fromkeys(_overloads(("div",)), (_of_bytes, _kind_of_quotient)),
    **dict.fromkeys((aten.sum.default, aten.sum.dim_IntList), (_is_byte, _its_own)),
}
"""Operators that see what a byte is, whether they are taken apart, and which dtype they then have."""


def _is_truth(x: Any, *_: Any) -> bool:
    return value_of(x).dtype == torch.bool


def _scatter_add(x: Any, dim: int, index: Any, values: Any) -> Any:
    """Of truths: a count of them."""
    if not _is_truth(x):
        return NotImplemented
    return aten.scatter_add.default(x.to(torch.int32), dim, index, values.to(torch.int32)) != 0


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Of truths that are added, a count of them; of bytes, on which torch-mlir crashes, the low byte of the sum."""
    if not _adds_narrow(x, indices, values, accumulate):
        return NotImplemented
    made = aten.index_put.default(_as_numbers(x), indices, _as_numbers(values), accumulate)
    return made != 0 if _is_truth(x) else made.to(x.dtype)


def _adds_narrow(x: Any, _: Any, __: Any, accumulate: bool = False, *___: Any) -> bool:
    return accumulate and value_of(x).dtype in (torch.bool, torch.uint8, torch.int8)


def _mean(x: Any, dim: int, index: Any, values: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Of integers, rounded down; torch-mlir rounds towards zero."""
    if not _is_mean_of_integers(x, dim, index, values, reduce):
        return NotImplemented
    parts = (x, values), (torch.ones_like(x), torch.ones_like(values))
    total, count = (
        aten.scatter_reduce.two(old, dim, index, new, "sum", include_self=include_self) for old, new in parts
    )
    return torch.div(total, count, rounding_mode="floor")


def _is_mean_of_integers(x: Any, _: Any, __: Any, ___: Any, reduce: str, *____: Any) -> bool:
    return reduce == "mean" and not value_of(x).dtype.is_floating_point


def _has_weights(*given: Any) -> bool:
    """Whether a bag of embeddings has a weight for each of its elements, which torch-mlir leaves out."""
    return len(given) > _WEIGHTS and given[_WEIGHTS] is not None


_WEIGHTS = 6
"""The place of these among the arguments."""
_SORTS = (aten.sort.default, aten.sort.stable, aten.topk.default, aten.kthvalue.default)
_INDEX_PUTS = (aten.index_put.default, aten._unsafe_index_put.default)
TABLE: dict[Any, Callable[..., Any]] = {
    **{operator: _sort(operator) for operator in _SORTS},
    aten.scatter_add.default: _scatter_add,
    aten.scatter_reduce.two: _mean,
    **dict.fromkeys(_INDEX_PUTS, _index_put),
    **{operator: _widened(operator, *how) for operator, how in _BYTES.items()},
    aten.abs.default: _abs,
    **{operator: _truth(operator) for operator in (aten.any.default, aten.all.default)},
}
"""By operator."""
TAKES: dict[Any, Callable[..., bool]] = {
    **dict.fromkeys(_SORTS, _is_unsigned),
    aten.scatter_add.default: _is_truth,
    aten.scatter_reduce.two: _is_mean_of_integers,
    **dict.fromkeys(_INDEX_PUTS, _adds_narrow),
    **dict.fromkeys((aten._embedding_bag.default, aten._embedding_bag_forward_only.default), _has_weights),
    **{operator: takes for operator, (takes, _) in _BYTES.items()},
    **dict.fromkeys((aten.abs.default, aten.any.default, aten.all.default), _is_byte),
}
"""Whether an operator of the table is taken apart for some arguments."""
