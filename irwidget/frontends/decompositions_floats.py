"""Operators of floats of which torch-mlir makes something else, in terms of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of, wide
from irwidget.frontends.decompositions_kinds import COMPARISONS, How, alike
from irwidget.frontends.decompositions_narrow import fmod, in_single, is_negative, left_of

aten: Any = torch.ops.aten


def _is_float(x: Any) -> bool:
    value = value_of(x)
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def nearest(number: float, kind: torch.dtype) -> float:
    """The number of a dtype that eager PyTorch takes for another, of two the even one; without a tensor to trace."""
    info = torch.finfo(kind)
    if not math.isfinite(number) or info.bits == 64:
        return number
    exponent, least = math.frexp(number)[1], math.frexp(info.smallest_normal)[1]
    unit = math.ldexp(info.eps, max(exponent, least) - 1)
    made = round(number / unit) * unit
    return made if abs(made) <= info.max else math.copysign(math.inf, number)


def _is_between_numbers(x: Any, number: Any) -> bool:
    """Whether a tensor is compared with a float as numbers of its dtype, which torch-mlir widens to 64 bits."""
    if not isinstance(number, float) or math.isnan(number):
        return False
    kind = torch.result_type(value_of(x), number)
    return value_of(x).dtype in (torch.int32, torch.int64) or nearest(number, kind) != number


def _compared(operator: Any) -> How:
    """As numbers of the dtype that eager PyTorch compares in."""

    def made(x: Any, number: Any) -> Any:
        if not _is_between_numbers(x, number):
            return NotImplemented
        kind = torch.result_type(x, number)
        return operator(x.to(kind), nearest(number, kind))

    return _is_between_numbers, made


def _of_floats(x: Any, y: Any, *_: Any, **__: Any) -> bool:
    return _is_float(x) and _is_float(y)


def _isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """What is infinite or no number is near what is the same only."""
    if not _of_floats(x, y):
        return NotImplemented
    apart = torch.abs(x - y)
    near = torch.logical_not(x != y) | ((apart <= atol + torch.abs(rtol * y)) & (apart < math.inf))
    return near | (torch.isnan(x) & torch.isnan(y)) if equal_nan else near


def _root(x: Any) -> Any:
    """The node of which another is a view or a copy, as torch-mlir sees through them."""
    while isinstance(x, torch.fx.Node) and x.target in _THROUGH:
        x = x.args[0]
    return x


_THROUGH = (aten.view.default, aten.clone.default, aten.alias.default, aten.expand.default, aten.detach.default)


def _is_beside_itself(x: Any, y: Any) -> bool:
    """Whether what may be NaN is compared with itself, which torch-mlir folds to true."""
    return _may_be_nan(x, y) and _root(x) is _root(y)


def _may_be_nan(x: Any, y: Any) -> bool:
    return _of_floats(x, y) or value_of(x).is_complex()


def _same(x: Any, y: Any) -> Any:
    return torch.logical_not(x != y) if _may_be_nan(x, y) else NotImplemented


def _is_by_zero(x: Any, number: Any) -> bool:
    """Whether floats are multiplied with the number 0, which TOSA folds to 0, of NaN and infinities, too."""
    return _is_float(x) and isinstance(number, int | float) and number == 0


def _by_zero(x: Any, number: Any) -> Any:
    """With a zero that is not known before the program runs, but of NaN."""
    return x * torch.isnan(x).to(x.dtype) if _is_by_zero(x, number) else NotImplemented


def _is_by_tanh(*_: Any, approximate: str = "none") -> bool:
    return approximate == "tanh"


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    """By tanh: the root of 2 / pi is 0.7979, where torch-mlir has 0.7977."""
    return _by_tanh(x) if _is_by_tanh(approximate=approximate) else NotImplemented


@in_single
def _by_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _is_divided(x: Any, y: Any, **_: Any) -> bool:
    """Whether what is left of a division is a float."""
    return torch.result_type(value_of(x), value_of(y)).is_floating_point


def _is_floored(x: Any, y: Any, *, rounding_mode: Any = None) -> bool:
    return rounding_mode == "floor" and _is_divided(x, y)


def _divided(left: Callable[..., Any], *, by_reciprocal: bool = False) -> How:
    """Quotients that are rounded down or towards zero, each as a table: `left` is what a division leaves.

    `by_reciprocal` says that the language multiplies with one instead of dividing, so that 49 / 49 may be below 1.
    """

    def is_cut(x: Any, y: Any, *, rounding_mode: Any = None) -> bool:
        if rounding_mode != "trunc" or not _is_divided(x, y):
            return False
        return by_reciprocal or (_is_half(torch.result_type(value_of(x), value_of(y))) and _is_number(y))

    def takes(x: Any, y: Any, *, rounding_mode: Any = None) -> bool:
        return _is_floored(x, y, rounding_mode=rounding_mode) or is_cut(x, y, rounding_mode=rounding_mode)

    def made(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
        kind = torch.result_type(x, y)
        if _is_floored(x, y, rounding_mode=rounding_mode):
            return _whole(left, *_in_division(x, y)).to(kind)
        if not is_cut(x, y, rounding_mode=rounding_mode):
            return NotImplemented
        quotient = (_quotient if by_reciprocal else torch.div)(*_in_division(x, y))
        return torch.trunc(quotient if _is_number(y) else quotient.to(kind)).to(kind)

    return takes, made


def _is_half(kind: torch.dtype) -> bool:
    return torch.finfo(kind).bits == 16


def _is_number(x: Any) -> bool:
    """Whether something is a number, or a tensor of one, which eager PyTorch divides halves by in float32."""
    sizes: tuple[Any, ...] = getattr(value_of(x), "shape", ())
    return all(isinstance(size, int) and size == 1 for size in sizes)


def _in_division(x: Any, y: Any) -> tuple[Any, Any]:
    """As the dtype in which eager PyTorch divides; of a number it takes more digits than a half has."""
    kind = torch.result_type(x, y)
    dividend, divisor = alike(x, y)
    if not _is_half(kind):
        return dividend, divisor
    dividend = dividend.to(torch.float32)
    if isinstance(y, torch.Tensor):
        return dividend, (wide(y) if _is_number(y) else divisor).to(torch.float32)
    return dividend, torch.full_like(dividend, y)


def _quotient(x: Any, y: Any) -> Any:
    """Rounded once: what is left of the first quotient is divided, too."""
    quotient = x / y
    left = left_of(x, quotient, y)
    return torch.where((left != 0.0) & (torch.abs(left) < math.inf), quotient + left / y, quotient)


def _left(left_of: Callable[..., Any]) -> dict[Any, How]:
    """What is left of a division of floats; torch-mlir's own is made of a rounded quotient."""

    def made(x: Any, y: Any) -> Any:
        return left_of(*alike(x, y)) if _is_divided(x, y) else NotImplemented

    return dict.fromkeys((aten.fmod.Tensor, aten.fmod.Scalar), (_is_divided, made))


@in_single
def _by_remainder(x: Any, y: Any) -> Any:
    """With the sign of `x`; of positive numbers the remainder, which is exact in linalg, is the same."""
    size = torch.remainder(torch.abs(x), torch.abs(y))
    return torch.where(is_negative(x), -size, size)


def _whole(left_of: Callable[..., Any], x: Any, y: Any) -> Any:
    left = left_of(x, y)  # zeros are floats below: torch-mlir folds comparisons of what it knows with others wrongly
    quotient = (x - left) / y
    quotient = torch.where((left != 0.0) & ((y < 0.0) != (left < 0.0)), quotient - 1, quotient)
    whole = torch.floor(quotient)
    whole = torch.where(quotient - whole > 0.5, whole + 1, whole)
    whole = torch.where(quotient == 0.0, x / y * 0, whole)  # with the sign of the quotient
    whole = torch.where(torch.isnan(left), left, whole)  # TOSA's quotient by an infinity is zero, of NaN, too
    return torch.where(y == 0.0, x / y, whole)


def _is_without_limit(x: Any, *limits: Any) -> bool:
    """Whether a limit is NaN, which TOSA refuses."""
    return _is_float(x) and any(isinstance(limit, float) and math.isnan(limit) for limit in limits)


def _clamp(x: Any, *limits: Any) -> Any:
    """Between limits of which one is NaN: that is what everything becomes."""
    return torch.full_like(x, math.nan) if _is_without_limit(x, *limits) else NotImplemented


_CLAMP: How = _is_without_limit, _clamp
_COMPARED = {operator: _compared(operator) for operator in COMPARISONS}
_DIVISIONS = (aten.div.Tensor_mode, aten.div.Scalar_mode)
IN_ALL: dict[Any, How] = {
    aten.isclose.default: (_of_floats, _isclose),
    aten.eq.Tensor: (_is_beside_itself, _same),
}
"""By operator: whether it is taken apart, and how."""
IN_STABLEHLO: dict[Any, How] = {
    **IN_ALL,
    **dict.fromkeys(_DIVISIONS, _divided(fmod)),
    **_left(fmod),
}
"""The same."""
IN_TOSA: dict[Any, How] = {
    **IN_STABLEHLO,
    **_COMPARED,
    aten.clamp.default: _CLAMP,
    **dict.fromkeys((aten.mul.Tensor, aten.mul.Scalar), (_is_by_zero, _by_zero)),
    **dict.fromkeys(_DIVISIONS, _divided(fmod, by_reciprocal=True)),
}
"""The same."""
IN_LINALG: dict[Any, How] = {
    **IN_ALL,
    **_COMPARED,
    aten.gelu.default: (_is_by_tanh, _gelu),
    aten.clamp.default: _CLAMP,
    **dict.fromkeys(_DIVISIONS, _divided(_by_remainder)),
    **_left(_by_remainder),
}
"""The same."""
