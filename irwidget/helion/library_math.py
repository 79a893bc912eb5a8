"""Functions of the C library for `exp(x) - 1` and `log(1 + x)`, of which MLIR's own forms for LLVM lose digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irwidget.helion.bindings import arith, ir
from irwidget.toolchain.mlir_opt import as_mlir
from irwidget.toolchain.tool import Pass, Run, State
from irwidget.trace import Step

_FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The step of a pipeline that calls them, with a dump where there is one to call."""
    before = as_mlir(run, state, step)
    module: Any = before.module

    def call(_: State) -> State:
        _call(module.operation, found)
        return before

    if found := list(_operations(module.operation)):
        yield Pass("call-library-math", call)


def _operations(root: Any) -> Iterator[Any]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                if view.operation.name in _FUNCTIONS:
                    yield view.operation
                yield from _operations(view.operation)


def _call(module: Any, operations: list[Any]) -> None:
    """Replace operations on single elements by calls; floats of fewer than 32 bits are those of 32 meanwhile."""
    body = module.regions[0].blocks[0]
    declared: set[str] = set()
    for operation in operations:
        with operation.location:
            kind = operation.results[0].type
            wide = kind if kind.width >= 32 else ir.F32Type.get()
            name = _FUNCTIONS[operation.name] + ("" if wide.width == 64 else "f")
            if name not in declared:
                declared.add(name)
                text = f"func.func private @{name}({wide}) -> {wide} attributes {{llvm.readnone}}"
                ir.InsertionPoint(body).insert(ir.Operation.parse(text))
            with ir.InsertionPoint(operation):
                value = operation.operands[0] if wide == kind else arith.extf(wide, operation.operands[0])
                callee = ir.FlatSymbolRefAttr.get(name)
                made = ir.Operation.create("func.call", [wide], [value], {"callee": callee}).result
                made = made if wide == kind else arith.truncf(kind, made)
        operation.results[0].replace_all_uses_with(made)
        operation.erase()
