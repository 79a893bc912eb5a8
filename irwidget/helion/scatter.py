"""Stores and atomics at computed positions: a loop nest over the tile, guarded by masks and bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion.bindings import ir
from irwidget.helion.builder import is_float
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
        emitter.builder.op("memref.store", [element, host.value, *where])

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
        made = builder.op("scf.for", [builder.size(0), builder.size(subscript.shape[dim]), builder.size(1)], regions=1)
        block = builder.block(made, builder.index)
        with builder.at(ir.InsertionPoint(block)):
            counter = block.arguments[0]
            last = subscript.shape[dim] - 1
            lanes.append(builder.size(builder.subtract(last, counter)) if backwards and met else counter)
            nest(dim + 1)
            lanes.pop()
            builder.op("scf.yield")

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
        return builder.extract(index.value, [builder.size(0) if d is None else lanes[d] for d in index.dims])

    where = positions(emitter, host, subscript, lane, element)
    inside = lane_mask(emitter, ragged_loops(emitter, subscript.sizes), subscript.sizes, lane)
    inside = slice_mask(emitter, subscript, lane, inside)
    if mask is not None:
        extra = builder.convert(_broadcast_extract(emitter, mask, lanes), builder.i1)
        inside = extra if inside is None else builder.binary("andi", inside, extra)
    for dim, (_, index) in enumerate(subscript.memory):
        if isinstance(index, TensorIndex):
            low = builder.compare("ge", where[dim], builder.size(0))
            high = builder.compare("lt", where[dim], extent(emitter, host, dim))
            both = builder.binary("andi", low, high)
            inside = both if inside is None else builder.binary("andi", inside, both)
    if inside is None:
        write(builder.extract(value, lanes), where, lane)
        return
    made = builder.op("scf.if", [inside], regions=2)
    block = builder.block(made)
    with builder.at(ir.InsertionPoint(block)):
        write(builder.extract(value, lanes), where, lane)
        builder.op("scf.yield")


def _broadcast_extract(emitter: Emitter, tensor: ir.Value, lanes: list[ir.Value]) -> ir.Value:
    shape = list(tensor.type.shape)
    shift = len(lanes) - len(shape)
    where = [emitter.builder.size(0) if size == 1 else lanes[shift + d] for d, size in enumerate(shape)]
    return emitter.builder.extract(tensor, where)


# --- atomics -------------------------------------------------------------------------------------


def _number(kind: str) -> int:
    """The number of a kind of `memref.atomic_rmw`, which is another in other versions of MLIR."""
    from torch_mlir.dialects import arith

    kinds: Any = arith
    return int(kinds.AtomicRMWKind[kind].value)


def _kind(name: str, element: ir.Type) -> str | None:
    floating = is_float(element)
    return {
        "atomic_add": "addf" if floating else "addi",
        "atomic_xchg": "assign",
        "atomic_max": "maximumf" if floating else "maxs",
        "atomic_min": "minimumf" if floating else "mins",
        "atomic_and": "andi",
        "atomic_or": "ori",
        "atomic_xor": "xori",
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
                before = builder.value(
                    "memref.atomic_rmw",
                    [element, host.value, *where],
                    element.type,
                    {"kind": ir.IntegerAttr.get(builder.i64, _number(kind))},
                )
            else:
                others = [builder.extract(v, lanes) for v in values]
                before = _read_modify_write(emitter, name, host, where, others)
            if old is not None:
                builder.op("memref.store", [before, old, *lanes])

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
    buffer = builder.value("memref.alloc", [], kind, {"operandSegmentSizes": builder.segments(0, 0)})
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
    before = builder.value("memref.load", [host.value, *where], element)
    made = builder.op("memref.generic_atomic_rmw", [host.value, *where], [element], regions=1)
    block = builder.block(made, element)
    with builder.at(ir.InsertionPoint(block)):
        current = block.arguments[0]
        if name == "atomic_cas":
            new = builder.select(builder.compare("eq", current, operands[0]), operands[1], current)
        else:
            raise UnsupportedError(f"{name} has no form in the memref dialect")
        builder.op("memref.atomic_yield", [new])
    return before


for _name in ("add", "xchg", "and", "or", "xor", "max", "min", "cas"):
    register_handler(f"atomic_{_name}", _atomic(f"atomic_{_name}"))
