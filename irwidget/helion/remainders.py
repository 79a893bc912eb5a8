"""Remainders of floats, exact as PyTorch's and Triton's are, in every output type.

Torch-mlir subtracts the rounded quotient times the divisor, which loses digits where
the quotient is large, and makes NaN of what an infinite divisor leaves as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.helion.aten import cast, emit_aten, finish, normalise
from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder
from irwidget.helion.handlers import handler_for, register_handler
from irwidget.helion.nodes import TensorOperand

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

Emit = Callable[["Emitter", Any], Any]


def _of_floats(integers: Emit, *, divisors_sign: bool) -> Emit:
    """An `arith.remf` where the result is a float, else what `integers` emits."""

    def emit(emitter: Emitter, node: Any) -> Any:
        dtype: torch.dtype = node.meta["val"].dtype
        if not dtype.is_floating_point:
            return integers(emitter, node)
        wide = torch.promote_types(dtype, torch.float32)
        call, shape, builder = normalise(emitter, node), emitter.shape_of(node), emitter.builder
        operands: list[ir.Value] = []
        for argument in call.args:
            if isinstance(argument, TensorOperand):
                value, own = call.operands[argument.position]
                operands.append(builder.broadcast(cast(emitter, value, own, wide), shape))
            else:
                number = builder.constant(float(argument), builder.element(dtype))  # rounded, as PyTorch does
                operands.append(builder.fill(builder.convert(number, builder.element(wide)), shape))
        inputs = [(value, list(range(len(shape)))) for value in operands]
        made = builder.generic(
            inputs, shape, builder.element(wide), lambda values, _: _remainder(builder, values, divisors_sign)
        )
        return finish(emitter, node, [(cast(emitter, made, wide, dtype), dtype)])

    return emit


def _remainder(builder: Builder, values: list[ir.Value], divisors_sign: bool) -> ir.Value:
    left, divisor = arith.remf(values[0], values[1]), values[1]
    if not divisors_sign:
        return left
    zero = builder.constant(0.0, left.type)
    opposite = arith.xori(builder.compare("lt", left, zero), builder.compare("lt", divisor, zero))
    other = arith.andi(builder.compare("ne", left, zero), opposite)
    return arith.select(other, arith.addf(left, divisor), left)


for _name, _signed in (("fmod", False), ("remainder", True)):
    for _overload in ("Tensor", "Scalar", "Scalar_Tensor"):
        _target = f"aten.{_name}.{_overload}"
        register_handler(_target, _of_floats(handler_for(_target) or emit_aten, divisors_sign=_signed))
