"""Operators of truths that torch-mlir refuses, or computes as if true were -1, as those of numbers of 32 bits."""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_kinds import COMPARISONS, How, clamped, in_32_bits, is_truth, number

aten: Any = torch.ops.aten


def _is_sum(x: Any, *_: Any, dtype: Any = None, **__: Any) -> bool:
    return dtype == torch.bool


def _sum(operator: Any) -> How:
    """Whether there is any but zero."""

    def made(x: Any, *given: Any, dtype: Any = None, **named: Any) -> Any:
        if not _is_sum(x, dtype=dtype):
            return NotImplemented
        return operator((x != 0).to(torch.int32), *given, dtype=torch.int32, **named) != 0

    return _is_sum, made


def _clamp(x: Any, least: Any = None, most: Any = None) -> Any:
    return clamped(x, least, most) if is_truth(x) else NotImplemented


def _is_beyond(x: Any, other: Any) -> bool:
    return is_truth(x) and other not in (0, 1)


def _compared(operator: Any) -> How:
    """With a number that is no truth; StableHLO's is then true."""

    def made(x: Any, other: Any) -> Any:
        return operator(x.to(torch.result_type(x, other)), other) if _is_beyond(x, other) else NotImplemented

    return _is_beyond, made


def _divided(x: Any, y: Any) -> Any:
    return torch.div(x.to(torch.get_default_dtype()), y) if is_truth(x) else NotImplemented


def _padded(x: Any, sizes: Any, value: Any = 0) -> Any:
    return aten.constant_pad_nd.default(number(x), sizes, int(value != 0)) != 0 if is_truth(x) else NotImplemented


def _is_added(x: Any, y: Any, *_: Any, **__: Any) -> bool:
    return is_truth(x) and is_truth(y)


def _added(x: Any, y: Any, **how: Any) -> Any:
    return aten.add.Tensor(number(x), number(y), **how) != 0 if _is_added(x, y) else NotImplemented


_ADDED: How = _is_added, _added
IN_ALL: dict[Any, How] = {
    **{operator: _sum(operator) for operator in (aten.sum.default, aten.sum.dim_IntList)},
    aten.clamp.default: (is_truth, _clamp),
    aten.clamp.Tensor: in_32_bits(aten.clamp.Tensor, torch.bool),
}
"""By operator: whether it is taken apart, and how."""
_REDUCED = (aten.max.dim, aten.min.dim, aten.amax.default, aten.amin.default)
_ORDERED = (
    *(aten.lt.Tensor, aten.le.Tensor, aten.gt.Tensor, aten.ge.Tensor, aten.maximum.default, aten.minimum.default),
    *(aten.max.default, aten.min.default),
)
IN_TOSA: dict[Any, How] = {
    **IN_ALL,
    **{operator: in_32_bits(operator, torch.bool) for operator in (*_ORDERED, *_REDUCED)},
    aten.add.Tensor: _ADDED,
    **dict.fromkeys((aten.div.Scalar, aten.div.Tensor), (is_truth, _divided)),
    aten.constant_pad_nd.default: (is_truth, _padded),
}
"""The same."""
IN_STABLEHLO: dict[Any, How] = {
    **IN_ALL,
    **{operator: in_32_bits(operator, torch.bool) for operator in _REDUCED},
    aten.add.Tensor: _ADDED,
    **{operator: _compared(operator) for operator in COMPARISONS},
}
"""The same."""
