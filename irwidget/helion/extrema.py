"""Maxima and minima of floats as PyTorch has them, NaN and infinities included, where torch-mlir's forms differ.

Its linalg form of `maximum` compares and selects, and loses a NaN on the right; its tosa form of `relu` is a clamp to
the largest finite number, and the reductions of tosa-to-linalg begin at that number. A product with zero is folded to
zero there, of NaN and infinities, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder, broadcast_dims
from irwidget.toolchain.mlir_opt import in_place

_FLOATS = re.compile(r"!torch\.vtensor<\[([\d,]*)\],((?:bf|f)\d+)>")
_LITERAL = re.compile(r"^dense<(-?[\d.]+(?:e[+-]\d+)?)>")
_EXTREMA = {"torch.aten.maximum": arith.maximumf, "torch.aten.minimum": arith.minimumf}
LINALG = frozenset(_EXTREMA)
"""The ops that `to_linalg` rewrites."""
_PRODUCTS = ("torch.aten.mul.Scalar", "torch.aten.mul.Tensor")
_LARGEST = {"f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38, "f16": 65504.0, "bf16": 3.3895313892515355e38}
"""The largest finite number of each type."""
_NAN = {"f64": "0x7FF8000000000000", "f32": "0x7FC00000", "f16": "0x7E00", "bf16": "0x7FC0"}


def to_linalg(module: Any) -> None:
    """Rewrite maxima and minima of floats in a raw module (an operation) as `arith.maximumf`, in place."""
    builder = Builder(module.context)
    for function, operation in _operations(module, _EXTREMA):
        types = [_shape_and_element(value) for value in (*operation.operands, operation.results[0])]
        if None in types or len({found[1] for found in types if found}) != 1:
            continue
        *operands, (shape, element) = [found for found in types if found]
        builder.start_function(function.regions[0].blocks[0])
        with operation.location, ir.InsertionPoint(operation):
            kind = ir.Type.parse(element, module.context)
            inputs = [
                (_builtin(builder, value, own, kind), broadcast_dims(own, shape))
                for value, (own, _) in zip(operation.operands, operands, strict=True)
            ]
            build = _EXTREMA[operation.name]
            made = builder.generic(inputs, list(shape), kind, lambda values, _, build=build: build(*values))
            _replace(operation, ir.Operation.create("torch_c.from_builtin_tensor", [operation.results[0].type], [made]))


def to_tosa(module: Any) -> None:
    """Rewrite `relu` of floats in a raw module (an operation) as a maximum, mend `sqrt`, products with 0, in place."""
    for _, operation in _operations(module, ("torch.aten.relu",)):
        result = operation.results[0]
        if (found := _shape_and_element(result)) is None:
            continue
        with operation.location, ir.InsertionPoint(operation):
            zero = _literal("0.0", found[1])
            _replace(operation, ir.Operation.create("torch.aten.maximum", [result.type], [operation.operands[0], zero]))
    for _, operation in _operations(module, ("torch.aten.sqrt",)):
        _not_a_number_below_zero(operation)
    builder = Builder(module.context)
    for function, operation in _operations(module, _PRODUCTS):
        builder.start_function(function.regions[0].blocks[0])
        _with_no_constant_zero(builder, operation)


def _not_a_number_below_zero(root: Any) -> None:
    """Make a square root NaN below zero: its tosa form is a power, which makes infinity of minus infinity."""
    result = root.results[0]
    found = _shape_and_element(root.operands[0])
    if found is None or _shape_and_element(result) != found:
        return
    sizes = ",".join(map(str, found[0]))
    with root.location, ir.InsertionPoint.after(root):
        zero, nan = (_literal(number, found[1]) for number in ("0.0", _NAN[found[1]]))
        flags = ir.Type.parse(f"!torch.vtensor<[{sizes}],i1>")
        below = ir.Operation.create("torch.aten.lt.Tensor", [flags], [root.operands[0], zero]).result
        mended = ir.Operation.create("torch.aten.where.self", [result.type], [below, nan, result])
    result.replace_all_uses_except(mended.result, mended)


def _with_no_constant_zero(builder: Builder, product: Any) -> None:
    """Fill a tensor with the zero by which floats are multiplied, so that it is no constant that is folded."""
    result, found = product.results[0], _shape_and_element(product.results[0])
    if found is None or found != _shape_and_element(product.operands[0]) or not _is_zero(product.operands[1]):
        return
    with product.location, ir.InsertionPoint(product):
        kind = ir.Type.parse(found[1], product.context)
        zeros = builder.fill(builder.constant(0.0, kind), list(found[0]))
        tensor = ir.Operation.create("torch_c.from_builtin_tensor", [result.type], [zeros]).result
        _replace(product, ir.Operation.create("torch.aten.mul.Tensor", [result.type], [product.operands[0], tensor]))


def _is_zero(value: Any) -> bool:
    owner: Any = value.owner
    name = getattr(owner, "name", "")
    if name in ("torch.constant.float", "torch.constant.int"):
        return float(owner.attributes["value"].value) == 0
    found = _LITERAL.search(str(owner.attributes["value"])) if name == "torch.vtensor.literal" else None
    return found is not None and float(found[1]) == 0


def _literal(number: str, element: str) -> ir.Value:
    """A 0-d tensor of torch's."""
    kind = ir.Type.parse(f"!torch.vtensor<[],{element}>")
    value = ir.Attribute.parse(f"dense<{number}> : tensor<{element}>")
    return ir.Operation.create("torch.vtensor.literal", [kind], [], {"value": value}).result


def begin_at_infinity(module: Any) -> None:
    """Begin the maxima and minima of a module of linalg that begin at the largest finite number at infinity."""
    for _, reduction in _operations(module, ("linalg.reduce", "linalg.generic")):
        body = {view.operation.name for view in reduction.regions[0].blocks[0].operations}
        fill: Any = reduction.operands[len(reduction.operands) - 1].owner
        if not body & {"arith.maximumf", "arith.minimumf"} or getattr(fill, "name", "") != "linalg.fill":
            continue
        constant: Any = fill.operands[0].owner
        if getattr(constant, "name", "") != "arith.constant":
            continue
        kind = constant.results[0].type
        value = float(ir.FloatAttr(constant.attributes["value"]).value)
        if abs(value) == _LARGEST.get(str(kind)):
            with constant.location, ir.InsertionPoint(fill):
                fill.operands[0] = arith.constant(kind, float("inf") if value > 0 else float("-inf"))


def _operations(root: Any, names: Collection[str], function: Any = None) -> Iterator[tuple[Any, Any]]:
    """The operations of these names, each with the function that it is in."""
    for region in root.regions:
        for block in region.blocks:
            for view in list(block.operations):
                operation = view.operation
                if operation.name in names:
                    yield function, operation
                else:
                    yield from _operations(operation, names, operation if operation.name == "func.func" else function)


def _shape_and_element(value: Any) -> tuple[tuple[int, ...], str] | None:
    found = _FLOATS.fullmatch(str(value.type))
    return None if found is None else (tuple(int(size) for size in found[1].split(",") if size), found[2])


def _builtin(builder: Builder, value: ir.Value, shape: tuple[int, ...], element: ir.Type) -> ir.Value:
    kind = builder.tensor_type(shape, element)
    return ir.Operation.create("torch_c.to_builtin_tensor", [kind], [value]).result


def _replace(operation: Any, by: Any) -> None:
    operation.results[0].replace_all_uses_with(by.result)
    operation.erase()


tool = in_place("begin-at-infinity", lambda module: begin_at_infinity(module.operation))
"""The step of a pipeline that does this."""
