"""Sums of 64-bit integers on their way to tosa, where torch-mlir adds in 32 bits: they become linalg before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder, broadcast_dims

_BUILT = {"add": arith.addi, "sub": arith.subi}
_OPS = {f"torch.aten.{name}.{kind}": build for name, build in _BUILT.items() for kind in ("Tensor", "Scalar")}
_WIDE = re.compile(r"!torch\.vtensor<\[([\d,]*)\],si64>")


def to_linalg(module: Any) -> tuple[str, ...]:
    """Rewrite the sums and differences of 64-bit integers of a raw module (an operation), in place.

    Returns the locations of those that were.
    """
    builder = Builder(module.context)
    places: list[str] = []
    for function in module.regions[0].blocks[0].operations:
        if function.operation.name != "func.func":
            continue
        builder.start_function(function.regions[0].blocks[0])
        for operation in list(_sums(function.operation)):
            if (value := _replacement(builder, operation)) is not None:
                places.append(str(operation.location))
                operation.results[0].replace_all_uses_with(value)
                operation.erase()
    return tuple(places)


def _sums(root: Any) -> Iterator[Any]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                operation = view.operation
                if operation.name in _OPS:
                    yield operation
                else:
                    yield from _sums(operation)


def _replacement(builder: Builder, operation: Any) -> ir.Value | None:
    """The same as `linalg.generic`; None for one of other numbers, or with a factor that is not known."""
    result = operation.results[0].type
    left, right, *scaled = operation.operands
    factor = _number(scaled[0]) if scaled else 1
    shape = _shape(result)
    if shape is None or _shape(left) is None or factor is None:
        return None
    number = _number(right) if _shape(right) is None else None
    if _shape(right) is None and number is None:
        return None
    build = _OPS[operation.name]
    operands = [left] if number is not None else [left, right]
    with operation.location, ir.InsertionPoint(operation):
        inputs = [(_builtin(builder, value), broadcast_dims(_shape(value) or (), shape)) for value in operands]
        scale = builder.constant(factor, builder.i64)
        other = None if number is None else builder.constant(number * factor, builder.i64)

        def body(values: list[ir.Value], _: Any) -> ir.Value:
            if other is not None:
                return build(values[0], other)
            return build(values[0], values[1] if factor == 1 else arith.muli(values[1], scale))

        made = builder.generic(inputs, list(shape), builder.i64, body)
        return ir.Operation.create("torch_c.from_builtin_tensor", [result], [made]).result


def _shape(value: Any) -> tuple[int, ...] | None:
    """The static shape of a tensor of 64-bit integers; None for anything else. Takes a value or a type."""
    found = _WIDE.fullmatch(str(getattr(value, "type", value)))
    return None if found is None else tuple(int(size) for size in found[1].split(",") if size)


def _number(value: Any) -> int | None:
    owner: Any = value.owner
    name = getattr(owner, "name", "")
    return int(owner.attributes["value"]) if name == "torch.constant.int" else None


def _builtin(builder: Builder, value: ir.Value) -> ir.Value:
    kind = builder.tensor_type(list(_shape(value) or ()), builder.i64)
    return ir.Operation.create("torch_c.to_builtin_tensor", [kind], [value]).result
