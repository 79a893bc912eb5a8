"""Quotients that are rounded, and remainders, exact as PyTorch's are, in every output type.

Torch-mlir rounds the quotient of floats first, which loses digits where it is large, and makes NaN of what an infinite
divisor leaves as it is; its floors of the extreme integers are others. The masked lanes of a tile read zero, and the
processor divides neither by zero nor the least integer by -1: there it divides by 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.helion.aten import cast, finish, normalise
from irwidget.helion.bindings import arith, ir, math
from irwidget.helion.builder import Builder
from irwidget.helion.dtypes import WIDER, is_float
from irwidget.helion.handlers import register_handler
from irwidget.helion.nodes import AtenCall, TensorOperand

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

Compute = Callable[[Builder, ir.Value, ir.Value], ir.Value]
"""Of a dividend and a divisor, or two other scalars of one type."""


def as_generic(chosen: Callable[[AtenCall], Compute | None]) -> Callable[[Emitter, Any], Any]:
    """A `linalg.generic` of what is chosen for a call, or the call as it is."""

    def emit(emitter: Emitter, node: Any) -> Any:
        dtype: torch.dtype = node.meta["val"].dtype
        call, shape = normalise(emitter, node), emitter.shape_of(node)
        compute = chosen(call)
        if compute is None:
            return finish(emitter, node, emitter.importer.call(emitter.builder, call))
        wide = torch.promote_types(dtype, torch.float32) if dtype.is_floating_point else WIDER.get(dtype, dtype)
        inputs = [(_operand(emitter, call, one, wide, shape), list(range(len(shape)))) for one in call.args[:2]]
        made = emitter.builder.generic(
            inputs, shape, emitter.builder.element(wide), lambda values, _: compute(emitter.builder, *values)
        )
        return finish(emitter, node, [(cast(emitter, made, wide, dtype), dtype)])

    return emit


def _operand(emitter: Emitter, call: AtenCall, argument: Any, wide: torch.dtype, shape: list[int]) -> ir.Value:
    builder = emitter.builder
    if isinstance(argument, TensorOperand):
        value, own = call.operands[argument.position]
        return builder.broadcast(cast(emitter, value, own, wide), shape)
    dtype = call.operands[0][1]  # to which PyTorch rounds a number beside floats
    number = builder.constant(argument, builder.element(dtype if dtype.is_floating_point else wide))
    return builder.fill(builder.convert(number, builder.element(wide)), shape)


def _divisible(builder: Builder, divisor: ir.Value) -> tuple[ir.Value, ir.Value]:
    """An integer without 0 and -1, and whether it was -1."""
    one, minus = builder.constant(1, divisor.type), builder.constant(-1, divisor.type)
    negates = builder.compare("eq", divisor, minus)
    zero = builder.compare("eq", divisor, builder.constant(0, divisor.type))
    return arith.select(arith.ori(negates, zero), one, divisor), negates


def _opposite(builder: Builder, left: ir.Value, divisor: ir.Value) -> ir.Value:
    """Whether something is left that has not the divisor's sign."""
    zero = builder.constant(0, left.type)
    signs = arith.xori(builder.compare("lt", left, zero), builder.compare("lt", divisor, zero))
    return arith.andi(builder.compare("ne", left, zero), signs)


def _fmod(builder: Builder, dividend: ir.Value, divisor: ir.Value) -> ir.Value:
    if is_float(dividend.type):
        return arith.remf(dividend, divisor)
    return arith.remsi(dividend, _divisible(builder, divisor)[0])


def _remainder(builder: Builder, dividend: ir.Value, divisor: ir.Value) -> ir.Value:
    """With the divisor's sign."""
    left = _fmod(builder, dividend, divisor)
    add = arith.addf if is_float(left.type) else arith.addi
    return arith.select(_opposite(builder, left, divisor), add(left, divisor), left)


def _trunc(builder: Builder, dividend: ir.Value, divisor: ir.Value) -> ir.Value:
    if is_float(dividend.type):
        return math.trunc(arith.divf(dividend, divisor))
    divisible, negates = _divisible(builder, divisor)
    negative = arith.subi(builder.constant(0, dividend.type), dividend)
    return arith.select(negates, negative, arith.divsi(dividend, divisible))


def _floor(builder: Builder, dividend: ir.Value, divisor: ir.Value) -> ir.Value:
    left = _fmod(builder, dividend, divisor)
    opposite, one = _opposite(builder, left, divisor), builder.constant(1, left.type)
    if not is_float(left.type):
        quotient = _trunc(builder, dividend, divisor)
        return arith.select(opposite, arith.subi(quotient, one), quotient)
    quotient, zero = arith.divf(dividend, divisor), builder.constant(0, left.type)
    exact = arith.divf(arith.subf(dividend, left), divisor)
    exact = arith.select(opposite, arith.subf(exact, one), exact)
    floor = math.floor(exact)
    nearer = builder.compare("gt", arith.subf(exact, floor), builder.constant(0.5, left.type))
    floor = arith.select(nearer, arith.addf(floor, one), floor)
    floor = arith.select(builder.compare("eq", exact, zero), math.copysign(zero, quotient), floor)
    return arith.select(builder.compare("eq", divisor, zero), quotient, floor)


_ROUNDED: dict[Any, Compute] = {"floor": _floor, "trunc": _trunc}
for _overload in ("Tensor", "Scalar", "Scalar_Tensor"):
    register_handler(f"aten.fmod.{_overload}", as_generic(lambda _: _fmod))
    register_handler(f"aten.remainder.{_overload}", as_generic(lambda _: _remainder))
for _overload in ("Tensor_mode", "Scalar_mode"):
    register_handler(f"aten.div.{_overload}", as_generic(lambda call: _ROUNDED.get(call.kwargs.get("rounding_mode"))))
for _overload in ("default", "Scalar"):
    register_handler(f"aten.floor_divide.{_overload}", as_generic(lambda _: _floor))
