"""Operators of narrow integers on which torch-mlir's passes crash, or which they refuse, in terms of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

aten: Any = torch.ops.aten
_BYTES = (torch.int8, torch.uint8)


def value_of(x: Any) -> Any:
    """What a node of a graph stands for, or the value itself."""
    return x.meta.get("val") if isinstance(x, torch.fx.Node) else x


def either(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    """The first of two decompositions that takes the arguments."""

    def made(*args: Any, **kwargs: Any) -> Any:
        found = first(*args, **kwargs)
        return second(*args, **kwargs) if found is NotImplemented else found

    return made


def _is_bytes(x: Any) -> bool:
    value = value_of(x)
    return isinstance(value, torch.Tensor) and value.dtype in _BYTES


def _is_number(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def _of_bytes(x: Any, *others: Any, **_: Any) -> bool:
    """Whether an operator computes with bytes alone: tensors of them, or one and a number."""
    return _is_bytes(x) and all(_is_bytes(one) or _is_number(one) for one in others[:1])


def held(number: Any, kind: torch.dtype) -> Any:
    """The number of an integer dtype that eager PyTorch takes for one that it may not hold: its low bits."""
    whole = _is_number(number) or (isinstance(number, torch.SymInt) and kind != torch.int64)
    if not whole or kind.is_floating_point or kind.is_complex or kind == torch.bool:
        return number
    limits = torch.iinfo(kind)
    return (number - limits.min) % (1 << limits.bits) + limits.min


def _are_factors(x: Any, y: Any, **_: Any) -> bool:
    """Of which the product is a byte; one may be truths."""
    other = value_of(y)
    if isinstance(other, torch.Tensor) and torch.bool in (other.dtype, value_of(x).dtype):
        return _is_bytes(x) or _is_bytes(y)
    return _of_bytes(x, y)


def wide(x: Any) -> Any:
    """A tensor of bytes as one of int32, of the same numbers; others as they are."""
    if not _is_bytes(x):
        return x
    return x.to(torch.int32) & 255 if x.dtype == torch.uint8 else x.to(torch.int32)


def _in_32_bits(operator: Any, takes: Callable[..., bool] = _of_bytes) -> Callable[..., Any]:
    """Computed as int32, of which the result is the low byte."""

    def made(x: Any, *others: Any, **how: Any) -> Any:
        if not takes(x, *others):
            return NotImplemented
        if how.get("rounding_mode", "floor") is None:  # a quotient that is a float
            return aten.div.Tensor(*map(wide, (x, *others)))
        kind = torch.result_type(x, others[0]) if others else x.dtype
        second = [wide(held(one, kind)) for one in others[:1]]
        return operator(wide(x), *second, *map(wide, others[1:]), **how).to(kind)

    return made


def _by_tensor(operator: Any) -> Callable[..., Any]:
    return lambda x, number: operator(x, number if isinstance(number, torch.Tensor) else torch.full_like(x, number))


def _filled(x: Any, number: Any, **how: Any) -> Any:
    """With a number: torch-mlir folds it to a signed byte."""
    if not _is_refused_fill(x, number, **how):
        return NotImplemented
    nothing = wide(x) & 0  # a constant would be folded into what it comes from
    return (nothing + held(number, torch.uint8)).to(torch.uint8)


def _is_refused_fill(x: Any, number: Any, *, dtype: Any = None, **_: Any) -> bool:
    return _is_bytes(x) and (dtype or value_of(x).dtype) == torch.uint8 and _is_number(number)


def _anything(size: Any, *_: Any, dtype: Any = None, **how: Any) -> Any:
    """Elements that nobody reads, of which StableHLO has no form: of bytes they are not folded into what fills them."""
    if dtype != torch.uint8 or not all(isinstance(one, int) for one in size):
        return NotImplemented
    return torch.arange(math.prod(size), dtype=torch.int32, device=how.get("device")).reshape(size).to(dtype)


def _arange(*limits: Any, dtype: Any = None, **how: Any) -> Any:
    return aten.arange.start_step(*limits, dtype=torch.int32, **how).to(dtype) if dtype in _BYTES else NotImplemented


def _makes_bytes(*_: Any, dtype: Any = None, **__: Any) -> bool:
    return dtype in _BYTES


def _cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return (
        aten.cumsum.default(wide(x).to(torch.int32), dim, dtype=torch.int32).to(dtype)
        if dtype in _BYTES
        else NotImplemented
    )


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


def _is_shift_of_bytes(x: Any, count: Any, *_: Any, **__: Any) -> bool:
    return _is_bytes(x) and value_of(x).dtype == torch.uint8 and isinstance(count, int)


def _sub(x: Any, number: Any, *, alpha: Any = 1) -> Any:
    """Of a number from narrow integers: a sum."""
    return aten.add.Tensor(x, -number * alpha) if _is_difference(x, number) else NotImplemented


def _is_difference(x: Any, number: Any, *_: Any, **__: Any) -> bool:
    value = value_of(x)
    narrow = isinstance(value, torch.Tensor) and value.dtype in (*_BYTES, torch.int16)
    return narrow and isinstance(number, int)


def _sum_of_product(product: Any) -> Callable[..., Any]:
    """Of integers: the product, and what is added; of factors that are floats eager PyTorch takes the whole part."""

    def made(x: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        if not _is_integer(x):
            return NotImplemented
        return x * int(beta) + product(left, right) * int(alpha)

    return made


def _is_integer(x: Any, *_: Any, **__: Any) -> bool:
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
TABLE: dict[Any, Callable[..., Any]] = {
    aten.mul.Tensor: _in_32_bits(_by_tensor(aten.mul.Tensor), _are_factors),
    **{operator: _in_32_bits(operator) for operator in _SAME},
    **{name: _shift(operator) for name, operator in SHIFTS.items()},
    aten.sub.Tensor: _sub,
    aten.full_like.default: _filled,
    aten.empty.memory_format: _anything,
    aten.arange.start_step: _arange,
    aten.cumsum.default: _cumsum,
    **_SUMS,
}
"""By operator."""
TAKES: dict[Any, Callable[..., bool]] = {
    aten.mul.Tensor: _are_factors,
    **dict.fromkeys(_SAME, _of_bytes),
    **dict.fromkeys(SHIFTS, _is_shift_of_bytes),
    aten.sub.Tensor: _is_difference,
    aten.full_like.default: _is_refused_fill,
    aten.empty.memory_format: lambda _, *, dtype=None, **how: dtype == torch.uint8,
    aten.arange.start_step: _makes_bytes,
    aten.cumsum.default: _makes_bytes,
    **dict.fromkeys(_SUMS, _is_integer),
}
"""Whether an operator of the table is taken apart for some arguments."""
