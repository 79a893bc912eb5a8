"""Means and variances over tiles with masked lanes: they count the lanes that exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import private
from irwidget.helion.aten import aten, aten_call, cast, emit_aten, finish, restored_arguments
from irwidget.helion.bindings import arith, ir
from irwidget.helion.handlers import register_handler
from irwidget.helion.tiles import lane_mask, ragged_loops
from irwidget.helion.values import TileLoop

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

Typed = tuple[ir.Value, torch.dtype]


class _Reduction:
    """A reduction of a tile over some dims, of which some have masked lanes."""

    def __init__(self, emitter: Emitter, node: Any) -> None:
        self.emitter = emitter
        args, kwargs = restored_arguments(node)
        self.node = node
        self.source = args[0]
        self.kwargs = kwargs
        self.sizes: Sequence[Any] = self.source.meta["val"].shape
        rank = len(self.sizes)
        dims = args[1] if len(args) > 1 else kwargs.get("dim")
        if isinstance(dims, int):
            dims = [dims]
        self.dims = sorted(d % rank for d in dims) if dims else list(range(rank))
        self.keepdim = bool(args[2] if len(args) > 2 else kwargs.get("keepdim", False))
        loops = ragged_loops(emitter, self.sizes)
        self.loops: dict[int, TileLoop] = {d: loop for d, loop in loops.items() if d in self.dims}

    def input(self) -> Typed:
        """The tile in the dtype that it is summed in."""
        dtype = self.source.meta["val"].dtype
        wide = dtype if dtype == torch.float64 else torch.float32
        return cast(self.emitter, self.emitter.tensor(self.source), dtype, wide), wide

    def count(self, dtype: torch.dtype) -> Typed:
        """How many lanes exist along the reduced dims, as a 0-d tensor."""
        builder = self.emitter.builder
        shape = self.emitter.shape(self.sizes)
        total: Any = 1
        for dim in self.dims:
            loop = self.loops.get(dim)
            if loop is not None and loop.parent is not None:
                raise UnsupportedError("a mean over a jagged tile has a different count in every lane")
            total = builder.multiply(total, shape[dim] if loop is None else loop.valid)
        return builder.from_scalar(builder.convert(builder.size(total), builder.element(dtype))), dtype

    def masked(self, value: ir.Value) -> ir.Value:
        """`value` with 0 in the lanes that do not exist."""
        builder = self.emitter.builder
        zero = builder.constant(0, value.type.element_type)
        shape = list(value.type.shape)

        def body(args: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
            mask = lane_mask(self.emitter, self.loops, self.sizes, index)
            return args[0] if mask is None else arith.select(mask, args[0], zero)

        return builder.generic([(value, list(range(len(shape))))], shape, value.type.element_type, body)

    def mean(self, value: Typed, keepdim: bool) -> Typed:
        masked = (self.masked(value[0]), value[1])
        total = aten_call(self.emitter, aten.sum.dim_IntList, masked, list(self.dims), keepdim)
        return aten_call(self.emitter, aten.div.Tensor, total, self.count(value[1]))


def _summed(emitter: Emitter, node: Any) -> Any:
    """The mean of which a reduction loop before has made the sum; None for one that is made here.

    Helion may repeat the node in loops after it, which get that sum from outside.
    """
    extras = [one for one in node.kwargs.get("_extra_args", ()) if one is not None]
    if len(extras) != 1 or not _is_carried(emitter, extras[0]):
        return None
    reduction = _Reduction(emitter, node)
    blocks = [emitter.block_of(reduction.sizes[dim]) for dim in reduction.dims]
    if len(blocks) != 1 or blocks[0] not in emitter.binding.whole:
        raise UnsupportedError("its sum comes from a loop, and over how many lanes is not known")
    dtype = extras[0].meta["val"].dtype
    count = emitter.builder.constant(emitter.binding.whole[blocks[0]], emitter.builder.element(dtype))
    total = (emitter.tensor(extras[0]), dtype)
    return finish(
        emitter, node, [aten_call(emitter, aten.div.Tensor, total, (emitter.builder.from_scalar(count), dtype))]
    )


def _is_carried(emitter: Emitter, extra: Any) -> bool:
    """Whether what Helion computes beside a node has come to its value in a loop before."""
    if extra.op == "placeholder":
        return True
    loop = extra.args[0].args[0] if private.target_name(extra.target) == "_operator.getitem" else None
    return isinstance(loop, int) and private.is_reduction_loop(emitter.binding.infos[loop])


@register_handler("aten.mean.dim")
@register_handler("aten.mean.default")
def _mean(emitter: Emitter, node: Any) -> Any:
    if (total := _summed(emitter, node)) is not None:
        return total
    reduction = _Reduction(emitter, node)
    if not reduction.loops:
        return emit_aten(emitter, node)
    return finish(emitter, node, [reduction.mean(reduction.input(), reduction.keepdim)])


@register_handler("aten.var.correction")
@register_handler("aten.var.dim")
@register_handler("aten.var_mean.correction")
def _variance(emitter: Emitter, node: Any) -> Any:
    reduction = _Reduction(emitter, node)
    if not reduction.loops:
        return emit_aten(emitter, node)
    builder = emitter.builder
    value = reduction.input()
    dtype = value[1]
    mean = reduction.mean(value, True)
    centred = aten_call(emitter, aten.sub.Tensor, value, mean)
    squares = aten_call(emitter, aten.mul.Tensor, centred, centred)
    keep = bool(reduction.kwargs.get("keepdim", False))
    total = aten_call(emitter, aten.sum.dim_IntList, (reduction.masked(squares[0]), dtype), list(reduction.dims), keep)
    correction = reduction.kwargs.get("correction", 1)
    one = builder.constant(1 if correction is None else correction, builder.element(dtype))
    count = aten_call(emitter, aten.sub.Tensor, reduction.count(dtype), (builder.from_scalar(one), dtype))
    results = [aten_call(emitter, aten.div.Tensor, total, count)]
    if node.target is aten.var_mean.correction:
        results.append(reduction.mean(value, keep))
    return finish(emitter, node, results)
