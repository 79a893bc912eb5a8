"""Stores at computed positions: a loop nest over the tile, guarded by masks and bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from irwidget.helion.bindings import arith, ir, memref, scf, tensor
from irwidget.helion.indexing import Subscript, TensorIndex, extent, positions
from irwidget.helion.tiles import lane_mask, ragged_loops, slice_mask
from irwidget.helion.values import HostTensor

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

Write = Callable[[ir.Value, list[ir.Value], Callable[[int], ir.Value]], None]
"""Writes one element: its value, its position in memory, the lanes of the tile."""


def scatter(emitter: Emitter, host: HostTensor, subscript: Subscript, value: ir.Value, mask: ir.Value | None) -> None:
    """Store element by element.

    Where lanes meet in one element, the first lane wins: kernels point lanes
    that do not count at the first one that does.
    """

    def write(element: ir.Value, where: list[ir.Value], _: Callable[[int], ir.Value]) -> None:
        memref.store(element, host.value, where)

    each_lane(emitter, host, subscript, value, mask, write, backwards=not emitter.binding.last_lane)


def each_lane(
    emitter: Emitter,
    host: HostTensor,
    subscript: Subscript,
    value: ir.Value,
    mask: ir.Value | None,
    write: Write,
    *,
    backwards: bool = False,
) -> None:
    """Run `write` for each lane of a tile that is inside its loops, unmasked, and inside the tensor."""
    builder = emitter.builder
    lanes: list[ir.Value] = []
    met = not subscript.regular

    def nest(dim: int) -> None:
        if dim == len(subscript.shape):
            _guarded(emitter, host, subscript, value, mask, lanes, write)
            return
        loop = scf.ForOp(builder.size(0), builder.size(subscript.shape[dim]), builder.size(1))
        with ir.InsertionPoint(loop.body):
            counter = loop.induction_variable
            last = subscript.shape[dim] - 1
            lanes.append(builder.size(builder.subtract(last, counter)) if backwards and met else counter)
            nest(dim + 1)
            lanes.pop()
            scf.yield_([])

    nest(0)


def _guarded(
    emitter: Emitter,
    host: HostTensor,
    subscript: Subscript,
    value: ir.Value,
    mask: ir.Value | None,
    lanes: list[ir.Value],
    write: Write,
) -> None:
    builder = emitter.builder

    def lane(dim: int) -> ir.Value:
        return lanes[dim]

    def element(index: TensorIndex) -> ir.Value:
        return tensor.extract(index.value, [builder.size(0) if d is None else lanes[d] for d in index.dims])

    where = positions(emitter, host, subscript, lane, element)
    inside = lane_mask(emitter, ragged_loops(emitter, subscript.sizes), subscript.sizes, lane)
    inside = slice_mask(emitter, subscript, lane, inside)
    if mask is not None:
        extra = builder.convert(_broadcast_extract(emitter, mask, lanes), builder.i1)
        inside = builder.conjunction(inside, extra)
    for dim, (_, index) in enumerate(subscript.memory):
        if isinstance(index, TensorIndex):
            low = builder.compare("ge", where[dim], builder.size(0))
            high = builder.compare("lt", where[dim], extent(emitter, host, dim))
            inside = builder.conjunction(inside, arith.andi(low, high))
    if inside is None:
        write(tensor.extract(value, lanes), where, lane)
        return
    with ir.InsertionPoint(scf.IfOp(inside).then_block):
        write(tensor.extract(value, lanes), where, lane)
        scf.yield_([])


def _broadcast_extract(emitter: Emitter, value: ir.Value, lanes: list[ir.Value]) -> ir.Value:
    shape = list(value.type.shape)
    shift = len(lanes) - len(shape)
    where = [emitter.builder.size(0) if size == 1 else lanes[shift + d] for d, size in enumerate(shape)]
    return tensor.extract(value, where)
