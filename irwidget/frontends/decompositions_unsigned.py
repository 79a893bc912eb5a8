"""Operators of bytes that torch-mlir lowers as if these had a sign, where it shows, as those of wider numbers.

In TOSA, which has no unsigned integers, that is most of them; in linalg a few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of, wide
from irwidget.frontends.decompositions_kinds import How, all_of, in_32_bits, is_byte, is_truth, narrowed

aten: Any = torch.ops.aten
prims: Any = torch.ops.prims
_FEW_BITS = (torch.uint8, torch.int8, torch.bool)
_LARGEST = 127
"""Of a byte with a sign."""
_all_bytes = all_of(torch.uint8)


def _summed(operator: Any) -> How:
    """Computed of int32, with the dtype that the operator gives integers."""

    def made(x: Any, *given: Any, **named: Any) -> Any:
        return operator(wide(x), *given, **named) if is_byte(x) else NotImplemented

    return is_byte, made


def _as_float(operator: Any, takes: Callable[..., bool] = _all_bytes) -> How:
    """Of bytes as floats, which the result is."""

    def made(*given: Any) -> Any:
        if not takes(*given):
            return NotImplemented
        kind = torch.get_default_dtype()
        return operator(*(wide(one).to(kind) if isinstance(one, torch.Tensor) else one for one in given))

    return takes, made


def _is_power(x: Any, exponent: Any) -> bool:
    return is_byte(x) and isinstance(exponent, float)


def _shows_a_sign(x: Any, dtype: Any, *_: Any, **__: Any) -> bool:
    """Whether a conversion is of bytes to wider numbers, or of floats to bytes, which TOSA's ends at 127."""
    value = value_of(x)
    return dtype not in _FEW_BITS if is_byte(x) else dtype == torch.uint8 and value.dtype.is_floating_point


def _converted(x: Any, dtype: Any) -> Any:
    if not _shows_a_sign(x, dtype):
        return NotImplemented
    if dtype == torch.uint8:
        return x.to(torch.int32).to(dtype)
    return (x.to(torch.int8).to(torch.int32) & 255).to(dtype)


def _becomes_complex(x: Any, dtype: Any, *_: Any, **__: Any) -> bool:
    return (is_byte(x) or is_truth(x)) and dtype.is_complex


def _as_complex(x: Any, dtype: Any) -> Any:
    """By floats."""
    return x.to(dtype.to_real()).to(dtype) if _becomes_complex(x, dtype) else NotImplemented


def _makes_bytes(*_: Any, dtype: Any = None, **__: Any) -> bool:
    return dtype == torch.uint8


def _made_wide(operator: Any) -> How:
    """Bytes that are made of numbers."""

    def made(*given: Any, dtype: Any = None, **how: Any) -> Any:
        if not _makes_bytes(dtype=dtype):
            return NotImplemented
        return operator(*given, dtype=torch.int32, **how).to(dtype)

    return _makes_bytes, made


def _is_padded(x: Any, sizes: Any, value: Any = 0, *_: Any) -> bool:
    return is_byte(x) and value != 0


def _is_padded_high(x: Any, sizes: Any, value: Any = 0, *_: Any) -> bool:
    return is_byte(x) and not 0 <= value <= _LARGEST


def _padded(x: Any, sizes: Any, value: Any = 0) -> Any:
    if not _is_padded(x, sizes, value):
        return NotImplemented
    return aten.constant_pad_nd.default(wide(x), sizes, int(value) & 255).to(x.dtype)


def _is_negative(x: Any) -> Any:
    return wide(x) < 0 if is_byte(x) else NotImplemented


def _whether(operator: Any) -> How:
    """Of whether bytes are zero, as bytes."""

    def made(x: Any, *given: Any) -> Any:
        return operator(x != 0, *given).to(torch.uint8) if is_byte(x) else NotImplemented

    return is_byte, made


def _full_like(x: Any, number: Any, *, dtype: Any = None, **how: Any) -> Any:
    """With a number; a constant of bytes is refused, and one of int32 would be folded into what it comes from."""
    if not (_is_filled(x, number, dtype=dtype) and is_byte(x)):
        return NotImplemented
    return ((wide(x) & 0) + int(number) % 256).to(torch.uint8)


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    """As numbers of 32 bits, which constants among them may have."""
    return (
        narrowed(aten.where.self(condition, wide(x), wide(y)), torch.uint8)
        if _is_choice(condition, x, y)
        else NotImplemented
    )


def _is_choice(_: Any, x: Any, y: Any) -> bool:
    return _all_bytes(x, y)


def _is_filled(x: Any, number: Any, *, dtype: Any = None, **_: Any) -> bool:
    return (dtype or value_of(x).dtype) == torch.uint8


_FUNCTIONS = (
    *(aten.sqrt, aten.rsqrt, aten.exp, aten.exp2, aten.expm1, aten.log, aten.log2, aten.log10, aten.log1p),
    *(aten.sin, aten.cos, aten.tan, aten.asin, aten.acos, aten.atan, aten.sinh, aten.cosh, aten.tanh),
    *(aten.asinh, aten.acosh, aten.atanh, aten.sigmoid, aten.erf, aten.erfc, aten.reciprocal),
)
_EXTREMA = (
    *(aten.max.default, aten.min.default, aten.max.dim, aten.min.dim, aten.amax.default, aten.amin.default),
    *(aten.argmax.default, aten.argmin.default),
)
_ORDERED = (
    *(aten.neg.default, aten.sign.default, aten.clamp.Tensor),
    *(*_EXTREMA, aten.maximum.default, aten.minimum.default),
    *(aten.bucketize.Tensor, aten.hardtanh.default),
    *(aten.__rshift__.Tensor, aten.bitwise_right_shift.Tensor, aten.scatter_add.default),
    *(aten.bitwise_or.Scalar, aten.bitwise_xor.Scalar, aten.bitwise_and.Scalar),
)
_BY_NUMBER = (
    *(aten.clamp.default, aten.remainder.Scalar, aten.fmod.Scalar, aten.div.Tensor_mode, aten.div.Scalar_mode),
)
_DIVIDED = (aten.remainder.Tensor, aten.fmod.Tensor, aten.div.Tensor_mode)
IN_LINALG: dict[Any, How] = {
    **{operator: in_32_bits(operator, torch.uint8, by_number=True) for operator in _DIVIDED},
    aten.reciprocal.default: _as_float(aten.reciprocal.default),
    **{operator: _as_float(operator) for operator in (aten.atan2.default, aten.copysign.Tensor)},
    aten.clamp.Tensor: in_32_bits(aten.clamp.Tensor, torch.uint8),
    prims.convert_element_type.default: (_becomes_complex, _as_complex),
    aten.constant_pad_nd.default: (_is_padded_high, _padded),
    **{operator: _whether(operator) for operator in (aten.any.dim, aten.all.dim)},
}
"""By operator: whether it is taken apart, and how."""
IN_STABLEHLO: dict[Any, How] = {
    **{operator: in_32_bits(operator, torch.uint8) for operator in _EXTREMA},
    **{operator: _whether(operator) for operator in (aten.any.dim, aten.all.dim)},
    aten.bitwise_right_shift.Tensor: in_32_bits(aten.bitwise_right_shift.Tensor, torch.uint8),
    aten.__rshift__.Tensor: in_32_bits(aten.bitwise_right_shift.Tensor, torch.uint8),
}
"""The same."""
IN_TOSA: dict[Any, How] = {
    **IN_LINALG,
    **{function.default: _as_float(function.default) for function in _FUNCTIONS},
    **{operator: in_32_bits(operator, torch.uint8) for operator in _ORDERED},
    **{operator: in_32_bits(operator, torch.uint8, by_number=True) for operator in _BY_NUMBER},
    aten.pow.Tensor_Scalar: _as_float(aten.pow.Tensor_Scalar, _is_power),
    aten.signbit.default: (is_byte, _is_negative),
    aten.cumsum.default: _summed(aten.cumsum.default),
    prims.convert_element_type.default: (_shows_a_sign, _converted),
    aten.constant_pad_nd.default: (_is_padded, _padded),
    aten.relu.default: (is_byte, lambda x: x.clone() if is_byte(x) else NotImplemented),
    aten.where.self: (_is_choice, _chosen),
    aten.scalar_tensor.default: _made_wide(aten.scalar_tensor.default),
    aten.full.default: _made_wide(aten.full.default),
    aten.full_like.default: (_is_filled, _full_like),
}
