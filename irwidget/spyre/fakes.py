"""Fake tensors with the strides that eager gives: PyTorch's own have others where an operand is expanded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from irwidget.private_torch import FakeTensorMode
from irwidget.spyre.layout import row_major


def eager_strides() -> FakeTensorMode:
    """A mode whose elementwise ops order the dims of their results as TensorIterator does.

    PyTorch's own class, whose rules for branches and loops are found by it.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    dispatch = mode.dispatch

    def dispatched(func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        made: Any = dispatch(func, types, args, kwargs)
        operands = [one for one in args if isinstance(one, torch.Tensor)]
        if torch.Tag.pointwise not in getattr(func, "tags", ()) or not isinstance(made, torch.Tensor):
            return made
        if not _one_dtype(made, operands[func is torch.ops.aten.where.self :]) or not _broadcasts(made, operands):
            return made
        strides = iterated(tuple(made.shape), operands)
        if strides == tuple(made.stride()):
            return made
        with mode:
            return torch.empty_strided(made.shape, strides, dtype=made.dtype, device=made.device)

    mode.dispatch = dispatched
    return mode


def _one_dtype(made: torch.Tensor, operands: Sequence[torch.Tensor]) -> bool:
    """Whether no operand is cast before the dims are ordered, which would give it strides of its own."""
    dtypes = {one.dtype for one in operands}
    return len(dtypes) == 1 and (not made.is_floating_point() or dtypes.pop().is_floating_point)


def _broadcasts(made: torch.Tensor, operands: Sequence[torch.Tensor]) -> bool:
    """Whether it is a new tensor of several operands, one of them broadcast."""
    fixed = all(isinstance(n, int) for n in made.shape)  # pyright: ignore[reportUnnecessaryIsInstance]
    if len(operands) < 2 or not fixed or any(made is one for one in operands):
        return False
    return any(
        one.shape != made.shape or any(n > 1 and not s for n, s in zip(one.shape, one.stride(), strict=True))
        for one in operands
    )


def iterated(size: tuple[int, ...], operands: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """The strides of an elementwise op's result: dims in the order of the first operand that tells two apart.

    An insertion sort from the innermost dim out, as PyTorch's TensorIterator sorts them.
    """
    steps = [_broadcast(one, size) for one in operands if one.dim()]
    order = list(reversed(range(len(size))))
    for i in range(1, len(order)):
        at = i
        for inner in reversed(range(i)):
            said = _outside(order[inner], order[at], size, steps)
            if said < 0:
                break
            if said > 0:
                order[inner], order[at] = order[at], order[inner]
                at = inner
    outermost_first = order[::-1]
    found = dict(zip(outermost_first, row_major([size[d] for d in outermost_first]), strict=True))
    return tuple(found[d] for d in range(len(size)))


def _broadcast(tensor: torch.Tensor, size: Sequence[int]) -> list[int]:
    """Its strides over the dims of the result: 0 where it is broadcast."""
    lacking = len(size) - tensor.dim()
    own = zip(tensor.shape, tensor.stride(), size[lacking:], strict=True)
    return [0] * lacking + [0 if n == 1 != whole else step for n, step, whole in own]


def _outside(a: int, b: int, size: Sequence[int], steps: Sequence[Sequence[int]]) -> int:
    """1 where dim `a` lies outside dim `b`, -1 where it lies inside, 0 where no operand tells."""
    for strides in steps:
        if not strides[a] or not strides[b]:
            continue
        if strides[a] != strides[b]:
            return 1 if strides[a] > strides[b] else -1
        if size[a] > size[b]:
            return 1
    return 0
