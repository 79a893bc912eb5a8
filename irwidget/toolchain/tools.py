"""The tools that irwidget brings, and what runs a tool that a step names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irwidget.errors import near
from irwidget.registry import Program, Tool, imported, tools
from irwidget.toolchain import events, external
from irwidget.toolchain.tool import NeedsProgram, Pass, Run, State, StepFailed, TextState
from irwidget.toolchain.tool import Tool as Runs
from irwidget.trace import Step

_MLIR_TOOLS = Program(package="mlir-22-tools", llvm=True)
_LLVM = Program(package="llvm-22", llvm=True)
_TRITON = "irwidget.toolchain.triton_passes:tool"

TOOLS = (
    Tool(
        "torch-mlir-opt",
        "irwidget.toolchain.mlir_opt:tool",
        "torch-mlir's passes: --convert-torch-to-tosa",
        check="irwidget.toolchain.mlir_opt:planned",
        reads="mlir",
        leaves="mlir",
        program=Program(variables=("TORCH_MLIR_OPT_PATH",)),
        package="torch-mlir",
        flags_are_passes=True,
        passes="irwidget.editor.catalogue:torch_mlir_passes",
    ),
    Tool(
        "mlir-opt",
        "irwidget.toolchain.mlir_opt:tool",
        "MLIR's passes: --canonicalize --cse, or --pass-pipeline='builtin.module(...)'",
        check="irwidget.toolchain.mlir_opt:planned",
        reads="mlir",
        leaves="mlir",
        program=_MLIR_TOOLS,
        package="torch-mlir",
        flags_are_passes=True,
        passes="irwidget.editor.catalogue:mlir_passes",
    ),
    Tool(
        "mlir-translate",
        "irwidget.toolchain.translate:mlir_translate",
        "from the LLVM dialect to LLVM IR: --mlir-to-llvmir",
        check="irwidget.toolchain.translate:check",
        reads="mlir",
        leaves="llvm",
        only_for="--mlir-to-llvmir",
        program=_MLIR_TOOLS,
        package="torch-mlir",
        passes="irwidget.editor.catalogue:translations",
    ),
    Tool(
        "opt",
        "irwidget.toolchain.llvm_tools:opt",
        "LLVM's optimiser: -O2",
        check="irwidget.toolchain.llvm_tools:check",
        reads="llvm",
        leaves="llvm",
        program=_LLVM,
        package="llvmlite",
        passes="irwidget.editor.catalogue:opt_passes",
    ),
    Tool(
        "llc",
        "irwidget.toolchain.llvm_tools:llc",
        "LLVM's code generator: -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80",
        check="irwidget.toolchain.llvm_tools:check",
        reads="llvm",
        program=_LLVM,
        package="llvmlite",
        passes="irwidget.editor.catalogue:code_generation",
    ),
    Tool(
        "triton-opt",
        _TRITON,
        "Triton's passes: --tritongpu-coalesce",
        check="irwidget.toolchain.precheck:triton",
        package="triton",
        flags_are_passes=True,
        passes="irwidget.editor.catalogue:triton_passes",
    ),
    Tool(
        "triton",
        _TRITON,
        "a stage of Triton's compiler: ttgir --arch sm_90 num_warps=8",
        check="irwidget.toolchain.precheck:triton_stage",
        package="triton",
    ),
    Tool(
        "triton-llvm-opt",
        _TRITON,
        "Triton's passes on LLVM IR",
        check="irwidget.toolchain.precheck:triton",
        reads="llvm",
        leaves="llvm",
    ),
    Tool(
        "user-tool",
        "irwidget.readers.programs:user_tool",
        "a program of your own: ./mine --flag",
        check="irwidget.toolchain.external:located",
    ),
    Tool("outline-kernels", "irwidget.toolchain.gpu_outline:tool", in_pipelines=False, package="torch-mlir"),
    Tool("kernels-to-llvm", "irwidget.toolchain.gpu_outline:to_llvm", in_pipelines=False, package="torch-mlir"),
    Tool("llvm-link", "irwidget.toolchain.gpu_libraries:llvm_link", in_pipelines=False, package="llvmlite"),
    Tool("ptxas", "irwidget.toolchain.gpu_cuda:ptxas", in_pipelines=False, package="triton"),
    Tool("alloca-to-private", "irwidget.toolchain.gpu_stack:tool", in_pipelines=False),
    Tool("bfloat-to-i16", "irwidget.toolchain.gpu_math:bfloat_to_i16", in_pipelines=False),
    Tool("rename-libm", "irwidget.toolchain.gpu_math:tool", in_pipelines=False),
    Tool("execute", "irwidget.toolchain.execute:tool", in_pipelines=False, package="torch-mlir"),
    Tool("generic form", "irwidget.toolchain.generic_form:tool", in_pipelines=False, package="torch-mlir"),
    Tool("read the pipeline", "irwidget.toolchain.precheck:tool", in_pipelines=False),
)
"""In the order in which a lowering meets them."""


def _embedded_first(tool: Tool, embedded: Runs, run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The embedded tool where it can, the real program where it cannot or where the user wants it."""
    reason = ""
    if not step.program:
        try:
            yield from embedded(run, state, step)
            return
        except NeedsProgram as error:
            reason = f"{error}; "
    program = external.find(tool.name)
    if isinstance(program, str):
        raise StepFailed(events.Failed("tool", f"{reason}{program}", tool=step.tool))
    yield from external.tool(run, state, step, program)


def read(language: str, text: str) -> State:
    """What a lowering of text starts from. `triton` is TTIR or TTGIR: MLIR that only libtriton reads."""
    if language == "triton":
        from irwidget.toolchain import triton_state

        return triton_state.read(text)
    return TextState(language, text)


_NOT_OURS = re.compile(r"unregistered (dialect|operation)|not found for custom op|custom op '.*' is unknown")


def may_read(step: Step, said: str) -> bool:
    """Whether a step reads MLIR of which the embedded parser has said this: as a program, or without verifying it."""
    return step.tool in ("user-tool", "generic form") or (step.program and _NOT_OURS.search(said) is not None)


def passes_of(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The passes of a step, by the tool that it names. Raises StepFailed when there is no such tool."""
    tool = tools.get(step.tool)
    if tool is None:
        said = f"unknown tool {step.tool!r}. {near(step.tool, tools.all())}"
        raise StepFailed(events.Failed("usage", said, tool=step.tool))
    embedded: Runs = imported(tool.run)
    if tool.program is None:
        return embedded(run, state, step)
    return _embedded_first(tool, embedded, run, state, step)
