"""Tensors of no dimension: as operands whose dtype does not count, and as what is ordered.

Where the former meet bytes, torch-mlir crashes, or takes unsigned ones for signed; at the latter its passes stop.
"""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of, wide
from irwidget.frontends.decompositions_kinds import How

aten: Any = torch.ops.aten
_BYTES = (torch.int8, torch.uint8)
_OPERATORS = (
    *(
        aten.mul.Tensor,
        aten.maximum.default,
        aten.minimum.default,
        aten.remainder.Tensor,
        aten.fmod.Tensor,
        aten.div.Tensor_mode,
    ),
    *(aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor),
    *(aten.bitwise_left_shift.Tensor, aten.bitwise_right_shift.Tensor),
)


def _is_of_bytes(x: Any, y: Any, *, rounding_mode: str | None = "trunc") -> bool:
    """Whether bytes meet an integer of another dtype that takes theirs."""
    one, other = value_of(x), value_of(y)
    if rounding_mode is None or not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return False
    scalar, kept = (one, other) if one.dim() == 0 else (other, one)
    differ = scalar.dim() == 0 < kept.dim() and kept.dtype in _BYTES and scalar.dtype != kept.dtype
    return differ and torch.result_type(one, other) == kept.dtype


def _in_one(operator: Any) -> How:
    """Both in the dtype of the result, unsigned ones in 32 bits."""

    def made(x: Any, y: Any, **how: Any) -> Any:
        if not _is_of_bytes(x, y, **how):
            return NotImplemented
        dtype = torch.result_type(x, y)
        return operator(wide(x.to(dtype)), wide(y.to(dtype)), **how).to(dtype)

    return _is_of_bytes, made


def _is_one_number(x: Any, *_: Any, **__: Any) -> bool:
    return value_of(x).dim() == 0


def _itself(x: Any, *_: Any, **__: Any) -> Any:
    return (x.clone(), torch.zeros((), dtype=torch.int64)) if _is_one_number(x) else NotImplemented


IN_STABLEHLO: dict[Any, How] = dict.fromkeys((aten.max.dim, aten.min.dim), (_is_one_number, _itself))
"""The greatest and the least of one number, and its place."""
IN_BOTH: dict[Any, How] = {
    **{operator: _in_one(operator) for operator in _OPERATORS},
    aten.__lshift__.Tensor: _in_one(aten.bitwise_left_shift.Tensor),
    aten.__rshift__.Tensor: _in_one(aten.bitwise_right_shift.Tensor),
    **IN_STABLEHLO,
}
"""In linalg and TOSA."""
