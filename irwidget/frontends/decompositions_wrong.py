"""Operators that torch-mlir lowers to something else than PyTorch computes, in terms of others; most are of unsigned
elements that it takes for signed ones: true is -1 there, and 200 of a byte -56.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from irwidget.frontends import (
    decompositions_averages,
    decompositions_batch,
    decompositions_convolutions,
    decompositions_counts,
    decompositions_dynamic,
    decompositions_empty,
    decompositions_floats,
    decompositions_folded,
    decompositions_halves,
    decompositions_integers,
    decompositions_limits,
    decompositions_masks,
    decompositions_pads,
    decompositions_pools,
    decompositions_scatter,
    decompositions_signed,
    decompositions_slices,
    decompositions_truths,
    decompositions_unsigned,
)
from irwidget.frontends.decompositions_bytes import either, value_of, wide
from irwidget.frontends.decompositions_kinds import How, as_row, is_byte, is_single, is_truth, narrowed, number

aten: Any = torch.ops.aten


def _is_unsigned(x: Any, *_: Any, **__: Any) -> bool:
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


_RIGHT = {**dict.fromkeys(("lt", "ge"), (-128, 128)), **dict.fromkeys(("le", "gt"), (-129, 127))}
"""Comparisons that order, and the least and the largest number with which torch-mlir compares bytes right in linalg."""


def _overloads(*names: str) -> list[Any]:
    """Of a tensor with another, and with a number."""
    return [getattr(getattr(aten, name), overload) for name in names for overload in ("Tensor", "Scalar")]


def _of_bytes(x: Any, y: Any, *_: Any, **__: Any) -> bool:
    return is_byte(x) or is_byte(y)


def _of_byte_and_other(x: Any, y: Any) -> bool:
    """Whether two tensors are compared of which one has bytes."""
    return isinstance(value_of(y), torch.Tensor) and is_byte(x) != is_byte(y)


def _orders_wrongly(least: int, largest: int) -> Callable[..., bool]:
    def takes(x: Any, y: Any) -> bool:
        if isinstance(value_of(y), torch.Tensor):
            return _of_byte_and_other(x, y)
        return is_byte(x) and not (isinstance(y, int) and least <= y <= largest)

    return takes


def _equals_wrongly(*right: torch.dtype) -> Callable[..., bool]:
    """Of bytes; tensors of the dtypes are compared right with them."""

    def takes(x: Any, y: Any) -> bool:
        if isinstance(value_of(y), torch.Tensor):
            return _of_byte_and_other(x, y) and not {value_of(x).dtype, value_of(y).dtype} & {*right}
        if isinstance(y, float):
            return is_byte(x) and y.is_integer() and (-128 <= y < 0 or 128 <= y < 256)
        return is_byte(x) and not (isinstance(y, int) and -128 <= y < 128)

    return takes


def _leaves_bytes(x: Any, y: Any, *_: Any, **__: Any) -> bool:
    """Whether bytes become something else with what they are computed with."""
    return _of_bytes(x, y) and torch.result_type(value_of(x), value_of(y)) != torch.uint8


def _leaves_by_number(x: Any, y: Any, *_: Any, **__: Any) -> bool:
    return not isinstance(value_of(y), torch.Tensor) and _leaves_bytes(x, y)


def _is_widening(x: Any, *_: Any, dtype: Any = None, **__: Any) -> bool:
    return is_byte(x) and dtype != torch.uint8


def _compared(operator: Any, takes: Callable[..., bool]) -> Callable[..., Any]:
    """As numbers of 32 bits; of an integer that is no byte eager PyTorch takes the low one."""

    def made(x: Any, y: Any) -> Any:
        if not takes(x, y):
            return NotImplemented
        if isinstance(y, torch.Tensor):
            return operator(wide(x), wide(y))
        return operator(wide(x).to(torch.result_type(x, y)), y) if isinstance(y, float) else operator(wide(x), y % 256)

    return made


def _widened(operator: Any, takes: Callable[..., bool], kind: Callable[..., Any]) -> Callable[..., Any]:
    """Of bytes as numbers of 32 bits, of the dtype that `kind` says it has."""

    def made(*given: Any, **how: Any) -> Any:
        if not takes(*given, **how):
            return NotImplemented
        found = operator(*map(wide, given), **how)
        return found.to(kind(*given)) if kind(*given) else found

    return made


def _kind_of_both(x: Any, y: Any, *_: Any) -> torch.dtype:
    return torch.result_type(x, y)


def _quotient(takes: Callable[..., bool]) -> Callable[..., Any]:
    """Of bytes, or of integers by a float: as floats."""

    def made(x: Any, y: Any) -> Any:
        if not takes(x, y):
            return NotImplemented
        kind = torch.result_type(x, y)
        kind = kind if kind.is_floating_point else torch.get_default_dtype()
        return aten.div.Tensor(*(wide(one).to(kind) if isinstance(one, torch.Tensor) else one for one in (x, y)))

    return made


def _divides_wrongly(x: Any, y: Any) -> bool:
    """In TOSA, where the float that integers are divided by becomes one, too."""
    return _of_bytes(x, y) or (isinstance(y, float) and not value_of(x).dtype.is_floating_point)


def _its_own(*_: Any) -> None:
    return None


def _abs(x: Any) -> Any:
    return x.clone() if is_byte(x) else NotImplemented


def _truth(operator: Any) -> Callable[..., Any]:
    """Of bytes: of whether they are zero."""
    return lambda x: operator(x != 0).to(torch.uint8) if is_byte(x) else NotImplemented


_PRODUCTS = (aten.prod.default, aten.prod.dim_int)
_SUMS = (aten.sum.default, aten.sum.dim_IntList)


def _scatter_add(x: Any, dim: int, index: Any, values: Any) -> Any:
    """Of truths: a count of them."""
    if not is_truth(x):
        return NotImplemented
    return aten.scatter_add.default(x.to(torch.int32), dim, index, values.to(torch.int32)) != 0


def _index_put(takes: Callable[..., bool]) -> Callable[..., Any]:
    """Of truths that are added, a count of them; of bytes the low byte of the sum."""

    def made(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
        if not takes(x, indices, values, accumulate):
            return NotImplemented
        made = aten.index_put.default(_as_numbers(x), indices, _as_numbers(values), accumulate)
        return made != 0 if is_truth(x) else made.to(x.dtype)

    return made


def _adds(*kinds: torch.dtype) -> Callable[..., bool]:
    return lambda x, _, __, accumulate=False, **___: accumulate and value_of(x).dtype in kinds


_adds_truths, _adds_narrow = _adds(torch.bool), _adds(torch.bool, torch.uint8, torch.int8)
"""Whether an `index_put` adds truths; these or bytes, which torch-mlir refuses to TOSA."""


def _any_of(*conditions: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *given, **named: any(takes(*given, **named) for takes in conditions)


_put_by_masks = either(decompositions_masks.index_put, decompositions_masks.paired_put)


def _mean(x: Any, dim: int, index: Any, values: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Of integers, rounded down; torch-mlir rounds towards zero."""
    if not _is_mean_of_integers(x, dim, index, values, reduce):
        return NotImplemented
    parts = (x, values), (torch.ones_like(x), torch.ones_like(values))
    total, count = (
        aten.scatter_reduce.two(old, dim, index, new, "sum", include_self=include_self) for old, new in parts
    )
    return torch.div(total, count, rounding_mode="floor")


def _is_mean_of_integers(x: Any, _: Any, __: Any, ___: Any, reduce: str, **____: Any) -> bool:
    return reduce == "mean" and not value_of(x).dtype.is_floating_point


def _reduced(x: Any, dim: int, index: Any, values: Any, reduce: str, **how: Any) -> Any:
    """As numbers of 32 bits."""
    if not (is_truth(x) or _is_extreme_of_bytes(x, reduce)):
        return NotImplemented
    found = aten.scatter_reduce.two(number(x), dim, index, number(values), reduce, **how)
    return narrowed(found, x.dtype)


def _is_extreme_of_bytes(x: Any, reduce: str) -> bool:
    return is_byte(x) and reduce in ("amax", "amin")


def _is_reduced_wrongly(x: Any, dim: int, index: Any, values: Any, reduce: str, **how: Any) -> bool:
    return is_truth(x) or _is_extreme_of_bytes(x, reduce) or _is_mean_of_integers(x, dim, index, values, reduce)


def _has_weights(*given: Any, **_: Any) -> bool:
    """Whether a bag of embeddings has a weight for each of its elements, which torch-mlir leaves out."""
    return len(given) > _WEIGHTS and given[_WEIGHTS] is not None


_WEIGHTS = 6
"""The place of these among the arguments."""


_LONGEST = 2048


def _is_short(x: Any, dim: int) -> bool:
    """Whether the numbers along a dimension are floats, and few enough for a table of every pair."""
    value = value_of(x)
    if not value.dim():
        return True
    length = value.shape[dim]
    return value.dtype.is_floating_point and isinstance(length, int) and length <= _LONGEST


def _log_cumsum_exp(x: Any, dim: int) -> Any:
    """From the largest so far; of torch-mlir's own the exponentials overflow."""
    if not _is_short(x, dim):
        return NotImplemented
    if not x.dim():
        return x.clone()
    place = torch.arange(x.shape[dim], device=x.device)
    rows = x.movedim(dim, -1).unsqueeze(-2)
    rows = torch.where(place[None] <= place[:, None], rows, torch.full_like(rows, -math.inf))
    return torch.logsumexp(rows, -1).movedim(-1, dim)


def _mixes_bytes(*given: Any) -> bool:
    """Whether bytes are put beside what is none, and become what it is."""
    kinds = {value_of(one).dtype for one in given}
    return torch.uint8 in kinds and len(kinds) > 1


def _where(condition: Any, x: Any, y: Any) -> Any:
    if not _mixes_bytes(x, y):
        return NotImplemented
    kind = torch.result_type(x, y)
    return aten.where.self(condition, *(wide(one).to(kind) for one in (x, y)))


def _cat(tensors: Any, dim: int = 0) -> Any:
    if not _mixes_bytes(*tensors):
        return NotImplemented
    kind = functools.reduce(torch.promote_types, (one.dtype for one in tensors))
    return aten.cat.default([wide(one).to(kind) for one in tensors], dim)


def _of_mixed(tensors: Any, *_: Any, **__: Any) -> bool:
    return _mixes_bytes(*tensors)


def _of_mixed_choice(_: Any, x: Any, y: Any) -> bool:
    return _mixes_bytes(x, y)


def _joined(operator: Any) -> Callable[..., Any]:
    """Of bytes and what is none: both as what they become."""

    def made(x: Any, y: Any, **how: Any) -> Any:
        if not _of_mixed_pair(x, y):
            return NotImplemented
        kind = torch.result_type(x, y)
        return operator(wide(x).to(kind), wide(y).to(kind), **how)

    return made


def _of_mixed_pair(x: Any, y: Any, **_: Any) -> bool:
    return all(isinstance(value_of(one), torch.Tensor) for one in (x, y)) and _mixes_bytes(x, y)


def _average(operator: Any) -> Callable[..., Any]:
    return lambda x, *how, dtype=None: operator(wide(x).to(dtype), *how) if is_byte(x) and dtype else NotImplemented


def _max_pool(operator: Any) -> Callable[..., Any]:
    """Of bytes: as numbers that have a sign, too."""

    def made(x: Any, *how: Any) -> Any:
        if not is_byte(x):
            return NotImplemented
        values, places = operator(wide(x), *how)
        return values.to(x.dtype), places

    return made


_POOLS = (aten.max_pool2d_with_indices.default, aten.max_pool3d_with_indices.default)
_SEARCHES = (aten.bucketize.Tensor, aten.searchsorted.Tensor)
_PAIRS = (
    *(aten.maximum.default, aten.minimum.default, aten.bitwise_and.Tensor, aten.bitwise_or.Tensor),
    *(aten.bitwise_xor.Tensor, aten.pow.Tensor_Tensor, aten.atan2.default, aten.remainder.Tensor),
    *(aten.fmod.Tensor, aten.div.Tensor_mode, *_SEARCHES),
    *(aten.bitwise_left_shift.Tensor, aten.bitwise_right_shift.Tensor),
)
_SHIFTS = {
    aten.__lshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.__rshift__.Tensor: aten.bitwise_right_shift.Tensor,
}


def _is_complex(x: Any, *_: Any, **__: Any) -> bool:
    return value_of(x).is_complex()


def _size(x: Any) -> Any:
    """Of complex numbers, of which torch-mlir takes the real parts in StableHLO."""
    return torch.hypot(*torch.view_as_real(x).unbind(-1)) if _is_complex(x) else NotImplemented


def _norm(x: Any, *how: Any, **named: Any) -> Any:
    return aten.linalg_vector_norm.default(_size(x), *how, **named) if _is_complex(x) else NotImplemented


_MEANS = (aten.mean.default, aten.mean.dim)
_MOVED: dict[Any, How] = {
    **{operator: (is_byte, _max_pool(operator)) for operator in _POOLS},
    aten.where.self: (_of_mixed_choice, _where),
    aten.cat.default: (_of_mixed, _cat),
    **{operator: (_of_mixed_pair, _joined(operator)) for operator in _PAIRS},
    **{operator: (_of_mixed_pair, _joined(shift)) for operator, shift in _SHIFTS.items()},
    **{operator: (is_byte, _average(operator)) for operator in _MEANS},
}
"""What sees it in all languages that have signed integers only."""
_SORTS = (aten.sort.default, aten.sort.stable, aten.topk.default, aten.kthvalue.default)
_SOFTMAXES = (aten._softmax.default, aten._log_softmax.default)
"""Of a single number torch-mlir makes an endless loop."""
_INDEX_PUTS = (aten.index_put.default, aten._unsafe_index_put.default)
_TABLE: dict[Any, Callable[..., Any]] = {
    **{operator: _sort(operator) for operator in _SORTS},
    aten.scatter_add.default: _scatter_add,
    aten.scatter_reduce.two: either(_mean, _reduced),
    aten.logcumsumexp.default: _log_cumsum_exp,
    **dict.fromkeys(_INDEX_PUTS, either(_put_by_masks, _index_put(_adds_truths))),
    aten.abs.default: _abs,
    **{operator: _truth(operator) for operator in (aten.any.default, aten.all.default)},
    aten.index.Tensor: decompositions_masks.index,
    **{operator: as_row(operator) for operator in _SOFTMAXES},
}
_SCATTERS = (aten.scatter_add.default, aten.scatter_reduce.two)
_TAKES: dict[Any, Callable[..., bool]] = {
    **dict.fromkeys(_SORTS, _is_unsigned),
    aten.scatter_add.default: is_truth,
    aten.scatter_reduce.two: _is_reduced_wrongly,
    aten.logcumsumexp.default: _is_short,
    **dict.fromkeys(_INDEX_PUTS, _any_of(decompositions_masks.takes, decompositions_masks.pairs, _adds_truths)),
    **dict.fromkeys((aten._embedding_bag.default, aten._embedding_bag_forward_only.default), _has_weights),
    **dict.fromkeys((aten.abs.default, aten.any.default, aten.all.default), is_byte),
    aten.index.Tensor: decompositions_masks.chooses,
    **dict.fromkeys(_SOFTMAXES, is_single),
}


def _signed(
    comparisons: Mapping[str, Callable[..., bool]], sums: Callable[..., bool], quotients: Callable[..., bool]
) -> dict[Any, How]:
    """What sees that a byte has no sign, by operator: whether it is taken apart, and how."""
    compared = {operator: takes for name, takes in comparisons.items() for operator in _overloads(name)}
    computed = {
        **dict.fromkeys(_overloads("add", "sub"), (sums, _kind_of_both)),
        **dict.fromkeys(_overloads("mul"), (_leaves_bytes, _kind_of_both)),
        **dict.fromkeys((*_SUMS, *_PRODUCTS), (_is_widening, _its_own)),
    }
    return {
        **{operator: (takes, _compared(operator, takes)) for operator, takes in compared.items()},
        **{operator: (takes, _widened(operator, takes, kind)) for operator, (takes, kind) in computed.items()},
        **{operator: (quotients, _quotient(quotients)) for operator in _overloads("div")},
        **_MOVED,
    }


def _both(*tables: Mapping[Any, How]) -> dict[Any, How]:
    """The operators of tables; of one that is in several, the first that takes the arguments."""
    found: dict[Any, How] = {}
    for table in tables:
        for operator, (takes, made) in table.items():
            if operator in found:
                before, how = found[operator]
                found[operator] = _any_of(before, takes), either(how, made)
            else:
                found[operator] = takes, made
    return found


_ORDERS = {name: _orders_wrongly(*right) for name, right in _RIGHT.items()}
_IN_LINALG = _signed({**_ORDERS, **dict.fromkeys(("eq", "ne"), _equals_wrongly())}, _leaves_by_number, _of_bytes)
_IN_TOSA = {
    **_signed(
        {**dict.fromkeys(_RIGHT, _of_bytes), **dict.fromkeys(("eq", "ne"), _equals_wrongly(torch.bool))},
        _leaves_bytes,
        _divides_wrongly,
    ),
    **dict.fromkeys(
        _INDEX_PUTS,
        (
            _any_of(decompositions_masks.takes, decompositions_masks.pairs, _adds_narrow),
            either(_put_by_masks, _index_put(_adds_narrow)),
        ),
    ),
}
_SIGNED = {
    "": _both(
        *(_IN_LINALG, decompositions_unsigned.IN_LINALG),
        *(decompositions_truths.IN_ALL, decompositions_signed.IN_LINALG, decompositions_signed.BEYOND),
        *(decompositions_folded.IN_ALL, decompositions_floats.IN_LINALG, decompositions_convolutions.IN_LINALG),
        *(decompositions_pools.UNEVEN, decompositions_scatter.IN_LINALG, decompositions_pads.IN_BOTH),
        {one: (_TAKES[one], _TABLE[one]) for one in (*_SCATTERS, *_INDEX_PUTS)},
        *(decompositions_empty.IN_LINALG, decompositions_dynamic.IN_LINALG, decompositions_averages.IN_LINALG),
        decompositions_halves.EVERYWHERE,
    ),
    "TOSA": _both(
        *(_IN_TOSA, decompositions_unsigned.IN_TOSA, decompositions_truths.IN_TOSA, decompositions_signed.IN_TOSA),
        *(decompositions_signed.BEYOND, decompositions_folded.IN_ALL, decompositions_floats.IN_TOSA),
        *(decompositions_convolutions.IN_TOSA, decompositions_slices.IN_BOTH, decompositions_pads.IN_BOTH),
        *(decompositions_averages.IN_TOSA, decompositions_pools.IN_TOSA, decompositions_dynamic.EVERYWHERE),
        *(decompositions_batch.IN_TOSA, decompositions_counts.IN_TOSA, decompositions_halves.EVERYWHERE),
        {one: (decompositions_integers.TAKES[one], decompositions_integers.TABLE[one]) for one in _MEANS},
    ),
    "StableHLO": _both(
        *(decompositions_signed.BEYOND, decompositions_pools.CEILED, {one: _MOVED[one] for one in _SEARCHES}),
        *(decompositions_truths.IN_STABLEHLO, decompositions_signed.IN_STABLEHLO, decompositions_folded.IN_ALL),
        *(decompositions_floats.IN_STABLEHLO, decompositions_unsigned.IN_STABLEHLO, decompositions_slices.IN_BOTH),
        *(decompositions_averages.IN_STABLEHLO, decompositions_convolutions.IN_STABLEHLO),
        *(decompositions_empty.IN_ALL, decompositions_dynamic.IN_STABLEHLO, decompositions_halves.EVERYWHERE),
        {
            aten.linalg_vector_norm.default: (_is_complex, _norm),
            aten.abs.default: (_any_of(is_byte, _is_complex), either(_abs, _size)),
            aten.clamp.Tensor: (
                decompositions_limits.is_wider,
                either(decompositions_limits.clamp, decompositions_integers.TABLE[aten.clamp.Tensor]),
            ),
        },
    ),
}
"""By language; StableHLO has unsigned integers."""


def table(language: str) -> dict[Any, Callable[..., Any]]:
    """By operator, for `TOSA`, `StableHLO` or, where it is empty, linalg."""
    found = {operator: made for operator, (_, made) in _SIGNED.get(language, {}).items()}
    both = {operator: either(made, _TABLE[operator]) for operator, made in found.items() if operator in _TABLE}
    return {**_TABLE, **found, **both}


def takes(node: torch.fx.Node, language: str) -> bool:
    """Whether a node is lowered to something else, or refused, and taken apart in the language."""
    found = [_SIGNED.get(language, {}).get(node.target, (None, None))[0], _TAKES.get(node.target)]
    return any(takes(*node.args, **node.kwargs) for takes in found if takes)
