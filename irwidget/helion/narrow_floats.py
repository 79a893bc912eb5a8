"""What computes with narrow floats and has no lowering to LLVM, or no function at run time.

Rewrites, in a module on its way to LLVM, `arith.truncf` from f64 to sixteen bits
as two by way of f32, and `arith.extf` and `arith.truncf` between f32 and f8E4M3FN
or f8E5M2 as integer arithmetic. Widening moves the bits of the small number to those of
an f32 and scales by a power of two, which is exact for subnormals too; narrowing
does the reverse and rounds to nearest, ties to even. What does not fit becomes
the largest number (f8E4M3FN, which has no infinity) or infinity (f8E5M2), as in PyTorch.
What computes with these two types does so in f32: a sum, a product or a quotient of two of them, rounded to theirs,
is what it is without the way.
"""

from __future__ import annotations

from typing import Any

from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder
from irwidget.toolchain.mlir_opt import in_place

_FORMATS = {"f8E4M3FN": (3, 7), "f8E5M2": (2, 15)}
"""Mantissa bits and exponent bias."""
_CONVERSIONS = ("arith.extf", "arith.truncf")
_MOVED = ("arith.constant", "arith.select", "arith.bitcast")
"""Do not compute."""


def replace_conversions(module: Any) -> None:
    """Replace every such conversion, in place."""
    builder = Builder(module.context)
    for function in module.body.operations:
        if function.operation.name == "func.func":
            block = function.regions[0].blocks[0]
            builder.start_function(block)
            for operation in _conversions(function.operation):
                _replace(builder, operation)


def _conversions(root: Any) -> list[Any]:
    found: list[Any] = []
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                operation = view.operation
                if _is_narrow(operation):
                    found.append(operation)
                found += _conversions(operation)
    return found


def _is_narrow(operation: Any) -> bool:
    """Whether it computes with narrow floats, or converts them in a way that there is none for."""
    if not operation.name.startswith(("arith.", "math.")) or operation.name in _MOVED:
        return False
    small = any(str(value.type) in _FORMATS for value in (*operation.operands, *operation.results))
    return small or (operation.name == "arith.truncf" and _is_double_to_half(operation))


def _is_double_to_half(operation: Any) -> bool:
    return str(operation.operands[0].type) == "f64" and operation.results[0].type.width == 16


def _replace(builder: Builder, operation: Any) -> None:
    with operation.location, ir.InsertionPoint(operation):
        f32, result = ir.F32Type.get(builder.context), operation.results[0]
        bits, bias = _FORMATS.get(str(result.type), (0, 0))
        operands = [_wide(builder, operand) for operand in operation.operands]
        if operation.name in _CONVERSIONS:
            value = builder.convert(operands[0], f32)
            value = value if bits else builder.convert(value, result.type)
        else:
            kinds = [f32 if bits else result.type]
            attributes = {name: operation.attributes[name] for name in operation.attributes}
            value = ir.Operation.create(operation.name, kinds, operands, attributes).results[0]
        if bits:
            value = _narrow(builder, value, result.type, bits, bias)
    result.replace_all_uses_with(value)
    operation.erase()


def _wide(builder: Builder, value: ir.Value) -> ir.Value:
    bits, bias = _FORMATS.get(str(value.type), (0, 0))
    return _widen(builder, value, bits, bias) if bits else value


def _widen(builder: Builder, value: ir.Value, bits: int, bias: int) -> ir.Value:
    i8, i32 = (ir.IntegerType.get_signless(w, builder.context) for w in (8, 32))
    f32 = ir.F32Type.get(builder.context)
    raw = arith.extui(i32, arith.bitcast(i8, value))
    magnitude = arith.andi(raw, builder.constant(0x7F, i32))
    moved = arith.shli(magnitude, builder.constant(23 - bits, i32))
    scaled = arith.mulf(arith.bitcast(f32, moved), builder.constant(2.0 ** (127 - bias), f32))
    body = arith.bitcast(i32, scaled)
    if bits == 3:
        special = builder.compare("eq", magnitude, builder.constant(0x7F, i32))
        body = arith.select(special, builder.constant(0x7FC00000, i32), body)
    else:
        infinite = builder.compare("ge", magnitude, builder.constant(0x7C, i32))
        above = arith.ori(moved, builder.constant(0x7F800000, i32))
        body = arith.select(infinite, above, body)
    sign = arith.shli(arith.andi(raw, builder.constant(0x80, i32)), builder.constant(24, i32))
    return arith.bitcast(f32, arith.ori(body, sign))


def _narrow(builder: Builder, value: ir.Value, small: ir.Type, bits: int, bias: int) -> ir.Value:
    i8, i32 = (ir.IntegerType.get_signless(w, builder.context) for w in (8, 32))
    f32 = ir.F32Type.get(builder.context)
    raw = arith.bitcast(i32, value)
    magnitude = arith.andi(raw, builder.constant(0x7FFFFFFF, i32))
    scaled = arith.mulf(arith.bitcast(f32, magnitude), builder.constant(2.0 ** (bias - 127), f32))
    body = arith.bitcast(i32, scaled)
    shift = builder.constant(23 - bits, i32)
    odd = arith.andi(arith.shrui(body, shift), builder.constant(1, i32))
    rounded = arith.addi(body, arith.addi(odd, builder.constant((1 << (22 - bits)) - 1, i32)))
    rounded = arith.shrui(rounded, shift)
    limit, beyond = (0x7E, 0x7E) if bits == 3 else (0x7B, 0x7C)
    fits = builder.compare("le", rounded, builder.constant(limit, i32))
    rounded = arith.select(fits, rounded, builder.constant(beyond, i32))
    large = builder.compare("ge", magnitude, builder.constant(0x7F800000, i32))
    rounded = arith.select(large, builder.constant(beyond, i32), rounded)
    is_nan = builder.compare("gt", magnitude, builder.constant(0x7F800000, i32))
    rounded = arith.select(is_nan, builder.constant(0x7F, i32), rounded)
    sign = arith.andi(arith.shrui(raw, builder.constant(24, i32)), builder.constant(0x80, i32))
    byte = arith.trunci(i8, arith.ori(rounded, sign))
    return arith.bitcast(small, byte)


tool = in_place("replace-narrow-floats", replace_conversions)
"""The step of a pipeline that does this."""
