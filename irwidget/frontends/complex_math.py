"""Arithmetic on complex numbers as pairs of real tensors: what each of PyTorch's operators does to the two parts.

Nothing here knows of graphs: an operator is a function of tensors, of which some are pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

aten: Any = torch.ops.aten
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


def _is_complex(value: Any) -> bool:
    return isinstance(value, Pair | complex)


# What goes through the parts one by one

_FIRST = (
    "view _unsafe_view reshape expand permute transpose t squeeze unsqueeze select slice clone contiguous detach alias "
    "flip roll index_select gather index repeat sum mean cumsum diagonal unfold movedim narrow neg zeros_like tril triu "
    "resolve_conj resolve_neg split split_with_sizes chunk unbind lift_fresh_copy flatten unflatten view_as expand_as "
    "diag_embed diag trace as_strided repeat_interleave"
)
_LINEAR: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_FIRST.split(), (0,)),
    **dict.fromkeys(("cat", "stack"), (0,)),
    "where": (1, 2),
    "constant_pad_nd": (0, 2),
    "masked_fill": (0, 2),
    "select_scatter": (0, 1),
    "slice_scatter": (0, 1),
    "scatter": (0, 3),
    "scatter_add": (0, 3),
    "index_put": (0, 2),
    "index_add": (0, 3),
    "full_like": (1,),
    "copy": (0, 1),
}
"""The operators that treat the parts alike, and which of their arguments have parts."""


def _part(value: Any, which: str) -> Any:
    if isinstance(value, list | tuple):
        return [_part(one, which) for one in value]
    return getattr(pair(value), which)


def _linear(function: Any, at: Sequence[int], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """An operator of the parts: what it makes of the real ones, and of the imaginary ones."""
    rest = _without_complex_dtype(kwargs)

    def made(which: str) -> Any:
        given = [_part(value, which) if number in at else value for number, value in enumerate(args)]
        return function(*given, **rest)

    return _paired(made("re"), made("im"))


def _paired(re: Any, im: Any) -> Any:
    if isinstance(re, list | tuple):
        return [_paired(one, other) for one, other in zip(re, im, strict=True)]
    return Pair(re, im)


def _without_complex_dtype(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: REAL.get(value, value) if name == "dtype" else value for name, value in kwargs.items()}


# Products and quotients


def product(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Pair:
    """A function that is linear in both of its arguments, of pairs."""
    if not _is_complex(a):
        b = pair(b)
        return Pair(function(a, b.re), function(a, b.im))
    a = pair(a)
    if not _is_complex(b):
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
    square = a.re * a.re + a.im * a.im
    return Pair(a.re / square, -a.im / square)


def div(a: Any, b: Any) -> Pair:
    """The quotient."""
    if not _is_complex(b):
        a = pair(a)
        return Pair(a.re / b, a.im / b)
    b = pair(b)
    if isinstance(b.re, torch.Tensor):
        return mul(a, reciprocal(b))
    inverse = 1 / complex(b.re, b.im)
    return mul(a, inverse)


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
    return torch.sqrt(a.re * a.re + a.im * a.im)


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


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
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


def _sigmoid(a: Pair) -> Pair:
    falling = exp(Pair(-a.re, -a.im))
    return reciprocal(Pair(falling.re + 1, falling.im))


def _silu(a: Pair) -> Pair:
    return mul(a, _sigmoid(a))


_OF_ONE: dict[str, Callable[[Pair], Any]] = {
    "real": lambda a: a.re,
    "imag": lambda a: a.im,
    "view_as_real": lambda a: torch.stack([a.re, a.im], -1),
    "abs": absolute,
    "angle": angle,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "rsqrt": lambda a: reciprocal(sqrt(a)),
    "reciprocal": reciprocal,
    "square": lambda a: mul(a, a),
    "sin": sin,
    "cos": cos,
    "tan": _turned(tanh),
    "sinh": _turned(sin),
    "cosh": lambda a: cos(Pair(-a.im, a.re)),
    "tanh": tanh,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "sgn": sign,
    **dict.fromkeys(("conj", "_conj", "conj_physical", "_conj_physical"), lambda a: Pair(a.re, -a.im)),
    "isnan": lambda a: torch.isnan(a.re) | torch.isnan(a.im),
    "isfinite": lambda a: torch.isfinite(a.re) & torch.isfinite(a.im),
    "isinf": lambda a: torch.isinf(a.re) | torch.isinf(a.im),
    "is_complex": lambda a: True,
}


# Operators with more arguments


def _add(a: Any, b: Any, *, alpha: Any = 1) -> Pair:
    return add(a, mul(b, alpha) if _is_complex(alpha) else scaled(pair(b), alpha))


def _sub(a: Any, b: Any, *, alpha: Any = 1) -> Pair:
    return _add(a, b, alpha=-alpha)


def _plus_product(function: Any) -> Any:
    """`beta * c + alpha * function(a, b)`."""

    def made(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Pair:
        return add(mul(c, beta), mul(product(function, a, b), alpha))

    return made


def _convolution(x: Any, weight: Any, bias: Any, *rest: Any) -> Pair:
    made = product(lambda a, b: aten.convolution.default(a, b, None, *rest), x, weight)
    if bias is None:
        return made
    bias = pair(bias)
    shape = [1, -1, *[1] * (made.re.dim() - 2)]
    return Pair(made.re + bias.re.reshape(shape), made.im + bias.im.reshape(shape))


def _linear_layer(x: Any, weight: Any, bias: Any = None) -> Pair:
    made = product(torch.matmul, x, _linear(aten.t.default, (0,), (weight,), {}) if _is_complex(weight) else weight.t())
    return made if bias is None else add(made, bias)


def _to_dtype(value: Any, dtype: torch.dtype | None) -> Any:
    if dtype is None or (isinstance(value, Pair) and dtype in REAL and value.re.dtype == REAL[dtype]):
        return value
    if dtype in REAL:
        wanted = pair(value)
        return Pair(wanted.re.to(REAL[dtype]), wanted.im.to(REAL[dtype]))
    return pair(value).re.to(dtype)  # PyTorch drops the imaginary part, too


def _to(value: Any, dtype: Any = None, *_: Any, **kwargs: Any) -> Any:
    return _to_dtype(value, kwargs.get("dtype", dtype if isinstance(dtype, torch.dtype) else None))


def _equal(a: Any, b: Any) -> Any:
    a, b = pair(a), pair(b)
    return (a.re == b.re) & (a.im == b.im)


def _norm(a: Pair, *args: Any, **kwargs: Any) -> Any:
    return torch.linalg.vector_norm(absolute(a), *args, **_without_complex_dtype(kwargs))


def _polar(size: Any, turn: Any) -> Pair:
    return Pair(size * torch.cos(turn), size * torch.sin(turn))


def _full(size: Any, value: Any, **kwargs: Any) -> Pair:
    value, rest = pair(value), _without_complex_dtype(kwargs)
    return Pair(aten.full.default(size, value.re, **rest), aten.full.default(size, value.im, **rest))


def _scalar(value: Any, **kwargs: Any) -> Pair:
    return _full([], value, **kwargs)


def _prod(a: Pair, dim: int | None = None, keepdim: bool = False, **_: Any) -> Pair:
    flat = Pair(a.re.reshape(-1), a.im.reshape(-1)) if dim is None else a
    along = 0 if dim is None else dim
    result: Pair | None = None
    for index in range(flat.re.shape[along]):
        one = Pair(flat.re.select(along, index), flat.im.select(along, index))
        result = one if result is None else mul(result, one)
    if result is None:
        raise NotImplementedError("a product of nothing")
    return Pair(result.re.unsqueeze(along), result.im.unsqueeze(along)) if keepdim and dim is not None else result


_OTHERS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "sub": _sub,
    "rsub": lambda a, b, alpha=1: _sub(b, a, alpha=alpha),
    "mul": mul,
    "div": lambda a, b: div(a, b),
    "true_divide": div,
    "pow": power,
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "matmul"), lambda a, b: product(torch.matmul, a, b)),
    "outer": lambda a, b: product(torch.outer, a, b),
    "vdot": lambda a, b: product(torch.dot, Pair(pair(a).re, -pair(a).im), b),
    "addmm": _plus_product(torch.matmul),
    "baddbmm": _plus_product(torch.matmul),
    "addmv": _plus_product(torch.matmul),
    "addcmul": lambda c, a, b, value=1: add(c, mul(mul(a, b), value)),
    "lerp": lambda a, b, weight: add(a, mul(_sub(b, a), weight)),
    "linear": _linear_layer,
    "convolution": _convolution,
    "complex": Pair,
    "view_as_complex": lambda x: Pair(x.select(-1, 0), x.select(-1, 1)),
    "polar": _polar,
    **dict.fromkeys(("_to_copy", "to"), _to),
    "type_as": lambda a, b: _to_dtype(a, torch.complex64 if isinstance(b, Pair) else b.dtype),
    "eq": _equal,
    "ne": lambda a, b: ~_equal(a, b),
    "linalg_vector_norm": _norm,
    "full": _full,
    "zeros": lambda size, **kwargs: _full(size, 0, **kwargs),
    "ones": lambda size, **kwargs: _full(size, 1, **kwargs),
    "empty": lambda size, **kwargs: _full(size, 0, **{n: v for n, v in kwargs.items() if n != "memory_format"}),
    "scalar_tensor": _scalar,
    "copy_": lambda a, b, non_blocking=False: Pair(a.re.copy_(pair(b).re), a.im.copy_(pair(b).im)),
    "ones_like": lambda a, **_: Pair(torch.ones_like(a.re), torch.zeros_like(a.im)),
    "prod": _prod,
}


# Fourier transforms, as products with matrices

LONGEST = 2048
"""The longest transform that is written as a product: its matrices have the square of that."""


def matrices(length: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the turns `2 pi j k / length`: tensors of [length, length]."""
    steps = torch.arange(length)
    turns = (steps[:, None] * steps[None, :] % length).to(torch.float64) * (2 * math.pi / length)
    return turns.cos().to(dtype), turns.sin().to(dtype)


Matrices = Callable[[int, torch.dtype], tuple[torch.Tensor, torch.Tensor]]


def _along(value: Any, dim: int, matrix: Any) -> Any:
    """A product with a matrix along a dimension."""
    last = value.dim() - 1
    if dim in (last, -1):
        return torch.matmul(value, matrix)
    return torch.matmul(value.transpose(dim, last), matrix).transpose(dim, last)


def _c2c_along(a: Pair, dim: int, forward: bool, of: Matrices) -> Pair:
    cosine, sine = of(a.re.shape[dim], a.re.dtype)
    real, imaginary = _along(a.re, dim, cosine), _along(a.im, dim, cosine)
    turned, other = _along(a.im, dim, sine), _along(a.re, dim, sine)
    if forward:
        return Pair(real + turned, imaginary - other)
    return Pair(real - turned, imaginary + other)


def _factor(norm: int, count: float) -> float:
    """PyTorch's numbers: 0 is not scaled, 1 by the root of the count of elements, 2 by the count."""
    return 1.0 if norm == 0 else 1 / math.sqrt(count) if norm == 1 else 1 / count


def fft_c2c(a: Any, dims: Sequence[int], norm: int, forward: bool, of: Matrices) -> Pair:
    """The transform of complex numbers along dimensions."""
    made, count = pair(a), 1
    for dim in dims:
        count *= made.re.shape[dim]
        made = _c2c_along(made, dim, forward, of)
    return scaled(made, _factor(norm, count))


def fft_r2c(x: Any, dims: Sequence[int], norm: int, onesided: bool, of: Matrices) -> Pair:
    """The transform of real numbers; one-sided is the first half of the last dimension, which says all."""
    *others, last = dims
    length = x.shape[last]
    cosine, sine = of(length, x.dtype)
    kept = length // 2 + 1 if onesided else length
    half = Pair(_along(x, last, cosine[:, :kept]), -_along(x, last, sine[:, :kept]))
    count = length
    for dim in others:
        count *= x.shape[dim]
        half = _c2c_along(half, dim, True, of)
    return scaled(half, _factor(norm, count))


def fft_c2r(a: Any, dims: Sequence[int], norm: int, length: int, of: Matrices) -> Any:
    """The inverse of a one-sided transform: real numbers, `length` of them along the last dimension."""
    *others, last = dims
    made, count = pair(a), length
    for dim in others:
        count *= made.re.shape[dim]
        made = _c2c_along(made, dim, False, of)
    cosine, sine = of(length, made.re.dtype)
    kept = length // 2 + 1
    factor = _factor(norm, count)
    once = {0, length // 2} if length % 2 == 0 else {0}  # the others stand for two frequencies
    weights = torch.tensor([[factor if one in once else 2 * factor] for one in range(kept)], dtype=made.re.dtype)
    re, im = made.re.narrow(last, 0, kept), made.im.narrow(last, 0, kept)
    return _along(re, last, cosine[:kept] * weights) - _along(im, last, sine[:kept] * weights)


FOURIER: dict[str, Callable[..., Any]] = {"_fft_c2c": fft_c2c, "_fft_r2c": fft_r2c, "_fft_c2r": fft_c2r}
"""These are called with the `matrices` besides."""


def known(name: str) -> bool:
    """Whether an operator of that name, without overload, is here."""
    return name in FOURIER or name in _OTHERS or name in _OF_ONE or name in _LINEAR


def apply(target: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], of: Matrices) -> Any:
    """What an operator makes of its arguments. Raises KeyError for one that is not `known`."""
    if name in FOURIER:
        return FOURIER[name](*args, of=of, **kwargs)
    if name in _OTHERS:
        return _OTHERS[name](*args, **kwargs)
    if name in _OF_ONE:
        return _OF_ONE[name](pair(args[0]))
    return _linear(target, _LINEAR[name], args, kwargs)
