"""Products of matrices with a scale for each group of elements along k, in ordinary arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion.aten import aten, aten_call, cast, conform, matmul
from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder
from irwidget.helion.handlers import register_handler
from irwidget.helion.quantized import unpacked

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

_FORMATS = {
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


@register_handler("dot_scaled")
def _dot_scaled(emitter: Emitter, node: Any) -> ir.Value:
    """A product whose operands have a power of two for each group along k: scales of [m, groups] and [n, groups]."""
    left, right = _scaled(emitter, *node.args[:3], k=1), _scaled(emitter, *node.args[3:6], k=0)
    acc = node.args[6] if len(node.args) > 6 else None
    bias = None if acc is None else (emitter.tensor(acc), acc.meta["val"].dtype)
    return conform(emitter, *matmul(emitter, left, right, bias, torch.float32), node.meta["val"])


def _scaled(emitter: Emitter, node: Any, scale: Any, form: Any, *, k: int) -> tuple[ir.Value, torch.dtype]:
    """An operand of `dot_scaled`, whose dim `k` is in groups, as f32."""
    dtype = node.meta["val"].dtype
    builder, tensor, exponents = emitter.builder, emitter.tensor(node), emitter.tensor(scale)
    if form == "e2m1" and dtype in (torch.uint8, torch.int8, torch.float4_e2m1fn_x2):
        tensor, dtype = unpacked(builder, tensor, k), torch.float32
    elif dtype != _FORMATS.get(form):
        raise UnsupportedError(f"{form} is not held in {dtype}, as Helion has it")
    shape, (others, groups) = list(tensor.type.shape), exponents.type.shape
    if shape[k] % groups:
        raise UnsupportedError(f"{shape[k]} elements cannot be scaled in {groups} equal groups")
    size = shape[k] // groups
    f32 = builder.element(torch.float32)
    wide = builder.generic([(exponents, [0, 1])], [others, groups, size], f32, lambda a, _: _power(builder, a[0]))
    wide = builder.reshape(wide, [others, shape[k]])
    powers = builder.generic([(wide, [1 - k, k])], shape, f32, lambda a, _: a[0])
    value = (cast(emitter, tensor, dtype, torch.float32), torch.float32)
    return aten_call(emitter, aten.mul.Tensor, value, (powers, torch.float32))


def _power(builder: Builder, byte: ir.Value) -> ir.Value:
    """2 ** (byte - 127): the byte is the exponent of an f32, and that of zero is subnormal."""
    f32, i32 = builder.element(torch.float32), builder.element(torch.int32)
    bits = arith.extui(i32, byte)
    bits = arith.shli(bits, builder.constant(23, i32))
    bits = arith.maxsi(bits, builder.constant(1 << 22, i32))
    return arith.bitcast(f32, bits)
