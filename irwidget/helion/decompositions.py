"""ATen calls that torch-mlir lowers wrongly or not at all, in terms of calls that it lowers well.

The masked lanes of a tile read zero, of which torch-mlir's reciprocal asserts that there are none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

aten: Any = torch.ops.aten
prims: Any = torch.ops.prims

Decomposition = Callable[..., torch.Tensor]
Condition = Callable[[dict[str, Any], Sequence[torch.Tensor]], bool]

_table: dict[Any, list[tuple[Decomposition, Condition | None]]] = {}


def _decomposes(*targets: Any, when: Condition | None = None) -> Callable[[Decomposition], Decomposition]:
    def add(function: Decomposition) -> Decomposition:
        for target in targets:
            _table.setdefault(target, []).append((function, when))
        return function

    return add


def decomposition(target: Any, kwargs: dict[str, Any], inputs: Sequence[torch.Tensor]) -> Decomposition | None:
    """What to import in place of a call on `inputs`; None where the call itself is fine."""
    found = (function for function, when in _table.get(target, ()) if when is None or when(kwargs, inputs))
    return next(found, None)


def _integers(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return not any(value.is_floating_point() for value in inputs)


def trace(function: Decomposition, inputs: Sequence[torch.Tensor]) -> torch.fx.Graph:
    """The ATen graph of a function of `inputs` (fake tensors of the active mode)."""
    return make_fx(function)(*map(torch.empty_like, inputs)).graph  # equal inputs are one fake tensor


@_decomposes(aten.reciprocal.default)
def _reciprocal(x: torch.Tensor) -> torch.Tensor:
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return torch.div(torch.ones_like(wide), wide).to(x.dtype if x.is_floating_point() else wide.dtype)


@_decomposes(aten.sign.default, aten.sgn.default)
def _sign(x: torch.Tensor) -> torch.Tensor:
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def _with_itself(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return len(inputs) == 1 and inputs[0].is_floating_point()


@_decomposes(aten.eq.Tensor, when=_with_itself)
def _equal(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Torch-mlir folds `x == x` to true, which it is not for NaN."""
    return torch.logical_not(torch.ne(x, y))


def _short_by_a_number(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return len(inputs) == 1 and inputs[0].dtype in (torch.int8, torch.int16)


@_decomposes(aten.mul.Tensor, when=_short_by_a_number)
def _times(x: torch.Tensor, factor: torch.Tensor | float) -> torch.Tensor:
    """Torch-mlir has no tosa form of a product of 16-bit integers with a number, and ends over one of bytes."""
    if isinstance(factor, torch.Tensor):
        return x * factor
    dtype = torch.result_type(x, factor)
    return x.to(dtype) * torch.full((), factor, dtype=dtype)


@_decomposes(aten.erf.default, when=_integers)
def _erf(x: torch.Tensor) -> torch.Tensor:
    return torch.erf(x.float())


@_decomposes(aten.div.Tensor, when=_short_by_a_number)
def _quotient(x: torch.Tensor, divisor: torch.Tensor | float) -> torch.Tensor:
    return x.float() / (divisor.float() if isinstance(divisor, torch.Tensor) else divisor)


@_decomposes(aten.sub.Tensor, when=_short_by_a_number)
def _less(x: torch.Tensor, number: torch.Tensor | float, *, alpha: float = 1) -> torch.Tensor:
    """Torch-mlir ends over a number that is subtracted from bytes."""
    if isinstance(number, torch.Tensor):
        return torch.sub(x, number, alpha=alpha)
    dtype = torch.result_type(x, number)
    return x.to(dtype) - torch.full((), number * alpha, dtype=dtype)


def _summed_wider(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return _summed_in(inputs[0].dtype) is not None


def _summed_in(dtype: torch.dtype) -> torch.dtype | None:
    """What is wider than a dtype, and its elements are added in; None where that is the dtype itself."""
    if dtype in (torch.float16, torch.bfloat16):
        return torch.float32
    return torch.int64 if dtype in (torch.int8, torch.int16, torch.int32) else None


def _wider(target: Any) -> Decomposition:
    """A sum, mean or product in the dtype that PyTorch and Triton compute it in, rounded once.

    Torch-mlir's are in the dtype of the elements, those of integers in tosa.
    """

    def decomposed(x: torch.Tensor, *args: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        wide = _summed_in(x.dtype)
        result = target(x.to(dtype or wide), *args, dtype=dtype or wide)
        return result.to(x.dtype) if dtype is None and x.is_floating_point() else result

    return decomposed


for _target in (
    *(aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim),
    *(aten.prod.default, aten.prod.dim_int),
):
    _decomposes(_target, when=_summed_wider)(_wider(_target))


def _truths(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return all(value.dtype == torch.bool for value in inputs)


@_decomposes(aten.add.Tensor, when=_truths)
def _either(x: torch.Tensor, y: torch.Tensor | float) -> torch.Tensor:
    """Torch-mlir adds truths modulo 2."""
    dtype = torch.result_type(x, y)
    if dtype != torch.bool:
        return torch.add(x.to(dtype), y)
    return torch.logical_or(x, y if isinstance(y, torch.Tensor) else torch.full((), bool(y), dtype=dtype))


_OF_TRUTHS: dict[Any, Decomposition] = {
    aten.maximum.default: torch.logical_or,
    aten.minimum.default: torch.logical_and,
    aten.lt.Tensor: lambda x, y: torch.logical_and(torch.logical_not(x), y),
    aten.le.Tensor: lambda x, y: torch.logical_or(torch.logical_not(x), y),
    aten.gt.Tensor: lambda x, y: torch.logical_and(x, torch.logical_not(y)),
    aten.ge.Tensor: lambda x, y: torch.logical_or(x, torch.logical_not(y)),
}
"""What compares truths, which torch-mlir's tosa form takes for numbers with a sign."""
for _target, _form in _OF_TRUTHS.items():
    _decomposes(_target, when=_truths)(_form)


def _floats(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return inputs[0].is_floating_point()


@_decomposes(aten.clamp.default, aten.clamp_min.default, when=_floats)
def _clamp(x: torch.Tensor, min: float | None = None, max: float | None = None) -> torch.Tensor:
    """Torch-mlir's loses NaN, and its tosa form infinities."""
    if min is not None:
        x = torch.maximum(x, torch.full((), min, dtype=x.dtype))
    return x if max is None else torch.minimum(x, torch.full((), max, dtype=x.dtype))


@_decomposes(aten.clamp_max.default, when=_floats)
def _clamp_max(x: torch.Tensor, max: float) -> torch.Tensor:
    return _clamp(x, None, max)


def _floats_or_wide(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return inputs[0].is_floating_point() or inputs[0].dtype.itemsize >= 4


@_decomposes(aten.argmax.default, when=_floats_or_wide)
def _argmax(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    """The first place of the largest element, or of the first NaN, over which torch-mlir's passes.

    Its tosa form compares integers as floats of 32 bits.
    """
    return _place_of(x, torch.amax, dim, keepdim)


@_decomposes(aten.argmin.default, when=_floats_or_wide)
def _argmin(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    return _place_of(x, torch.amin, dim, keepdim)


def _place_of(x: torch.Tensor, extreme: Callable[..., torch.Tensor], dim: int | None, keepdim: bool) -> torch.Tensor:
    rank = x.ndim
    x, axis = (x.reshape(-1), 0) if dim is None else (x, dim % rank)
    found = extreme(x, axis, keepdim=True)
    here = x == found
    if x.is_floating_point():
        here = here | (torch.ne(x, x) & torch.ne(found, found))
    size = x.shape[axis]
    places = torch.arange(size, dtype=torch.int32).reshape([size if d == axis else 1 for d in range(x.ndim)])
    beyond = torch.full((), size, dtype=torch.int32)
    first = torch.amin(torch.where(here, places, beyond), axis, keepdim=keepdim and dim is not None).to(torch.int64)
    return first.reshape([1] * rank) if dim is None and keepdim else first


def _halves(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return all(value.is_floating_point() and value.dtype.itemsize <= 2 for value in inputs)


for _target in (aten.log1p.default, aten.expm1.default):

    @_decomposes(_target, when=_halves)
    def _in_single(x: torch.Tensor, target: Any = _target) -> torch.Tensor:
        """In tosa, torch-mlir adds or takes away 1 in the dtype of the elements, which loses small ones."""
        return target(x.to(torch.float32)).to(x.dtype)


def _scaled_halves(kwargs: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return kwargs.get("alpha", 1) != 1 and _halves(kwargs, inputs)


def _rounded_once(target: Any) -> Decomposition:
    """In 32 bits, as PyTorch computes what is several operations on 16-bit floats, which what is between may not fit.

    In tosa, a quotient is two: a reciprocal and a product.
    """

    def wide(value: Any) -> Any:
        return value.float() if isinstance(value, torch.Tensor) else value

    return lambda x, *args, **kwargs: target(wide(x), *map(wide, args), **kwargs).to(
        functools.reduce(torch.promote_types, [value.dtype for value in (x, *args) if isinstance(value, torch.Tensor)])
    )


def _scaled_floats(kwargs: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return kwargs.get("value", 1) != 1 and all(value.is_floating_point() for value in inputs)


def _addcmul(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, *, value: float = 1) -> torch.Tensor:
    """The factor first, as PyTorch and Triton multiply: the product of the tensors alone may not fit."""
    return x + value * y * z


for _target in (aten.addcdiv.default, aten.div.Tensor):
    _decomposes(_target, when=_halves)(_rounded_once(_target))
_decomposes(aten.addcmul.default, when=_halves)(_rounded_once(_addcmul))
_decomposes(aten.addcmul.default, when=_scaled_floats)(_addcmul)
for _target in (aten.add.Tensor, aten.sub.Tensor, aten.rsub.Scalar):
    _decomposes(_target, when=_scaled_halves)(_rounded_once(_target))


@_decomposes(aten.hypot.default)
def _hypot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Scaled by the longer side, whose square may not fit."""
    long, short = torch.maximum(x.abs(), y.abs()), torch.minimum(x.abs(), y.abs())
    scaled = long * torch.sqrt(1 + (short / long) ** 2)
    beside_nan = torch.where(torch.isinf(x) | torch.isinf(y), torch.full_like(long, float("inf")), long)
    return torch.where((long == 0) | torch.isinf(beside_nan), beside_nan, scaled)


def _tanh_or_half(kwargs: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return kwargs.get("approximate") == "tanh" or inputs[0].dtype.itemsize == 2


@_decomposes(aten.gelu.default, when=_tanh_or_half)
def _gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Torch-mlir's with tanh is off by 4e-5, and it computes that of 16-bit floats in as many."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    if approximate == "none":
        return torch.nn.functional.gelu(wide).to(x.dtype)
    return (0.5 * wide * (1 + torch.tanh(0.7978845608028654 * (wide + 0.044715 * wide * wide * wide)))).to(x.dtype)


@_decomposes(aten.pow.Tensor_Scalar, when=_integers)
def _power(x: torch.Tensor, exponent: int) -> torch.Tensor:
    """By squaring; PyTorch has refused negative exponents."""
    result = torch.ones_like(x)
    while exponent:
        result = result * x if exponent & 1 else result
        x, exponent = x * x, exponent >> 1
    return result


@_decomposes(aten.pow.Tensor_Scalar, when=_floats)
def _root(x: torch.Tensor, exponent: float) -> torch.Tensor:
    """A power of half is a root, as in Helion's Triton: minus infinity has none."""
    if abs(exponent) == 0.5:
        return torch.sqrt(x) if exponent > 0 else torch.rsqrt(x)
    return torch.pow(x, exponent)


def _to_another_half(kwargs: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return inputs[0].dtype in (torch.float16, torch.bfloat16)


@_decomposes(prims.convert_element_type.default, when=_to_another_half)
def _converted(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Between 16-bit floats by way of 32 bits: MLIR has no cast of one to the other."""
    between = x.float() if dtype in (torch.float16, torch.bfloat16) and dtype != x.dtype else x
    return prims.convert_element_type.default(between, dtype)


@_decomposes(aten.relu.default, when=_integers)
def _relu(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


def _bytes(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return any(value.dtype == torch.int8 for value in inputs)


def _without_infinity(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return inputs[0].dtype in (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def _widened(target: Any, wide: torch.dtype) -> Decomposition:
    """On integers that torch-mlir does not crash on, or floats that have the infinity at which it begins."""
    return lambda x, *args, **kwargs: target(x.to(wide), *args, **kwargs).to(x.dtype)


for _target in (aten.max.default, aten.min.default, aten.amax.default, aten.amin.default):
    _decomposes(_target, when=_bytes)(_widened(_target, torch.int32))
    _decomposes(_target, when=_without_infinity)(_widened(_target, torch.float32))


@_decomposes(aten.neg.default, when=_integers)
def _negative(x: torch.Tensor) -> torch.Tensor:
    """Tosa's negate needs integers wider than those that it takes."""
    return torch.sub(torch.zeros_like(x), x)


for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _decomposes(getattr(prims, _name).default)(getattr(torch, _name))
