"""What MLIR's own passes to LLVM would compute with other digits than the module says.

Operations on floats of 16 bits are rounded to them one by one: what those passes put around an operation may be folded
with what they put around the next. `exp(x) - 1` and `log(1 + x)` are functions of the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from irwidget.helion.bindings import arith, ir
from irwidget.toolchain.mlir_opt import in_place

_FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}
_NOT_COMPUTED = ("constant", "select", "bitcast", "extf", "truncf")


def keep(module: Any) -> None:
    """Have a module on its way to LLVM do so, in place."""
    for operation in list(_operations(module.operation, _is_narrow)):
        _widen(operation)
    _call(module.operation, list(_operations(module.operation, lambda one: one.name in _FUNCTIONS)))


def _operations(root: Any, wanted: Callable[[Any], bool]) -> Iterator[Any]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                if wanted(view.operation):
                    yield view.operation
                yield from _operations(view.operation, wanted)


def _is_narrow(operation: Any) -> bool:
    """Whether it computes one element of 16 bits that LLVM has no operation for: of bfloat16, or a function of math."""
    dialect, _, name = operation.name.partition(".")
    types = [str(value.type) for value in (*operation.operands, *operation.results)]
    computes = dialect == "math" or (dialect == "arith" and name not in _NOT_COMPUTED)
    return computes and ("bf16" in types or (dialect == "math" and "f16" in types))


def _widen(operation: Any) -> None:
    """Compute in float32, and round."""
    with operation.location, ir.InsertionPoint(operation):
        single, result = ir.F32Type.get(), operation.results[0]
        operands = [arith.extf(single, one) if _is_short(one) else one for one in operation.operands]
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        kind = single if _is_short(result) else result.type
        made = ir.Operation.create(operation.name, [kind], operands, attributes).results[0]
        result.replace_all_uses_with(arith.truncf(result.type, made) if _is_short(result) else made)
    operation.erase()


def _is_short(value: Any) -> bool:
    return str(value.type) in ("bf16", "f16")


def _call(module: Any, operations: list[Any]) -> None:
    """Replace operations on single elements by calls."""
    body = module.regions[0].blocks[0]
    declared: set[str] = set()
    for operation in operations:
        with operation.location, ir.InsertionPoint(operation):
            kind = operation.results[0].type
            name = _FUNCTIONS[operation.name] + ("" if kind.width == 64 else "f")
            if name not in declared:
                declared.add(name)
                text = f"func.func private @{name}({kind}) -> {kind} attributes {{llvm.readnone}}"
                ir.InsertionPoint(body).insert(ir.Operation.parse(text))
            callee = ir.FlatSymbolRefAttr.get(name)
            made = ir.Operation.create("func.call", [kind], [operation.operands[0]], {"callee": callee}).result
        operation.results[0].replace_all_uses_with(made)
        operation.erase()


tool = in_place("keep-digits", keep)
"""The step of a pipeline that does this."""
