"""The tools that a step can name, and what runs each."""

from __future__ import annotations

from collections.abc import Iterator

from irwidget.errors import near
from irwidget.toolchain import (
    events,
    execute,
    external,
    gpu_cuda,
    gpu_opencl,
    llvm_tools,
    mlir_opt,
    precheck,
    translate,
)
from irwidget.toolchain.tool import NeedsProgram, Pass, Run, State, StepFailed, TextState, Tool
from irwidget.trace import Step


def _embedded_first(embedded: Tool) -> Tool:
    """The embedded tool where it can, the real program where it cannot or where the user wants it."""

    def either(run: Run, state: State, step: Step) -> Iterator[Pass]:
        reason = ""
        if not step.program:
            try:
                yield from embedded(run, state, step)
                return
            except NeedsProgram as error:
                reason = f"{error}; "
        program = external.find(step.tool)
        if isinstance(program, str):
            raise StepFailed(events.Failed("tool", f"{reason}{program}", tool=step.tool))
        yield from external.tool(run, state, step, program)

    return either


def triton(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Triton's compiler and its `triton-opt`. Imported when first asked for: the package is optional."""
    from irwidget.toolchain import triton_passes

    return triton_passes.tool(run, state, step)


_TOOLS: dict[str, Tool] = {
    "torch-mlir-opt": _embedded_first(mlir_opt.tool),
    "mlir-opt": _embedded_first(mlir_opt.tool),
    "mlir-translate": _embedded_first(translate.mlir_translate),
    "opt": _embedded_first(llvm_tools.opt),
    "llc": _embedded_first(llvm_tools.llc),
    "llvm-link": gpu_cuda.llvm_link,
    "ptxas": gpu_cuda.ptxas,
    gpu_opencl.TOOL: gpu_opencl.tool,
    "triton": triton,
    "triton-opt": triton,
    "triton-llvm-opt": triton,
    "user-tool": external.user_tool,
    "execute": execute.tool,
    precheck.TOOL: precheck.tool,
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
