"""ATen calls that torch-mlir lowers wrongly or not at all, in terms of calls that it lowers well.

The masked lanes of a tile read zero, so a division must take zeros: integer
division by zero ends the process, and torch-mlir's reciprocal asserts that
there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

aten: Any = torch.ops.aten
prims: Any = torch.ops.prims

Decomposition = Callable[..., torch.Tensor]
Condition = Callable[[dict[str, Any], Sequence[torch.Tensor]], bool]

_table: dict[Any, tuple[Decomposition, Condition | None]] = {}


def _decomposes(*targets: Any, when: Condition | None = None) -> Callable[[Decomposition], Decomposition]:
    def add(function: Decomposition) -> Decomposition:
        _table.update(dict.fromkeys(targets, (function, when)))
        return function

    return add


def decomposition(target: Any, kwargs: dict[str, Any], inputs: Sequence[torch.Tensor]) -> Decomposition | None:
    """What to import in place of a call on `inputs`; None where the call itself is fine."""
    function, when = _table.get(target, (None, None))
    return function if when is None or when(kwargs, inputs) else None


def _integers(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return not any(value.is_floating_point() for value in inputs)


def trace(function: Decomposition, inputs: Sequence[torch.Tensor]) -> torch.fx.Graph:
    """The ATen graph of a function of `inputs` (fake tensors of the active mode)."""
    return make_fx(function)(*map(torch.empty_like, inputs)).graph  # equal inputs are one fake tensor


@_decomposes(aten.reciprocal.default)
def _reciprocal(x: torch.Tensor) -> torch.Tensor:
    return torch.div(torch.ones_like(x), x)


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
    return len(inputs) == 1 and inputs[0].dtype == torch.int16


@_decomposes(aten.mul.Tensor, when=_short_by_a_number)
def _times(x: torch.Tensor, factor: torch.Tensor | float) -> torch.Tensor:
    """Torch-mlir has no tosa form of a product of 16-bit integers with a number."""
    if isinstance(factor, torch.Tensor):
        return x * factor
    dtype = torch.result_type(x, factor)
    return x.to(dtype) * torch.full((), factor, dtype=dtype)


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


@_decomposes(aten.hypot.default)
def _hypot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Scaled by the longer side, whose square may not fit."""
    long, short = torch.maximum(x.abs(), y.abs()), torch.minimum(x.abs(), y.abs())
    scaled = long * torch.sqrt(1 + (short / long) ** 2)
    return torch.where((long == 0) | torch.isinf(long), long, scaled)


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


@_decomposes(aten.relu.default, when=_integers)
def _relu(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


def _bytes(_: dict[str, Any], inputs: Sequence[torch.Tensor]) -> bool:
    return any(value.dtype == torch.int8 for value in inputs)


def _widened(target: Any) -> Decomposition:
    """On integers that torch-mlir does not crash on."""
    return lambda x, *args, **kwargs: target(x.int(), *args, **kwargs).to(x.dtype)


for _target in (aten.max.default, aten.min.default, aten.amax.default, aten.amin.default):
    _decomposes(_target, when=_bytes)(_widened(_target))


def _not_zero(divisor: Any) -> Any:
    if not isinstance(divisor, torch.Tensor):
        return divisor
    return torch.where(divisor == 0, torch.ones_like(divisor), divisor)


def _divisible(divisor: Any) -> Any:
    """Without -1, by which the processor cannot divide the least integer; what is left is none by 1, either."""
    if not isinstance(divisor, torch.Tensor):
        return 1 if divisor in (0, -1) else divisor
    return torch.where((divisor == 0) | (divisor == -1), torch.ones_like(divisor), divisor)


@_decomposes(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor, when=_integers)
def _remainder(x: Any, divisor: Any) -> torch.Tensor:
    """With the divisor's sign, which stablehlo's remainder does not have."""
    dtype = torch.result_type(x, divisor)
    shape = (x if isinstance(x, torch.Tensor) else divisor).shape
    x, divisor, safe = (
        v if isinstance(v, torch.Tensor) else torch.full(shape, v, dtype=dtype)
        for v in (x, divisor, _divisible(divisor))
    )
    left = torch.fmod(x, safe)
    return torch.where(torch.where(divisor > 0, left < 0, left > 0), left + divisor, left)


@_decomposes(aten.neg.default, when=_integers)
def _negative(x: torch.Tensor) -> torch.Tensor:
    """Tosa's negate needs integers wider than those that it takes."""
    return torch.sub(torch.zeros_like(x), x)


@_decomposes(aten.fmod.Tensor, when=_integers)
def _fmod(x: torch.Tensor, divisor: torch.Tensor) -> torch.Tensor:
    return torch.fmod(x, _divisible(divisor))


@_decomposes(aten.div.Tensor_mode, when=_integers)
def _div(x: torch.Tensor, divisor: Any, *, rounding_mode: str | None) -> torch.Tensor:
    wide = x.int() if x.dtype == torch.int8 else x
    return torch.div(wide, _not_zero(divisor), rounding_mode=rounding_mode).to(torch.result_type(x, divisor))


@_decomposes(aten.floor_divide.default, when=_integers)
def _floor_divide(x: torch.Tensor, divisor: Any) -> torch.Tensor:
    return _div(x, divisor, rounding_mode="floor")


for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _decomposes(getattr(prims, _name).default)(getattr(torch, _name))
