"""Operators of numbers with a sign of which torch-mlir makes something else, in terms of others."""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of, wide
from irwidget.frontends.decompositions_kinds import COMPARISONS, How

aten: Any = torch.ops.aten


def _may_be_negative(x: Any, y: Any) -> bool:
    kind = torch.result_type(value_of(x), value_of(y))
    return not kind.is_complex and kind not in (torch.bool, torch.uint8)


def _remainder(x: Any, y: Any) -> Any:
    """With the sign of the divisor; StableHLO's has that of what is divided."""
    if not _may_be_negative(x, y):
        return NotImplemented
    kind = torch.result_type(x, y)
    x = wide(x).to(kind)
    y = wide(y).to(kind) if isinstance(y, torch.Tensor) else torch.full_like(x, y)
    left, zero = torch.fmod(x, y), 0.0 if kind.is_floating_point else 0
    return torch.where((left != 0) & ((left < zero) != (y < zero)), left + y, left)


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


_FILLS = (aten.full.default, aten.full_like.default)


def _is_filled(x: Any, number: Any) -> bool:
    """Whether an integer is compared with floats that are all the same: torch-mlir reads their bits as an integer."""
    filled = not isinstance(x, torch.fx.Node) or x.target in _FILLS
    return filled and value_of(x).dtype.is_floating_point and isinstance(number, int)


def _compared(operator: Any) -> How:
    return _is_filled, lambda x, number: operator(x, float(number)) if _is_filled(x, number) else NotImplemented


IN_ALL = {operator: _compared(operator) for operator in COMPARISONS}
"""By operator: whether it is taken apart, and how."""
IN_STABLEHLO: dict[Any, How] = {
    **IN_ALL,
    **dict.fromkeys((aten.remainder.Tensor, aten.remainder.Scalar), (_may_be_negative, _remainder)),
}
"""The same."""
IN_TOSA: dict[Any, How] = {
    **IN_ALL,
    **{operator: _summed(operator) for operator in (aten.sum.default, aten.sum.dim_IntList)},
    aten.relu.default: (_is_integer, _relu),
}
"""The same."""
