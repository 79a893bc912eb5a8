"""Arithmetic on complex numbers as pairs of real tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}
"""The dtype of the parts of a complex dtype."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A complex tensor, or a complex number, by its parts."""

    re: Any
    im: Any


def pair(value: Any) -> Pair:
    """A value as a pair: the imaginary part of what is real is zero."""
    if isinstance(value, Pair):
        return value
    if isinstance(value, complex):
        return Pair(value.real, value.imag)
    if isinstance(value, torch.Tensor):
        return Pair(value, torch.zeros_like(value))
    return Pair(value, 0)


def is_complex(value: Any) -> bool:
    return isinstance(value, Pair | complex)


# Products and quotients


def product(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Pair:
    """A function that is linear in both of its arguments, of pairs."""
    if not is_complex(a):
        b = pair(b)
        return Pair(function(a, b.re), function(a, b.im))
    a = pair(a)
    if not is_complex(b):
        return Pair(function(a.re, b), function(a.im, b))
    b = pair(b)
    re = function(a.re, b.re) - function(a.im, b.im)
    return Pair(re, function(a.re, b.im) + function(a.im, b.re))


def mul(a: Any, b: Any) -> Pair:
    """The product, element by element."""
    return product(lambda x, y: x * y, a, b)


def add(a: Any, b: Any) -> Pair:
    """The sum."""
    a, b = pair(a), pair(b)
    return Pair(a.re + b.re, a.im + b.im)


def scaled(a: Pair, factor: Any) -> Pair:
    """A pair times a real number."""
    return a if isinstance(factor, int | float) and factor == 1 else Pair(a.re * factor, a.im * factor)


def reciprocal(a: Pair) -> Pair:
    """One divided by it."""
    return _quotient(Pair(torch.ones_like(a.re), torch.zeros_like(a.re)), a)


def div(a: Any, b: Any) -> Pair:
    """The quotient."""
    if not is_complex(b):
        a = pair(a)
        return Pair(a.re / b, a.im / b)
    b = pair(b)
    if not isinstance(b.re, torch.Tensor):
        return mul(a, 1 / complex(b.re, b.im))
    a = pair(a)
    return _quotient(a if isinstance(a.re, torch.Tensor) else _spread(a, b.re), b)


def _spread(a: Pair, like: torch.Tensor) -> Pair:
    return Pair(torch.full_like(like, a.re), torch.full_like(like, a.im))


def _quotient(a: Pair, b: Pair) -> Pair:
    """By the larger part of the divisor, as eager PyTorch does it (Smith 1962): squares overflow and vanish."""
    turned = torch.abs(b.re) < torch.abs(b.im)
    large, small = torch.where(turned, b.im, b.re), torch.where(turned, b.re, b.im)
    zero = large == 0
    ratio = small / torch.where(zero, torch.ones_like(large), large)
    below = torch.where(zero, torch.zeros_like(large), large + small * ratio)
    one, other = torch.where(turned, a.im, a.re), torch.where(turned, a.re, a.im)
    re, im = (one + other * ratio) / below, (other - one * ratio) / below
    return Pair(re, torch.where(turned, -im, im))


def power(a: Any, exponent: Any) -> Pair:
    """A power: by products for small whole exponents, by logarithm and exponential for others."""
    if isinstance(exponent, int | float) and float(exponent).is_integer() and abs(exponent) <= 16:
        if exponent == 0:
            one = pair(a)
            return Pair(torch.ones_like(one.re), torch.zeros_like(one.im))
        base, result, left = pair(a), None, abs(int(exponent))
        while left:
            if left & 1:
                result = base if result is None else mul(result, base)
            base, left = (mul(base, base) if left > 1 else base), left >> 1
        assert result is not None
        return reciprocal(result) if exponent < 0 else result
    return exp(mul(log(pair(a)), exponent))


# Functions


def absolute(a: Pair) -> Any:
    """The distance from zero, which is real."""
    return torch.hypot(a.re, a.im)


def angle(a: Pair) -> Any:
    """The angle to the real axis."""
    return torch.atan2(a.im, a.re)


def exp(a: Pair) -> Pair:
    """The exponential function."""
    size = torch.exp(a.re)
    return Pair(size * torch.cos(a.im), size * torch.sin(a.im))


def log(a: Pair) -> Pair:
    """The natural logarithm."""
    return Pair(torch.log(absolute(a)), angle(a))


def sqrt(a: Pair) -> Pair:
    """The square root in the right half of the plane, without cancellation."""
    larger = torch.sqrt((absolute(a) + torch.abs(a.re)) * 0.5)
    smaller = torch.where(larger == 0, torch.zeros_like(larger), torch.abs(a.im) / (2 * larger))
    right = a.re >= 0
    im = torch.where(right, smaller, larger)
    return Pair(torch.where(right, larger, smaller), torch.where(a.im < 0, -im, im))


def sin(a: Pair) -> Pair:
    """The sine."""
    return Pair(torch.sin(a.re) * torch.cosh(a.im), torch.cos(a.re) * torch.sinh(a.im))


def cos(a: Pair) -> Pair:
    """The cosine."""
    return Pair(torch.cos(a.re) * torch.cosh(a.im), -torch.sin(a.re) * torch.sinh(a.im))


def tanh(a: Pair) -> Pair:
    """The hyperbolic tangent, for parts of any size."""
    t, u = torch.tanh(a.re), torch.tan(a.im)
    below = 1 + t * t * u * u
    return Pair(t * (1 + u * u) / below, u * (1 - t * t) / below)


def turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """The hyperbolic function of a trigonometric one, or the other way: f(iz) / i."""

    def made(a: Pair) -> Pair:
        turned = function(Pair(-a.im, a.re))
        return Pair(turned.im, -turned.re)

    return made


def sign(a: Pair) -> Pair:
    """The number of size one in its direction; zero of zero."""
    size = absolute(a)
    some = torch.where(size == 0, torch.ones_like(size), size)
    return Pair(a.re / some, a.im / some)


def sigmoid(a: Pair) -> Pair:
    """One divided by one and the exponential of its negative."""
    falling = exp(Pair(-a.re, -a.im))
    return reciprocal(Pair(falling.re + 1, falling.im))


def silu(a: Pair) -> Pair:
    """It times its sigmoid."""
    return mul(a, sigmoid(a))
