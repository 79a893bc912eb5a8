"""Which node a pass crashes over: a process that has ended says nothing, so each node is tried by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from irwidget.helion.bindings import func, ir
from irwidget.helion.passes import bytecode, shared_context
from irwidget.toolchain import mlir
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step


def place(source: Source, steps: Sequence[Step], options: Options) -> str:
    """The location of the first op of torch's dialect over which the steps crash; empty where none does alone."""
    module = mlir.parse(source.data, shared_context()).operation
    tried: set[str] = set()
    for operation in _calls(module):
        alone = _alone(operation)
        if (text := str(alone)) in tried:
            continue
        tried.add(text)
        trace = Source(bytecode(alone)).run(steps, replace(options, dumps=False))
        if trace.failure is not None and trace.failure.kind == "tool":
            return str(operation.location)
    return ""


def _calls(root: Any) -> Iterator[Any]:
    """The ops that compute a tensor of torch's."""
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                operation = view.operation
                if operation.name.startswith("torch.") and any(_is_tensor(value) for value in operation.results):
                    yield operation
                yield from _calls(operation)


def _is_tensor(value: Any) -> bool:
    return str(value.type).startswith("!torch.vtensor")


def _alone(operation: Any) -> Any:
    """A module of one function that computes an op of its tensors; what else it is given is computed there."""
    with operation.context, ir.Location.unknown():
        module = ir.Module.create()
        tensors = list(_inputs(operation))
        results = [result.type for result in operation.results]
        function = func.FuncOp("main", ([value.type for value in tensors], results), ip=ir.InsertionPoint(module.body))
        block = function.add_entry_block()
        known = dict(zip(tensors, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            func.return_(list(_clone(operation, known).results))
    return module.operation


def _inputs(operation: Any) -> dict[Any, None]:
    """The tensors that an op, or what it is given besides, is computed of."""
    found: dict[Any, None] = {}
    for value in operation.operands:
        found |= {value: None} if _is_tensor(value) else _inputs(value.owner)
    return found


def _clone(operation: Any, known: dict[Any, Any]) -> Any:
    for value in operation.operands:
        if value not in known:
            made = _clone(value.owner, known)
            known |= dict(zip(value.owner.results, made.results, strict=True))
    made = operation.clone()
    for position, value in enumerate(operation.operands):
        made.operands[position] = known[value]
    return made
