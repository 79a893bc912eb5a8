"""Operators of integers and truths that torch-mlir's passes have for floats only, in terms of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import held, value_of, wide
from irwidget.frontends.decompositions_kinds import clamped

aten: Any = torch.ops.aten


def _is_whole(x: Any) -> bool:
    """Whether it is an integer, a size that run time knows, or a truth, or a tensor of such."""
    value = value_of(x)
    if isinstance(value, torch.Tensor):
        return not (value.dtype.is_floating_point or value.dtype.is_complex)
    return isinstance(value, int | torch.SymInt)


def _power(x: Any, exponent: Any) -> Any:
    """By a number: products, or the power of a float."""
    if not _is_power(x, exponent):
        return NotImplemented
    x = x.to(torch.result_type(x, exponent))
    if isinstance(exponent, float):
        return torch.pow(x, exponent)
    made = torch.ones_like(x)
    for digit in f"{exponent:b}":
        made = made * made * x if digit == "1" else made * made
    return made


def _is_power(x: Any, exponent: Any, *_: Any, **__: Any) -> bool:
    return _is_whole(x) and (isinstance(exponent, float) or (isinstance(exponent, int) and exponent >= 0))


def _powers(x: Any, exponent: Any) -> Any:
    """By a tensor: a product for each of its bits; by a negative number, zero but of one and of its opposite."""
    if not _are_powers(x, exponent):
        return NotImplemented
    kind = torch.result_type(x, exponent)
    if kind.is_floating_point:
        power: Any = torch.pow  # of two tensors, or of one and a number
        return power(*(one.to(kind) if isinstance(one, torch.Tensor) else float(one) for one in (x, exponent)))
    shaped = exponent if isinstance(exponent, torch.Tensor) else x
    x, left = (
        one.to(kind) if isinstance(one, torch.Tensor) else torch.full_like(shaped, held(one, kind), dtype=kind)
        for one in (x, exponent)
    )
    x, left = torch.broadcast_tensors(x, left)
    limits = torch.iinfo(kind)
    factors = [x]
    while len(factors) < limits.bits - (1 if limits.min else 0):
        factors.append(factors[-1] * factors[-1])
    bit = torch.arange(len(factors), device=x.device).reshape(-1, *[1] * x.dim())
    chosen = wide(left).to(torch.int64) & torch.bitwise_left_shift(torch.ones_like(bit), bit) != 0
    made = torch.where(chosen, torch.stack(factors), torch.ones_like(x)).prod(0, dtype=kind)
    if not limits.min:
        return made
    of_one = torch.where(x == 1, x, torch.where(x == -1, torch.where(left & 1 != 0, x, -x), torch.zeros_like(x)))
    return torch.where(left < 0, of_one, made)


def _are_powers(x: Any, exponent: Any, *_: Any, **__: Any) -> bool:
    """Whether one is an integer."""
    kind = torch.result_type(value_of(x), value_of(exponent))
    return (_is_whole(x) or _is_whole(exponent)) and not (kind.is_complex or kind == torch.bool)


def _isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """As floats, which is what eager PyTorch takes them for."""
    if not _is_whole(x):
        return NotImplemented
    kind = torch.get_default_dtype()
    apart = torch.abs(x.to(kind) - y.to(kind))
    near = apart <= atol + torch.abs(rtol * y.to(kind))
    return (x == y) | near if rtol or atol else x == y


def _clamp(x: Any, least: Any = None, most: Any = None) -> Any:
    """Between floats; torch-mlir compares integers with them."""
    return clamped(x, least, most) if _is_between_floats(x, least, most) else NotImplemented


def _is_between_floats(x: Any, *limits: Any) -> bool:
    return _is_whole(x) and any(limit is not None and not _is_whole(limit) for limit in limits)


def _as_float(operator: Any) -> Callable[..., Any]:
    return lambda x: operator(wide(x).to(torch.get_default_dtype())) if _is_whole(x) else NotImplemented


def _mean(operator: Any) -> Callable[..., Any]:
    """As what the mean is to be: torch-mlir has none of integers."""
    return lambda x, *how, dtype=None: (
        operator(wide(x).to(dtype), *how) if _is_averaged(x, dtype=dtype) else NotImplemented
    )


def _is_averaged(x: Any, *_: Any, dtype: Any = None) -> bool:
    return _is_whole(x) and dtype is not None


_MEANS = (aten.mean.default, aten.mean.dim)


def _gcd(x: Any, y: Any) -> Any:
    """By Euclid's algorithm, with as many steps as the largest numbers of a dtype may take.

    The least number is its own absolute value, and keeps its sign in remainders as in eager PyTorch.
    """
    kind = torch.result_type(x, y)
    x, y = torch.broadcast_tensors(torch.abs(x.to(kind)), torch.abs(y.to(kind)))
    for _ in range(_STEPS * torch.iinfo(kind).bits // 2):
        done = y == 0
        x, y = torch.where(done, x, y), torch.where(done, y, torch.fmod(x, torch.where(done, torch.ones_like(y), y)))
    return x


_STEPS = 3
"""For two bits: numbers that take the most are those of Fibonacci, of which the next is 1.6 times as large."""


def _lcm(x: Any, y: Any) -> Any:
    common = torch.gcd(x, y)
    divisor = torch.where(common == 0, torch.ones_like(common), common)
    return torch.abs(torch.div(x, divisor, rounding_mode="trunc") * y)


TABLE: dict[Any, Callable[..., Any]] = {
    **{operator: _as_float(operator) for operator in (aten.reciprocal.default, aten.erf.default)},
    aten.pow.Tensor_Scalar: _power,
    **dict.fromkeys((aten.pow.Tensor_Tensor, aten.pow.Scalar), _powers),
    aten.isclose.default: _isclose,
    **{operator: _mean(operator) for operator in _MEANS},
    aten.gcd.default: _gcd,
    aten.lcm.default: _lcm,
    **dict.fromkeys((aten.clamp.default, aten.clamp.Tensor), _clamp),
    aten.__lshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.__rshift__.Tensor: aten.bitwise_right_shift.Tensor,
}
"""By operator."""
TAKES: dict[Any, Callable[..., bool]] = {
    **dict.fromkeys((aten.reciprocal.default, aten.erf.default), lambda x: _is_whole(x)),
    aten.pow.Tensor_Scalar: _is_power,
    **dict.fromkeys((aten.pow.Tensor_Tensor, aten.pow.Scalar), _are_powers),
    aten.isclose.default: lambda x, *_, **__: _is_whole(x),
    **dict.fromkeys((aten.clamp.default, aten.clamp.Tensor), _is_between_floats),
    **dict.fromkeys(_MEANS, _is_averaged),
}
"""Whether an operator of the table is taken apart for some arguments."""
