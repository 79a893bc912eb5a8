"""Operators of numbers with a sign of which torch-mlir makes something else, in terms of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from irwidget.frontends import decompositions_order
from irwidget.frontends.decompositions_bytes import held, value_of, wide
from irwidget.frontends.decompositions_kinds import COMPARISONS, How, alike, is_byte, narrowed, number
from irwidget.frontends.decompositions_narrow import copysign, fmod, in_single
from irwidget.private_torch import statically_known_true

aten: Any = torch.ops.aten


def _may_be_negative(x: Any, y: Any) -> bool:
    kind = torch.result_type(value_of(x), value_of(y))
    return not kind.is_complex and kind not in (torch.bool, torch.uint8)


def _remainder(takes: Callable[..., bool]) -> How:
    """With the sign of the divisor; StableHLO's has that of what is divided, TOSA's of floats is made of a quotient."""

    def made(x: Any, y: Any) -> Any:
        if not takes(x, y):
            return NotImplemented
        x, y = alike(x, y)
        left = fmod(x, y)
        return torch.where(_is_opposite(left, y), left + y, left)

    return takes, made


def _is_opposite(left: Any, y: Any) -> Any:
    """Whether what is left of a division is of the other sign than the divisor."""
    zero = 0.0 if left.dtype.is_floating_point else 0
    return (left != 0) & ((left < zero) != (y < zero))


def _is_of_32_bits(x: Any, y: Any, *, rounding_mode: Any = "floor") -> bool:
    """Whether integers are divided of which TOSA's quotient goes by the sign of a product that has no more bits."""
    return rounding_mode == "floor" and torch.result_type(value_of(x), value_of(y)) == torch.int32


def _is_rounded(x: Any, y: Any) -> bool:
    """Whether TOSA's remainder is made of a quotient that has fewer digits than it takes."""
    return _is_of_32_bits(x, y) or torch.result_type(value_of(x), value_of(y)).is_floating_point


def _is_of_64_bits(x: Any, y: Any, *, rounding_mode: Any = None) -> bool:
    """Whether integers are divided that the float of 64 bits does not hold which torch-mlir makes of the quotient."""
    return rounding_mode == "floor" and torch.result_type(value_of(x), value_of(y)) == torch.int64


def _floored(takes: Callable[..., bool]) -> How:
    def made(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
        if not takes(x, y, rounding_mode=rounding_mode):
            return NotImplemented
        x, y = alike(x, y)
        whole = torch.div(x, y, rounding_mode="trunc")
        return whole - _is_opposite(x - whole * y, y).to(whole.dtype)

    return takes, made


def _is_small(x: Any, *_: Any, dtype: Any = None, **__: Any) -> bool:
    """Whether what is summed are integers of 8 or 16 bits, and the sum is another."""
    return value_of(x).dtype in (torch.int8, torch.int16) and dtype != value_of(x).dtype


def _summed(operator: Any) -> How:
    """Of integers of 8 and 16 bits as of 32: TOSA's sum has as many as what is summed."""

    def made(x: Any, *given: Any, dtype: Any = None, **named: Any) -> Any:
        if not _is_small(x, dtype=dtype):
            return NotImplemented
        return operator(x.to(torch.int32), *given, dtype=dtype, **named)

    return _is_small, made


def _is_integer(x: Any) -> bool:
    return value_of(x).dtype in (torch.int8, torch.int16, torch.int32, torch.int64)


def _is_product(x: Any, *_: Any, dtype: Any = None, **__: Any) -> bool:
    """Whether integers are multiplied that have fewer bits than their product; TOSA's has as many."""
    return (is_byte(x) or _is_integer(x)) and value_of(x).dtype != (dtype or torch.int64)


def _multiplied(x: Any, *, dtype: Any = None) -> Any:
    if not _is_product(x, dtype=dtype):
        return NotImplemented
    kind = dtype or torch.int64
    return aten.prod.default(wide(x).to(kind), dtype=kind)


def _is_short_by_number(x: Any, y: Any, *_: Any, **__: Any) -> bool:
    """Of integers of 16 bits TOSA has products and quotients with others alone."""
    return value_of(x).dtype == torch.int16 and isinstance(y, int)


def _times(x: Any, y: Any) -> Any:
    return aten.mul.Tensor(*alike(x, y)) if _is_short_by_number(x, y) else NotImplemented


def _by(x: Any, y: Any) -> Any:
    kind = torch.get_default_dtype()
    return aten.div.Tensor(x.to(kind), y) if _is_short_by_number(x, y) else NotImplemented


def _is_order_of_integers(x: Any, *given: Any, **named: Any) -> bool:
    """Whether integers or truths are sorted, of which TOSA has no order."""
    return not value_of(x).dtype.is_floating_point and decompositions_order.is_short(x, *given, **named)


def _sorted(x: Any, *given: Any, **named: Any) -> Any:
    if not _is_order_of_integers(x, *given, **named):
        return NotImplemented
    values, places = decompositions_order.sorted_by_rank(number(x), *given, **named)
    return narrowed(values, x.dtype), places


def _relu(x: Any) -> Any:
    return x.clamp(min=0) if _is_integer(x) else NotImplemented


def _negated(x: Any) -> Any:
    """A difference: torch-mlir's passes to linalg take the number for a float of 32 bits."""
    return torch.zeros_like(x) - x if _is_integer(x) else NotImplemented


def _signed(x: Any, y: Any) -> Any:
    """As the float that it is: the absolute value of the least integer is no integer."""
    return in_single(copysign)(x, y) if _has_sign_of(x, y) else NotImplemented


def _has_sign_of(x: Any, y: Any) -> bool:
    return _is_integer(x)


def _are_mixed(x: Any, y: Any) -> bool:
    """Whether a shift is of one dtype by another, of which TOSA and StableHLO have none."""
    return value_of(x).dtype != value_of(y).dtype


def _shifted(operator: Any) -> How:
    """Of the dtype that eager PyTorch gives it."""

    def made(x: Any, y: Any) -> Any:
        return operator(*alike(x, y)) if _are_mixed(x, y) else NotImplemented

    return _are_mixed, made


def _is_beyond(x: Any, count: Any) -> bool:
    """Whether a shift is by a number of bits that there are not, of which linalg and TOSA make anything."""
    whole = is_byte(x) or _is_integer(x)
    return whole and isinstance(count, int) and not 0 <= count < torch.iinfo(value_of(x).dtype).bits


def _left_by(x: Any, count: Any) -> Any:
    return (wide(x) & 0).to(x.dtype) if _is_beyond(x, count) else NotImplemented


def _right_by(x: Any, count: Any) -> Any:
    """The sign alone."""
    if not _is_beyond(x, count):
        return NotImplemented
    if is_byte(x):
        return _left_by(x, count)
    return aten.bitwise_right_shift.Tensor(x, torch.full_like(x, torch.iinfo(x.dtype).bits - 1))


_FAR: dict[Any, How] = {
    **dict.fromkeys((aten.__lshift__.Scalar, aten.bitwise_left_shift.Tensor_Scalar), (_is_beyond, _left_by)),
    **dict.fromkeys((aten.__rshift__.Scalar, aten.bitwise_right_shift.Tensor_Scalar), (_is_beyond, _right_by)),
}
_COPYSIGN: How = _has_sign_of, _signed
_SHIFTS: dict[Any, How] = {
    aten.bitwise_left_shift.Tensor: _shifted(aten.bitwise_left_shift.Tensor),
    aten.bitwise_right_shift.Tensor: _shifted(aten.bitwise_right_shift.Tensor),
    aten.__lshift__.Tensor: _shifted(aten.bitwise_left_shift.Tensor),
    aten.__rshift__.Tensor: _shifted(aten.bitwise_right_shift.Tensor),
}


def _exceeds(x: Any, number: Any) -> bool:
    """Whether integers with a sign are compared with a number that their dtype does not hold."""
    kind, number = value_of(x).dtype, value_of(number)
    return kind in (torch.int8, torch.int16, torch.int32) and not statically_known_true(held(number, kind) == number)


def _brought_within(operator: Any) -> Callable[..., Any]:
    """Compared with the low bits of the number, as eager PyTorch does it."""

    def made(x: Any, number: Any) -> Any:
        if not _exceeds(x, number):
            return NotImplemented
        open_ = isinstance(number, torch.SymInt)  # of which it is not known whether the bits are all
        return operator(x.to(torch.int64) if open_ else x, held(number, x.dtype))

    return made


BEYOND: dict[Any, How] = {operator: (_exceeds, _brought_within(operator)) for operator in COMPARISONS}
"""By operator, in all languages: whether it is taken apart, and how."""
_DIVISIONS = (aten.div.Tensor_mode, aten.div.Scalar_mode)
_REMAINDERS = (aten.remainder.Tensor, aten.remainder.Scalar)
IN_LINALG: dict[Any, How] = {
    aten.neg.default: (_is_integer, _negated),
    aten.copysign.Tensor: _COPYSIGN,
    **_FAR,
    **dict.fromkeys(_DIVISIONS, _floored(_is_of_64_bits)),
}
"""By operator: whether it is taken apart, and how."""
IN_STABLEHLO: dict[Any, How] = {
    aten.copysign.Tensor: _COPYSIGN,
    **_SHIFTS,
    **dict.fromkeys(_REMAINDERS, _remainder(_may_be_negative)),
    **dict.fromkeys(_DIVISIONS, _floored(_is_of_64_bits)),
}
"""The same."""
IN_TOSA: dict[Any, How] = {
    **{operator: _summed(operator) for operator in (aten.sum.default, aten.sum.dim_IntList)},
    aten.relu.default: (_is_integer, _relu),
    aten.prod.default: (_is_product, _multiplied),
    **dict.fromkeys((aten.sort.default, aten.sort.stable), (_is_order_of_integers, _sorted)),
    **dict.fromkeys((aten.mul.Tensor, aten.mul.Scalar), (_is_short_by_number, _times)),
    **dict.fromkeys((aten.div.Tensor, aten.div.Scalar), (_is_short_by_number, _by)),
    aten.copysign.Tensor: _COPYSIGN,
    **_SHIFTS,
    **_FAR,
    **dict.fromkeys(_REMAINDERS, _remainder(_is_rounded)),
    **dict.fromkeys(_DIVISIONS, _floored(_is_of_32_bits)),
}
"""The same."""
