"""Arithmetic on 64 bits on its way to tosa, which torch-mlir computes there with less: it becomes linalg before.

Torch-mlir adds 64-bit integers in 32 bits, and rounds numbers that are given to tensors of float64 to float32.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder, broadcast_dims

_Build = Callable[[Builder, ir.Value, ir.Value], ir.Value]
_SHAPED = re.compile(r"!torch\.vtensor<\[([\d,]*)\],(\w+)>")


def _of(build: Callable[[ir.Value, ir.Value], ir.Value]) -> _Build:
    return lambda _, left, right: build(left, right)


def _relation(name: str) -> _Build:
    return lambda builder, left, right: builder.compare(name, left, right)


_BUILT: dict[str, dict[str, _Build]] = {
    "si64": {"add": _of(arith.addi), "sub": _of(arith.subi)},
    "f64": {
        "add": _of(arith.addf),
        "sub": _of(arith.subf),
        **{name: _relation(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    },
}
_NAMES = {f"torch.aten.{name}.{kind}": name for name in _BUILT["f64"] for kind in ("Tensor", "Scalar")}
_FULL = "torch.aten.full"


def to_linalg(module: Any) -> tuple[str, ...]:
    """Rewrite what tosa has with less than 64 bits in a raw module (an operation), in place.

    Returns the locations of the sums and differences of integers that were.
    """
    builder = Builder(module.context)
    places: list[str] = []
    for function in module.regions[0].blocks[0].operations:
        if function.operation.name != "func.func":
            continue
        builder.start_function(function.regions[0].blocks[0])
        for operation in list(_arithmetic(function.operation)):
            if (value := _replacement(builder, operation)) is not None:
                if _kind(operation.operands[0]) == "si64":
                    places.append(str(operation.location))
                operation.results[0].replace_all_uses_with(value)
                operation.erase()
    return tuple(places)


def _arithmetic(root: Any) -> Iterator[Any]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                operation = view.operation
                if operation.name in _NAMES or operation.name == _FULL:
                    yield operation
                else:
                    yield from _arithmetic(operation)


def _replacement(builder: Builder, operation: Any) -> ir.Value | None:
    """The same as linalg; None for what tosa has exactly, or with a factor that is not known."""
    result = operation.results[0]
    shape = _shape(result)
    if shape is None:
        return None
    with operation.location, ir.InsertionPoint(operation):
        if operation.name == _FULL:
            number = _number(operation.operands[1]) if _kind(result) == "f64" else None
            made = None if number is None else builder.fill(builder.constant(number, builder.f64), shape)
        else:
            made = _computed(builder, operation, shape)
        if made is None:
            return None
        return ir.Operation.create("torch_c.from_builtin_tensor", [result.type], [made]).result


def _computed(builder: Builder, operation: Any, shape: list[int]) -> ir.Value | None:
    """What arithmetic makes, as `linalg.generic`."""
    left, right, *scaled = operation.operands
    kind, factor, number = _kind(left), _number(scaled[0]) if scaled else 1, _number(right)
    build = _BUILT.get(kind, {}).get(_NAMES[operation.name])
    if build is None or factor is None or _shape(left) is None or _kind(operation.results[0]) not in (kind, "i1"):
        return None
    if number is None and (_kind(right) != kind or _shape(right) is None or (kind == "f64" and factor == 1)):
        return None
    element = builder.f64 if kind == "f64" else builder.i64
    operands = [left] if number is not None else [left, right]
    inputs = [(_builtin(builder, value, element), broadcast_dims(_shape(value) or (), shape)) for value in operands]
    scale = builder.constant(factor, element)
    other = None if number is None else builder.constant(number * factor, element)

    def body(values: list[ir.Value], _: Any) -> ir.Value:
        if other is not None:
            return build(builder, values[0], other)
        product = arith.mulf if kind == "f64" else arith.muli
        return build(builder, values[0], values[1] if factor == 1 else product(values[1], scale))

    made_of = builder.i1 if _kind(operation.results[0]) == "i1" else element
    return builder.generic(inputs, shape, made_of, body)


def _shape(value: Any) -> list[int] | None:
    """The shape of a tensor; None where it is not static, and for anything else."""
    found = _SHAPED.fullmatch(str(value.type))
    return None if found is None else [int(size) for size in found[1].split(",") if size]


def _kind(value: Any) -> str:
    """What a tensor of a static shape is of, as torch-mlir says it; empty for anything else."""
    found = _SHAPED.fullmatch(str(value.type))
    return "" if found is None else found[2]


def _number(value: Any) -> float | None:
    owner: Any = value.owner
    name = getattr(owner, "name", "")
    if name == "torch.constant.int":
        return int(owner.attributes["value"])
    return float(ir.FloatAttr(owner.attributes["value"]).value) if name == "torch.constant.float" else None


def _builtin(builder: Builder, value: ir.Value, element: ir.Type) -> ir.Value:
    kind = builder.tensor_type(_shape(value) or [], element)
    return ir.Operation.create("torch_c.to_builtin_tensor", [kind], [value]).result
