"""Atomic updates of host tensors, lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import bounds
from irwidget.helion.bindings import arith, ir, memref, tensor
from irwidget.helion.dtypes import is_float
from irwidget.helion.handlers import register_handler
from irwidget.helion.indexing import Subscript, classify
from irwidget.helion.memory import require_host, stored_value, to_tensor
from irwidget.helion.scatter import each_lane
from irwidget.helion.values import HostTensor

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter


def _kind(name: str, element: ir.Type, dtype: torch.dtype) -> Any:
    """The kind of `memref.atomic_rmw` for one of Helion's atomics; None where there is none."""
    floating, kinds = is_float(element), arith.AtomicRMWKind
    largest, smallest = (kinds.maxs, kinds.mins) if dtype.is_signed else (kinds.maxu, kinds.minu)
    return {
        "atomic_add": kinds.addf if floating else kinds.addi,
        "atomic_xchg": kinds.assign,
        "atomic_max": kinds.maximumf if floating else largest,
        "atomic_min": kinds.minimumf if floating else smallest,
        "atomic_and": kinds.andi,
        "atomic_or": kinds.ori,
        "atomic_xor": kinds.xori,
    }.get(name)


def _atomic(name: str) -> Callable[[Emitter, Any], Any]:
    def emit(emitter: Emitter, node: Any) -> Any:
        builder = emitter.builder
        host = require_host(emitter.value(node.args[0]))
        subscript = classify(emitter, host, node.args[1])
        bounds.note(emitter, host, subscript, masked=False)
        operands = node.args[2:4] if name == "atomic_cas" else node.args[2:3]
        values = [stored_value(emitter, host, operand, subscript) for operand in operands]
        old = _old_values(emitter, node, host, subscript)

        def write(element: ir.Value, where: list[ir.Value], lane: Callable[[int], ir.Value]) -> None:
            lanes = [lane(d) for d in range(len(subscript.shape))]
            kind = _kind(name, element.type, host.dtype)
            if kind is not None:
                before = memref.atomic_rmw(kind, element, host.value, where)
            else:
                others = [tensor.extract(v, lanes) for v in values]
                before = _read_modify_write(emitter, name, host, where, others)
            if old is not None:
                memref.store(before, old, lanes)

        if not host.empty:
            each_lane(emitter, host, subscript, values[0], None, write)
        if old is None:
            return None
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
