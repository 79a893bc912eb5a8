"""Operators of numbers with a sign of which torch-mlir makes something else, in terms of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How, alike
from irwidget.frontends.decompositions_narrow import fmod

aten: Any = torch.ops.aten


def _may_be_negative(x: Any, y: Any) -> bool:
    kind = torch.result_type(value_of(x), value_of(y))
    return not kind.is_complex and kind not in (torch.bool, torch.uint8)


def _remainder(takes: Callable[..., bool]) -> How:
    """With the sign of the divisor; StableHLO's has that of what is divided, TOSA's of floats is made of a quotient."""

    def made(x: Any, y: Any) -> Any:
        if not takes(x, y):
            return NotImplemented
        x, y = alike(x, y)
        left = fmod(x, y)
        return torch.where(_is_opposite(left, y), left + y, left)

    return takes, made


def _is_opposite(left: Any, y: Any) -> Any:
    """Whether what is left of a division is of the other sign than the divisor."""
    zero = 0.0 if left.dtype.is_floating_point else 0
    return (left != 0) & ((left < zero) != (y < zero))


def _is_of_32_bits(x: Any, y: Any, *, rounding_mode: Any = "floor") -> bool:
    """Whether integers are divided of which TOSA's quotient goes by the sign of a product that has no more bits."""
    return rounding_mode == "floor" and torch.result_type(value_of(x), value_of(y)) == torch.int32


def _is_rounded(x: Any, y: Any) -> bool:
    """Whether TOSA's remainder is made of a quotient that has fewer digits than it takes."""
    return _is_of_32_bits(x, y) or torch.result_type(value_of(x), value_of(y)).is_floating_point


def _is_of_64_bits(x: Any, y: Any, *, rounding_mode: Any = None) -> bool:
    """Whether integers are divided that the float of 64 bits does not hold which torch-mlir makes of the quotient."""
    return rounding_mode == "floor" and torch.result_type(value_of(x), value_of(y)) == torch.int64


def _floored(takes: Callable[..., bool]) -> How:
    def made(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
        if not takes(x, y, rounding_mode=rounding_mode):
            return NotImplemented
        x, y = alike(x, y)
        whole = torch.div(x, y, rounding_mode="trunc")
        return whole - _is_opposite(x - whole * y, y).to(whole.dtype)

    return takes, made


def _is_small(x: Any, *_: Any, dtype: Any = None, **__: Any) -> bool:
    """Whether what is summed are integers of 8 bits, and the sum is none."""
    return value_of(x).dtype == torch.int8 and dtype != torch.int8


def _summed(operator: Any) -> How:
    """Of integers of 8 bits as of 32: TOSA's sum has as many as what is summed."""

    def made(x: Any, *given: Any, dtype: Any = None, **named: Any) -> Any:
        if not _is_small(x, dtype=dtype):
            return NotImplemented
        return operator(x.to(torch.int32), *given, dtype=dtype, **named)

    return _is_small, made


def _is_integer(x: Any) -> bool:
    return value_of(x).dtype in (torch.int8, torch.int16, torch.int32, torch.int64)


def _relu(x: Any) -> Any:
    return x.clamp(min=0) if _is_integer(x) else NotImplemented


def _negated(x: Any) -> Any:
    """A difference: torch-mlir's passes to linalg take the number for a float of 32 bits."""
    return torch.zeros_like(x) - x if _is_integer(x) else NotImplemented


_DIVISIONS = (aten.div.Tensor_mode, aten.div.Scalar_mode)
_REMAINDERS = (aten.remainder.Tensor, aten.remainder.Scalar)
IN_LINALG: dict[Any, How] = {
    aten.neg.default: (_is_integer, _negated),
    **dict.fromkeys(_DIVISIONS, _floored(_is_of_64_bits)),
}
"""By operator: whether it is taken apart, and how."""
IN_STABLEHLO: dict[Any, How] = {
    **dict.fromkeys(_REMAINDERS, _remainder(_may_be_negative)),
    **dict.fromkeys(_DIVISIONS, _floored(_is_of_64_bits)),
}
"""The same."""
IN_TOSA: dict[Any, How] = {
    **{operator: _summed(operator) for operator in (aten.sum.default, aten.sum.dim_IntList)},
    aten.relu.default: (_is_integer, _relu),
    **dict.fromkeys(_REMAINDERS, _remainder(_is_rounded)),
    **dict.fromkeys(_DIVISIONS, _floored(_is_of_32_bits)),
}
"""The same."""
