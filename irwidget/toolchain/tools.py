"""The tools that a step can name, and what runs each."""

from __future__ import annotations

from collections.abc import Iterator

from irwidget.dumps import Step
from irwidget.errors import near
from irwidget.toolchain import events, mlir
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState, Tool


def refuse(step: Step, message: str) -> StepFailed:
    """The error for a step that was asked for something it cannot do."""
    return StepFailed(events.Failed("usage", message, tool=step.tool))


def mlir_opt(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Textual pass pipelines over MLIR: `torch-mlir-opt` and `mlir-opt`, embedded."""
    if not isinstance(state, MlirState):
        raise refuse(step, f"{step.tool} reads MLIR, but the step before it left {state.language}")
    try:
        planned = mlir.plan(step.arguments, run.context())
    except mlir.PipelineError as error:
        raise refuse(step, f"{step.tool} cannot run {step.arguments!r}: {error}") from None
    for one in planned:
        def apply(before: State, one: mlir.PlannedPass = one) -> State:
            assert isinstance(before, MlirState)
            mlir.run(one, before.module, verify=run.request.verify)
            return before

        yield Pass(one.name, apply, one.options, one.scope, f"{step.tool} --pass-pipeline='{one.pipeline}'")


def triton(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Triton's compiler and its `triton-opt`. Imported when first asked for: the package is optional."""
    from irwidget.toolchain import triton_passes

    return triton_passes.tool(run, state, step)


_TOOLS: dict[str, Tool] = {
    "torch-mlir-opt": mlir_opt, "mlir-opt": mlir_opt,
    "triton": triton, "triton-opt": triton, "triton-llvm-opt": triton,
}


def read(language: str, text: str) -> State:
    """What a lowering of text starts from. `triton` is TTIR or TTGIR: MLIR that only libtriton reads."""
    if language == "triton":
        from irwidget.toolchain import triton_state

        return triton_state.read(text)
    return TextState(language, text)


def find(name: str) -> Tool:
    try:
        return _TOOLS[name]
    except KeyError:
        raise StepFailed(events.Failed("usage", f"unknown tool {name!r}. {near(name, _TOOLS)}", tool=name)) from None
