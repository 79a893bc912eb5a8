"""Sorting along one dim: for each element, count those that come before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.helion.aten import cast, finish, restored_arguments
from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder
from irwidget.helion.dtypes import WIDER, is_float
from irwidget.helion.handlers import register_handler
from irwidget.helion.tiles import lane_mask, ragged_loops

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter


def _ordered(skipped: int, flag: str, default: bool) -> Callable[[Emitter, Any], Any]:
    """An op that takes a tile, `skipped` other arguments, a dim, and whether the greatest come first."""

    def emit(emitter: Emitter, node: Any) -> Any:
        (source, *rest), kwargs = restored_arguments(node)
        named = zip(("dim", flag), rest[skipped:], strict=False)
        given: dict[str, Any] = {"dim": -1, flag: default, **dict(named), **kwargs}
        return _sorted(emitter, node, source, given["dim"], descending=given[flag])

    return emit


register_handler("aten.sort.default", _ordered(0, "descending", False))
register_handler("aten.topk.default", _ordered(1, "largest", True))


def _sorted(emitter: Emitter, node: Any, source: Any, dim: int, *, descending: bool) -> Any:
    """Values and indices in order, as many as the node has; equal ones as they stood, NaN as the greatest."""
    builder = emitter.builder
    dtype: torch.dtype = source.meta["val"].dtype
    wide = _comparable(dtype)
    tensor = cast(emitter, emitter.tensor(source), dtype, wide)
    own = list(range(len(tensor.type.shape)))
    dim = own[dim]
    position = _positions(emitter, source, tensor, dim, descending)
    others = [len(own) if d == dim else d for d in own]
    length, zero = tensor.type.shape[dim], builder.constant(0, tensor.type.element_type)
    shape = emitter.shape(node.meta["val"][0].shape)

    def taken(then: Callable[[ir.Value, Callable[[int], ir.Value]], ir.Value]) -> Any:
        def body(args: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
            here = builder.compare("eq", args[1], builder.convert(index(dim), builder.i64))
            return arith.select(here, then(args[0], index), args[2])

        return body

    inputs = [(tensor, others), (position, others)]
    values = builder.generic(inputs, shape, zero.type, taken(lambda value, _: value), over=length, start=zero)
    found = taken(lambda _, index: builder.convert(index(len(own)), builder.i64))
    indices = builder.generic(inputs, shape, builder.i64, found, over=length, start=builder.constant(0, builder.i64))
    return finish(emitter, node, [(values, wide), (indices, torch.int64)])


def _comparable(dtype: torch.dtype) -> torch.dtype:
    """A dtype that holds the same values and can be compared: LLVM's JIT compares no bfloat16."""
    if dtype.is_floating_point and dtype.itemsize < 4:
        return torch.float32
    return torch.int32 if dtype == torch.bool else WIDER.get(dtype, dtype)


def _positions(emitter: Emitter, source: Any, tensor: ir.Value, dim: int, descending: bool) -> ir.Value:
    """How many lanes along `dim` come before each; the lanes that do not exist come last."""
    builder = emitter.builder
    sizes = source.meta["val"].shape
    loops = ragged_loops(emitter, sizes)
    loops = {dim: loops[dim]} if dim in loops else {}
    own = list(range(len(sizes)))
    last = len(own)

    def body(args: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
        here, other, count = args
        earlier = builder.compare("lt", index(last), index(dim))
        before = _before(builder, other, here, earlier, descending)
        exists = lane_mask(emitter, loops, sizes, index)
        other_exists = lane_mask(emitter, loops, sizes, lambda d: index(last if d == dim else d))
        if exists is not None and other_exists is not None:
            before = arith.select(builder.compare("eq", exists, other_exists), before, other_exists)
        return arith.addi(count, builder.convert(before, builder.i64))

    inputs = [(tensor, own), (tensor, [last if d == dim else d for d in own])]
    zero = builder.constant(0, builder.i64)
    return builder.generic(inputs, tensor.type.shape, zero.type, body, over=tensor.type.shape[dim], start=zero)


def _before(builder: Builder, one: ir.Value, other: ir.Value, earlier: ir.Value, descending: bool) -> ir.Value:
    """Whether `one` comes before `other`; of equals, the earlier."""
    less = builder.compare("gt" if descending else "lt", one, other)
    equal = builder.compare("eq", one, other)
    if is_float(one.type):
        one_nan, other_nan = (builder.compare("ne", value, value) for value in (one, other))
        first, second = (one_nan, other_nan) if descending else (other_nan, one_nan)
        less = arith.ori(less, builder.compare("lt", first, second))  # true is -1
        equal = arith.ori(equal, arith.andi(one_nan, other_nan))
    return arith.ori(less, arith.andi(equal, earlier))
