"""Operators of narrow integers on which torch-mlir's passes crash, or which they refuse, in terms of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten: Any = torch.ops.aten
_BYTES = (torch.int8, torch.uint8)


def value_of(x: Any) -> Any:
    """What a node of a graph stands for, or the value itself."""
    return x.meta.get("val") if isinstance(x, torch.fx.Node) else x


def _is_bytes(x: Any) -> bool:
    value = value_of(x)
    return isinstance(value, torch.Tensor) and value.dtype in _BYTES


def _is_number(x: Any, kind: torch.dtype) -> bool:
    """Whether it is an integer that the dtype holds."""
    limits = torch.iinfo(kind)
    return isinstance(x, int) and not isinstance(x, bool) and limits.min <= x <= limits.max


def _of_bytes(x: Any, *others: Any) -> bool:
    """Whether an operator computes with bytes alone: tensors of them, or one and a number."""
    return _is_bytes(x) and all(_is_bytes(one) or _is_number(one, value_of(x).dtype) for one in others[:1])


def wide(x: Any) -> Any:
    """A tensor of bytes as one of int32, of the same numbers; others as they are."""
    if not _is_bytes(x):
        return x
    return x.to(torch.int32) & 255 if x.dtype == torch.uint8 else x.to(torch.int32)


def _in_32_bits(operator: Any) -> Callable[..., Any]:
    """Computed as int32, of which the result is the low byte."""

    def made(x: Any, *others: Any, **how: Any) -> Any:
        if not _of_bytes(x, *others):
            return NotImplemented
        if how.get("rounding_mode", "floor") is None:  # a quotient that is a float
            return aten.div.Tensor(*map(wide, (x, *others)))
        kind = torch.result_type(x, others[0]) if others else x.dtype
        return operator(*map(wide, (x, *others)), **how).to(kind)

    return made


def _by_tensor(operator: Any) -> Callable[..., Any]:
    return lambda x, number: operator(x, number if isinstance(number, torch.Tensor) else torch.full_like(x, number))


SHIFTS = {
    aten.__lshift__.Scalar: aten.bitwise_left_shift.Tensor,
    aten.__rshift__.Scalar: aten.bitwise_right_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar: aten.bitwise_left_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar: aten.bitwise_right_shift.Tensor,
}
"""By a number, and the same by a tensor."""


def _shift(operator: Any) -> Callable[..., Any]:
    """Of unsigned bytes by a number."""

    def made(x: Any, count: Any) -> Any:
        if not _is_shift_of_bytes(x, count):
            return NotImplemented
        return operator(wide(x), torch.full_like(x, count, dtype=torch.int32)).to(torch.uint8)

    return made


def _is_shift_of_bytes(x: Any, count: Any, *_: Any) -> bool:
    return _is_bytes(x) and value_of(x).dtype == torch.uint8 and isinstance(count, int)


def _sub(x: Any, number: Any, *, alpha: Any = 1) -> Any:
    """Of a number from narrow integers: a sum."""
    return aten.add.Tensor(x, -number * alpha) if _is_difference(x, number) else NotImplemented


def _is_difference(x: Any, number: Any, *_: Any) -> bool:
    value = value_of(x)
    narrow = isinstance(value, torch.Tensor) and value.dtype in (*_BYTES, torch.int16)
    return narrow and isinstance(number, int)


def _sum_of_product(product: Any) -> Callable[..., Any]:
    """Of integers: the product, and what is added to it."""

    def made(x: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        if not _is_integer(x):
            return NotImplemented
        return x * beta + product(left, right) * alpha

    return made


def _is_integer(x: Any, *_: Any) -> bool:
    kind = value_of(x).dtype
    return not (kind.is_floating_point or kind.is_complex or kind == torch.bool)


_SUMS = {
    aten.addmm.default: _sum_of_product(torch.mm),
    aten.baddbmm.default: _sum_of_product(torch.bmm),
}
_SAME = (
    *(aten.div.Tensor_mode, aten.remainder.Scalar, aten.remainder.Tensor, aten.max.default, aten.min.default),
    *(aten.mm.default, aten.bmm.default, aten.convolution.default),
)
_IN_32_BITS = {aten.mul.Tensor: _by_tensor(aten.mul.Tensor), **{operator: operator for operator in _SAME}}
TABLE: dict[Any, Callable[..., Any]] = {
    **{name: _in_32_bits(operator) for name, operator in _IN_32_BITS.items()},
    **{name: _shift(operator) for name, operator in SHIFTS.items()},
    aten.sub.Tensor: _sub,
    **_SUMS,
}
"""By operator."""
TAKES: dict[Any, Callable[..., bool]] = {
    **dict.fromkeys(_IN_32_BITS, _of_bytes),
    **dict.fromkeys(SHIFTS, _is_shift_of_bytes),
    aten.sub.Tensor: _is_difference,
    **dict.fromkeys(_SUMS, _is_integer),
}
"""Whether an operator of the table is taken apart for some arguments."""
