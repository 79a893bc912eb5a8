"""Execute the IR of one dump on the CPU, on real inputs: the tool behind `--check` and runs of kernels.

MLIR is copied and taken to LLVM IR by the pipeline that the step gives; LLVM IR is taken as it is. It is compiled and
called in a copy of the worker, since wrong IR may well crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irwidget.toolchain import events, jit, mlir, translate
from irwidget.toolchain.mlir_opt import as_mlir
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState, refuse
from irwidget.trace import Diagnostic, Step

RESULTS = "results"
"""The fact that holds what the function returned: for each call a tuple of events.Value."""
CRASHED = "crashed"
"""The name of the pass that is to blame when the compiled program itself ends its process."""


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Execute a function of a dump of the steps before on the request's invocation. What it leaves is no IR."""
    invocation = run.request.invocation
    if invocation is None:
        raise refuse(step, "execute needs inputs")
    kept = run.held.snapshots.get(run.request.steps[:-1])
    chosen = kept[invocation.dump] if kept else state

    def apply(_: State) -> State:
        text, constants = _llvm_ir(run, chosen, step)
        limits = jit.Limits(invocation.seconds)
        try:
            run.facts[RESULTS] = jit.run(text, invocation, constants, limits)
        except (jit.NotExecutable, jit.TookTooLong) as error:
            raise StepFailed(events.Failed("tool", str(error), "execute", step.tool)) from None
        except jit.Crashed as error:
            printed = (Diagnostic("remark", error.printed),) if error.printed else ()
            raise StepFailed(events.Failed("tool", str(error), CRASHED, step.tool, printed)) from None
        return TextState("llvm", "")

    yield Pass("execute", apply)


def _llvm_ir(run: Run, state: State, step: Step) -> tuple[str, Mapping[str, Any]]:
    """LLVM IR of a state, and the bytes of the globals that it leaves out."""
    if isinstance(state, TextState) and state.language == "llvm":
        return state.text, run.held.constants
    start = as_mlir(run, state, step)
    module = mlir.parse(mlir.bytecode(start.module), start.module.operation.context)
    _without_wide_negations(module)
    for planned in mlir.plan(step.arguments, module.context) if step.arguments else ():
        mlir.run(planned, module)
    return translate.bare(module.operation)


def _without_wide_negations(module: Any) -> None:
    """TOSA's negation of integers of 64 bits as a difference: `tosa-to-linalg` makes invalid IR of it.

    TOSA has none, but torch-mlir makes it, always with zero points of 0.
    """
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name == "tosa.negate" and str(operation.results[0].type).endswith(("xi64>", "<i64>")):
            found.append(operation)
        return mlir.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for negation in found:
        value, kind = negation.operands[0], [negation.results[0].type]
        with negation.location, mlir.ir.InsertionPoint(negation):
            zero = mlir.ir.Operation.create("tosa.sub", kind, [value, value])
            difference = mlir.ir.Operation.create("tosa.sub", kind, [zero.result, value])
        negation.results[0].replace_all_uses_with(difference.result)
        negation.erase()
