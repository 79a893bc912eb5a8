"""Execute the IR of one dump on the CPU, on real inputs: the tool behind `--check` and runs of kernels.

MLIR is copied and taken to LLVM IR by the pipeline that the step gives; LLVM IR is taken as it is. It is compiled and
called in a copy of the worker, since wrong IR may well crash. StableHLO that no pass leads on from is interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from irwidget.toolchain import events, interpreted, jit, mlir, refinement, translate
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
        try:
            run.facts[RESULTS] = _results(run, chosen, step, invocation)
        except (jit.NotExecutable, jit.TookTooLong) as error:
            raise StepFailed(events.Failed("tool", str(error), "execute", step.tool)) from None
        except jit.Crashed as error:
            printed = (Diagnostic("remark", error.printed),) if error.printed else ()
            raise StepFailed(events.Failed("tool", str(error), CRASHED, step.tool, printed)) from None
        return TextState("llvm", "")

    yield Pass("execute", apply)


def _results(run: Run, state: State, step: Step, invocation: events.Invocation) -> jit.Calls:
    """What it returns. Raises what `jit.run` and `interpreted.run` raise."""
    if isinstance(state, TextState) and state.language == "llvm":
        return jit.run(state.text, invocation, run.held.constants, jit.Limits(invocation.seconds))
    start = as_mlir(run, state, step)
    code, context = mlir.bytecode(start.module), start.module.operation.context
    module = mlir.parse(code, context)
    if not refinement.is_needed(module):
        return _called(module, step, invocation)
    return _by_sizes(lambda: mlir.parse(code, context), step, invocation)


def _by_sizes(made: Callable[[], Any], step: Step, invocation: events.Invocation) -> jit.Calls:
    """What a module returns, for inputs of the same sizes at once."""
    alike: dict[Any, list[int]] = {}
    for number, inputs in enumerate(invocation.inputs):
        alike.setdefault(tuple(getattr(one, "shape", None) for one in inputs), []).append(number)
    found: dict[int, tuple[events.Value, ...]] = {}
    for numbers in alike.values():
        module, inputs = made(), tuple(invocation.inputs[number] for number in numbers)
        refinement.refine(module, inputs[0])
        found.update(zip(numbers, _called(module, step, replace(invocation, inputs=inputs)), strict=True))
    return tuple(found[number] for number in range(len(invocation.inputs)))


def _called(module: Any, step: Step, invocation: events.Invocation) -> jit.Calls:
    """What a module, which is changed, returns."""
    _with_single_sums(module)
    if interpreted.is_needed(module):
        return interpreted.run(module, invocation)
    text, constants = _llvm_ir(module, step)
    return jit.run(text, invocation, constants, jit.Limits(invocation.seconds))


def _llvm_ir(module: Any, step: Step) -> tuple[str, Mapping[str, Any]]:
    """LLVM IR of a module, which is changed, and the bytes of the globals that it leaves out."""
    _without_wide_negations(module)
    interpreted.with_values(module, unsigned=True)
    for planned in mlir.plan(step.arguments, module.context) if step.arguments else ():
        mlir.run(planned, module)
    return translate.bare(module.operation)


_PRODUCTS = ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution")


def _with_single_sums(module: Any) -> None:
    """StableHLO's products of halves as float32 first, in which hardware and eager PyTorch add them up.

    StableHLO leaves it open ("StableHLO Specification", dot_general); `stablehlo-legalize-to-linalg` takes the halves.
    """
    ir = mlir.ir
    for one in [one for one in mlir.operations(module.operation) if one.name in _PRODUCTS]:
        kind = ir.RankedTensorType(one.results[0].type)
        if str(kind.element_type) not in ("f16", "bf16"):
            continue
        with one.location, ir.InsertionPoint(one):
            wide = one.clone()
            wide.results[0].set_type(ir.RankedTensorType.get(kind.shape, ir.F32Type.get()))
            narrow = ir.Operation.create("stablehlo.convert", [kind], [wide.results[0]])
        one.results[0].replace_all_uses_with(narrow.result)
        one.erase()


def _without_wide_negations(module: Any) -> None:
    """TOSA's negation of integers of 64 bits as a difference: `tosa-to-linalg` makes invalid IR of it.

    TOSA has none, but torch-mlir makes it, always with zero points of 0.
    """
    found = [
        one
        for one in mlir.operations(module.operation)
        if one.name == "tosa.negate" and str(one.results[0].type).endswith(("xi64>", "<i64>"))
    ]
    for negation in found:
        value, kind = negation.operands[0], [negation.results[0].type]
        with negation.location, mlir.ir.InsertionPoint(negation):
            zero = mlir.ir.Operation.create("tosa.sub", kind, [value, value])
            difference = mlir.ir.Operation.create("tosa.sub", kind, [zero.result, value])
        negation.results[0].replace_all_uses_with(difference.result)
        negation.erase()
