"""What each of PyTorch's operators does to complex numbers that are pairs of real tensors.

Nothing here knows of graphs: an operator is a function of tensors, of which some are pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from irwidget.frontends.complex_fourier import Matrices, fft_c2c, fft_c2r, fft_r2c
from irwidget.frontends.complex_math import (
    REAL,
    Pair,
    absolute,
    add,
    angle,
    cos,
    div,
    exp,
    is_complex,
    log,
    mul,
    pair,
    power,
    product,
    reciprocal,
    scaled,
    sigmoid,
    sign,
    silu,
    sin,
    sqrt,
    tanh,
    turned,
)

aten: Any = torch.ops.aten

# What goes through the parts one by one

_FIRST = (
    "view _unsafe_view reshape expand permute transpose t squeeze unsqueeze select slice clone contiguous detach alias "
    "flip roll index_select gather index repeat sum mean cumsum diagonal unfold movedim narrow neg zeros_like tril "
    "triu resolve_conj resolve_neg split split_with_sizes chunk unbind lift_fresh_copy flatten unflatten view_as "
    "expand_as unbind_copy diag_embed diag trace repeat_interleave"
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
    "tan": turned(tanh),
    "sinh": turned(sin),
    "cosh": lambda a: cos(Pair(-a.im, a.re)),
    "tanh": tanh,
    "sigmoid": sigmoid,
    "silu": silu,
    "sgn": sign,
    **dict.fromkeys(("conj", "_conj", "conj_physical", "_conj_physical"), lambda a: Pair(a.re, -a.im)),
    "isnan": lambda a: torch.isnan(a.re) | torch.isnan(a.im),
    "isfinite": lambda a: torch.isfinite(a.re) & torch.isfinite(a.im),
    "isinf": lambda a: torch.isinf(a.re) | torch.isinf(a.im),
    "is_complex": lambda a: True,
}


# Operators with more arguments


def _add(a: Any, b: Any, *, alpha: Any = 1) -> Pair:
    return add(a, mul(b, alpha) if is_complex(alpha) else scaled(pair(b), alpha))


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
    made = product(torch.matmul, x, _linear(aten.t.default, (0,), (weight,), {}) if is_complex(weight) else weight.t())
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


def _logical(operator: Any) -> Callable[..., Any]:
    """Of whether numbers are other than zero."""
    return lambda *given: operator(*((one.re != 0) | (one.im != 0) for one in map(pair, given)))


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


def _running_product(a: Pair, dim: int, **_: Any) -> Pair:
    """Of elements, of pairs of these, of four."""
    length = a.re.shape[dim] if a.re.dim() else 1
    step = 1

    def part(first: int, count: int) -> Pair:
        return Pair(a.re.narrow(dim, first, count), a.im.narrow(dim, first, count))

    while step < length:
        first, made = part(0, step), mul(part(step, length - step), part(0, length - step))
        a = Pair(torch.cat([first.re, made.re], dim), torch.cat([first.im, made.im], dim))
        step *= 2
    return a


def _in_order(a: Any) -> Pair:
    """Parts that lie as the complex numbers do, not as every other number of pairs."""
    return Pair(pair(a).re.contiguous(), pair(a).im.contiguous())


def _var_mean(a: Pair, *how: Any, **named: Any) -> tuple[Any, Pair]:
    (one, re), (other, im) = (torch.var_mean(part, *how, **named) for part in (a.re, a.im))
    return one + other, Pair(re, im)


def _std_mean(a: Pair, *how: Any, **named: Any) -> tuple[Any, Pair]:
    spread, mean = _var_mean(a, *how, **named)
    return torch.sqrt(spread), mean


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
    **{f"logical_{name}": _logical(getattr(torch, f"logical_{name}")) for name in ("not", "and", "or", "xor")},
    "_assert_tensor_metadata": lambda *_, **__: None,  # of what a tensor was before it was converted
    "linalg_vector_norm": _norm,
    "full": _full,
    "zeros": lambda size, **kwargs: _full(size, 0, **kwargs),
    "ones": lambda size, **kwargs: _full(size, 1, **kwargs),
    "empty": lambda size, **kwargs: _full(size, 0, **{n: v for n, v in kwargs.items() if n != "memory_format"}),
    "scalar_tensor": _scalar,
    "copy_": lambda a, b, non_blocking=False: Pair(a.re.copy_(pair(b).re), a.im.copy_(pair(b).im)),
    "ones_like": lambda a, **_: Pair(torch.ones_like(a.re), torch.zeros_like(a.im)),
    "prod": _prod,
    "cumprod": _running_product,
    "as_strided": lambda a, *how: _linear(aten.as_strided.default, (0,), (_in_order(a), *how), {}),
    "as_strided_scatter": lambda a, *how: _linear(aten.as_strided_scatter.default, (0, 1), (_in_order(a), *how), {}),
    "var": lambda a, *how, **named: _var_mean(a, *how, **named)[0],
    "var_mean": _var_mean,
    "std": lambda a, *how, **named: _std_mean(a, *how, **named)[0],
    "std_mean": _std_mean,
}


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
