"""Integers of several dtypes as operands of one operator: where they are bytes, or limits, torch-mlir has to be told in
which eager PyTorch computes. It crashes, or takes unsigned ones for signed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import held, value_of, wide
from irwidget.private_torch import pytree

aten: Any = torch.ops.aten
_LIMITED = aten.clamp.Tensor
_EVERYWHERE = {
    *(_LIMITED, aten.lt.Tensor, aten.le.Tensor, aten.gt.Tensor, aten.ge.Tensor, aten.remainder.Tensor),
    *(aten.bitwise_right_shift.Tensor, aten.__rshift__.Tensor),
}
_IN_LINALG = {
    *(aten.mul.Tensor, aten.maximum.default, aten.minimum.default, aten.fmod.Tensor, aten.div.Tensor_mode),
    *(aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor, aten.where.self),
    *(aten.bitwise_left_shift.Tensor, aten.__lshift__.Tensor),
}
"""Beside those that are wrong everywhere. Sums, differences and whether two are equal are right everywhere."""
_OF_SIZES = {*_EVERYWHERE, *_IN_LINALG, aten.remainder.Scalar, aten.add.Tensor, aten.sub.Tensor}
"""What takes a number that run time knows as a tensor of int64."""


def operators(nodes: Iterable[torch.fx.Node], language: str) -> set[Any]:
    """Those that `TOSA`, `StableHLO` or, where it is empty, linalg has wrong of bytes and integers of another dtype."""
    wrong = _EVERYWHERE if language else _EVERYWHERE | _IN_LINALG
    return {
        node.target
        for node in nodes
        if node.target in (_OF_SIZES if any(map(_is_size, node.args)) else wrong)
        and _kind(node.target, node.args, node.kwargs)
    }


def in_one(operator: Any, before: Callable[..., Any] | None) -> Callable[..., Any]:
    """The operator of tensors of one dtype, as eager PyTorch computes it; by `before` where that takes them."""

    def made(*args: Any, **kwargs: Any) -> Any:
        kind = _kind(operator, args, kwargs)

        def as_all(one: Any) -> Any:
            return wide(one).to(kind) if kind and _counts(operator, one) and one.dtype != kind else one

        if kind and operator is aten.remainder.Scalar:
            return operator(wide(args[0]).to(torch.int64), held(args[1], kind)).to(kind)
        args, kwargs = pytree.tree_map(as_all, (args, kwargs))
        if kind:
            args = tuple(torch.full((), one, dtype=kind) if _is_size(one) else one for one in args)
        found = before(*args, **kwargs) if before else NotImplemented
        return operator(*args, **kwargs) if kind and found is NotImplemented else found

    return made


def _kind(operator: Any, args: Any, kwargs: Any) -> torch.dtype | None:
    """The dtype in which is computed, where operands have several and torch-mlir has to be told."""
    given = [value_of(leaf) for leaf in pytree.tree_leaves((args, kwargs))]
    if kwargs.get("rounding_mode", "") is None or any(map(_is_float, given)):
        return None
    tensors = [one for one in given if _counts(operator, one)]
    kinds = {one.dtype for one in tensors}
    if len(kinds) + any(map(_is_size, args)) < 2 or not (operator is _LIMITED or kinds & {torch.int8, torch.uint8}):
        return None
    return functools.reduce(torch.promote_types, {one.dtype for one in tensors if one.dim()} or kinds)


def _is_size(one: Any) -> bool:
    return isinstance(value_of(one), torch.SymInt)


def _is_float(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and (one.dtype.is_floating_point or one.dtype.is_complex)


def _counts(operator: Any, one: Any) -> bool:
    """Whether an operand is computed with; truths choose, but where they are limited."""
    return isinstance(one, torch.Tensor) and (one.dtype != torch.bool or operator is _LIMITED)
