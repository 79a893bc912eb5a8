"""Loads and conversions of packed small floats, which GPUs have instructions for, as integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion.bindings import arith, ir, tensor
from irwidget.helion.builder import Builder
from irwidget.helion.handlers import register_handler
from irwidget.helion.indexing import extent
from irwidget.helion.memory import clamp, require_host, to_tensor

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

_LANES = 16
"""Elements that a quantised load gives, each as a tile of its own."""


def e2m1(builder: Builder, byte: ir.Value, *, high: bool | ir.Value) -> ir.Value:
    """The f32 that the low or high four bits of an i8 stand for: a sign, two bits of exponent, one of mantissa.

    `high` may be an i1 value.
    """
    f32, i32 = builder.element(torch.float32), builder.element(torch.int32)
    wide = arith.extui(i32, byte)
    upper = arith.shrui(wide, builder.constant(4, i32))
    nibble = (upper if high else wide) if isinstance(high, bool) else arith.select(high, upper, wide)
    magnitude = arith.shli(arith.andi(nibble, builder.constant(7, i32)), builder.constant(22, i32))
    scaled = arith.mulf(arith.bitcast(f32, magnitude), builder.constant(2.0**126, f32))  # exact, subnormals too
    sign = arith.shli(arith.andi(nibble, builder.constant(8, i32)), builder.constant(28, i32))
    return arith.bitcast(f32, arith.ori(arith.bitcast(i32, scaled), sign))


def unpacked(builder: Builder, packed: ir.Value, dim: int) -> ir.Value:
    """A tensor of bytes with two e2m1 floats each as one of f32, twice as long along `dim`: the low bits come first."""
    shape = list(packed.type.shape)
    f32 = builder.element(torch.float32)
    paired = [*shape[: dim + 1], 2, *shape[dim + 1 :]]
    dims: list[int | None] = [d for d in range(len(paired)) if d != dim + 1]

    def body(args: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
        return e2m1(builder, args[0], high=builder.compare("eq", index(dim + 1), builder.size(1)))

    return builder.reshape(
        builder.generic([(packed, dims)], paired, f32, body), [*shape[:dim], 2 * shape[dim], *shape[dim + 1 :]]
    )


@register_handler("float4_e2m1fn_x2_to_float32")
def _pair(emitter: Emitter, node: Any) -> list[ir.Value]:
    """The two floats of each byte of a tile."""
    builder, packed = emitter.builder, emitter.tensor(node.args[0])
    shape, f32 = list(packed.type.shape), emitter.builder.element(torch.float32)

    def half(high: bool) -> ir.Value:
        return builder.generic(
            [(packed, list(range(len(shape))))], shape, f32, lambda args, _: e2m1(builder, args[0], high=high)
        )

    return [half(False), half(True)]


@register_handler("load_float4_e2m1fn_x16_to_float16")
def _load_e2m1(emitter: Emitter, node: Any) -> list[ir.Value]:
    builder, f16 = emitter.builder, emitter.builder.element(torch.float16)

    def element(read: Callable[[ir.Value], ir.Value], start: ir.Value, lane: ir.Value) -> ir.Value:
        two = builder.size(2)
        byte = read(arith.addi(start, arith.divui(lane, two)))
        odd = builder.compare("eq", arith.remui(lane, two), builder.size(1))
        return builder.convert(e2m1(builder, byte, high=odd), f16)

    return _lanes(emitter, node, _LANES // 2, element)


@register_handler("load_bfloat16_x16_to_float16")
def _load_bf16(emitter: Emitter, node: Any) -> list[ir.Value]:
    builder, f16 = emitter.builder, emitter.builder.element(torch.float16)

    def element(read: Callable[[ir.Value], ir.Value], start: ir.Value, lane: ir.Value) -> ir.Value:
        return builder.convert(builder.convert(read(arith.addi(start, lane)), builder.element(torch.float32)), f16)

    return _lanes(emitter, node, _LANES, element)


Element = Callable[[Callable[[ir.Value], ir.Value], ir.Value, ir.Value], ir.Value]
"""An f16 from what reads storage at a position, the position where the group begins, and the lane."""


def _lanes(emitter: Emitter, node: Any, group: int, element: Element) -> list[ir.Value]:
    """Sixteen tiles: lane by lane what storage has at the groups, of `group` elements, that a tile of offsets names."""
    builder, host = emitter.builder, require_host(emitter.value(node.args[0]))
    if host.strides is not None:
        raise UnsupportedError("it reads storage that is not contiguous; pass storage.contiguous()")
    offsets = emitter.tensor(node.args[1])
    mask = node.args[2] if len(node.args) > 2 else None
    shape, f16 = list(offsets.type.shape), builder.element(torch.float16)
    dims: list[int | None] = list(range(len(shape)))
    inputs = [(offsets, dims)]
    if mask is not None:
        inputs.append((builder.broadcast(emitter.tensor(mask), shape), dims))
    storage = None if host.empty else to_tensor(emitter, host.value, snapshot=host.written)
    sizes = [extent(emitter, host, dim) for dim in range(len(host.shape))]

    def read(position: ir.Value) -> ir.Value:
        where: list[ir.Value] = []
        for dim in reversed(range(len(sizes))):
            inside = clamp(emitter, position, sizes[dim]) if dim == 0 else arith.remui(position, sizes[dim])
            where.insert(0, inside)
            position = arith.divui(position, sizes[dim]) if dim else position
        return tensor.extract(storage, where)

    def body(args: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
        zero = builder.constant(0.0, f16)
        if storage is None:
            return zero
        start = arith.maxsi(arith.muli(builder.to_index(args[0]), builder.size(group)), builder.size(0))
        value = element(read, start, index(len(shape)))
        return value if mask is None else arith.select(builder.convert(args[1], builder.i1), value, zero)

    every = builder.generic(inputs, [*shape, _LANES], f16, body)
    return [builder.slice(every, [*[0] * len(shape), i], [*shape, 1], shape) for i in range(_LANES)]
