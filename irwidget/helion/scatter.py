"""Stores and atomics at computed positions: a loop nest over the tile, guarded by masks and bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion.bindings import arith, ir, memref, scf, tensor
from irwidget.helion.dtypes import is_float
from irwidget.helion.handlers import register_handler
from irwidget.helion.indexing import Subscript, TensorIndex, classify, extent, positions
from irwidget.helion.tiles import lane_mask, ragged_loops, slice_mask

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter, HostTensor

Write = Callable[[ir.Value, list[ir.Value], Callable[[int], ir.Value]], None]
"""Writes one element: its value, its position in memory, the lanes of the tile."""


def scatter(emitter: Emitter, host: HostTensor, subscript: Subscript, value: ir.Value, mask: ir.Value | None) -> None:
    """Store element by element.

    Where lanes meet in one element, the first lane wins: kernels point lanes
    that do not count at the first one that does.
    """

    def write(element: ir.Value, where: list[ir.Value], _: Callable[[int], ir.Value]) -> None:
        memref.store(element, host.value, where)

    each_lane(emitter, host, subscript, value, mask, write, backwards=True)


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


# --- atomics -------------------------------------------------------------------------------------


def _kind(name: str, element: ir.Type) -> Any:
    """The kind of `memref.atomic_rmw` for one of Helion's atomics; None where there is none."""
    floating, kinds = is_float(element), arith.AtomicRMWKind
    return {
        "atomic_add": kinds.addf if floating else kinds.addi,
        "atomic_xchg": kinds.assign,
        "atomic_max": kinds.maximumf if floating else kinds.maxs,
        "atomic_min": kinds.minimumf if floating else kinds.mins,
        "atomic_and": kinds.andi,
        "atomic_or": kinds.ori,
        "atomic_xor": kinds.xori,
    }.get(name)


def _atomic(name: str) -> Callable[[Emitter, Any], Any]:
    def emit(emitter: Emitter, node: Any) -> Any:
        from irwidget.helion.emitter import HostTensor
        from irwidget.helion.memory import stored_value

        builder = emitter.builder
        host = emitter.value(node.args[0])
        if not isinstance(host, HostTensor):
            raise UnsupportedError("it does not address a tensor of the host function")
        subscript = classify(emitter, host, node.args[1])
        operands = node.args[2:4] if name == "atomic_cas" else node.args[2:3]
        values = [stored_value(emitter, host, operand, subscript.shape) for operand in operands]
        old = _old_values(emitter, node, host, subscript)

        def write(element: ir.Value, where: list[ir.Value], lane: Callable[[int], ir.Value]) -> None:
            lanes = [lane(d) for d in range(len(subscript.shape))]
            kind = _kind(name, element.type)
            if kind is not None:
                before = memref.atomic_rmw(kind, element, host.value, where)
            else:
                others = [tensor.extract(v, lanes) for v in values]
                before = _read_modify_write(emitter, name, host, where, others)
            if old is not None:
                memref.store(before, old, lanes)

        each_lane(emitter, host, subscript, values[0], None, write)
        if old is None:
            return None
        from irwidget.helion.memory import to_tensor

        result = to_tensor(emitter, old, snapshot=True)
        return builder.reshape(result, emitter.shape_of(node))

    return emit


def _old_values(emitter: Emitter, node: Any, host: HostTensor, subscript: Subscript) -> ir.Value | None:
    """A buffer for the values before the atomic, where they are used; 0 in masked lanes."""
    if not node.users or not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    builder = emitter.builder
    element = builder.element(host.dtype)
    kind = builder.memref_type(subscript.shape, element)
    buffer = memref.alloc(kind, [], [])
    builder.fill_into(builder.constant(0, element), buffer, [])
    return buffer


def _read_modify_write(
    emitter: Emitter,
    name: str,
    host: HostTensor,
    where: list[ir.Value],
    operands: list[ir.Value],
) -> ir.Value:
    """`memref.generic_atomic_rmw` gives the new value; the old one is read before.

    Tiles run one after the other here, so that the two belong together.
    """
    builder = emitter.builder
    element = builder.element(host.dtype)
    before = memref.load(host.value, where)
    made = memref.GenericAtomicRMWOp(element, host.value, where)
    block = made.regions[0].blocks.append(element)
    with ir.InsertionPoint(block):
        current = block.arguments[0]
        if name == "atomic_cas":
            new = arith.select(builder.compare("eq", current, operands[0]), operands[1], current)
        else:
            raise UnsupportedError(f"{name} has no form in the memref dialect")
        memref.atomic_yield(new)
    return before


for _name in ("add", "xchg", "and", "or", "xor", "max", "min", "cas"):
    register_handler(f"atomic_{_name}", _atomic(f"atomic_{_name}"))
