"""The tools `opt` and `llc`, embedded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from irwidget.toolchain import events, llvm, llvm_passes, llvm_state, mlir
from irwidget.toolchain.gpu_kernels import Kernels, on_each, show_all
from irwidget.toolchain.llvm_state import DebugText, same_kind
from irwidget.toolchain.tool import NeedsProgram, Pass, Run, State, StepFailed, TextState, refuse
from irwidget.trace import Content, Scope, Step

_T = TypeVar("_T")


def embeds(tool: str, arguments: str) -> bool:
    """Whether the embedded `opt` or `llc` has these arguments."""
    try:
        llvm.settings(tool, arguments)
    except llvm.BadArguments:
        return False
    return True


def opt(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """LLVM's optimiser, as one pass."""
    asked = _settings(state, step)

    def work(_: str, before: TextState) -> TextState:
        return same_kind(before, "llvm", _accepted(lambda: llvm.optimize(before.text, asked)))

    if asked.print_changed:
        yield from _every_pass(state, step, llvm.pass_name(step.tool, asked), work)
        return
    yield from on_each(state, llvm.pass_name(step.tool, asked), work, _shown(step), f"opt {step.arguments}")


def llc(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """LLVM's code generator: assembly text."""
    asked = _settings(state, step)

    def work(_: str, before: TextState) -> TextState:
        _refuse_bfloat(before.text, asked)
        text = _accepted(lambda: llvm.emit(before.text, asked))
        return same_kind(before, llvm.language(asked.triple), text)

    if asked.print_changed:
        yield from _every_pass(state, step, "codegen", work)
        yield from show_all(state)
        return
    yield from on_each(state, "codegen", work, _shown(step), f"llc {step.arguments}")
    yield from show_all(state)


def _every_pass(state: State, step: Step, name: str, work: Callable[[str, TextState], TextState]) -> Iterator[Pass]:
    """Each pass that changed something, then the tool's result; of every kernel when there are several."""
    kernels = state.texts if isinstance(state, Kernels) else {"": state}
    now = state
    for kernel, before in kernels.items():
        assert isinstance(before, TextState)
        try:
            for one in llvm_passes.run(step.tool, step.arguments, before.text, own=not isinstance(before, DebugText)):
                yield _change(one, before, kernel)
        except llvm.Rejected as error:
            where = name if error.parsed else "parse"
            raise StepFailed(
                events.Failed("pass", str(error), where, step.tool, (error.diagnostic,), step.command)
            ) from None
        except llvm_passes.Stopped as error:
            raise StepFailed(events.Failed("pass", str(error), name, step.tool, pipeline=step.command)) from None

        def end(_: State, kernel: str = kernel, before: TextState = before) -> State:
            made = work(kernel, before)
            nonlocal now
            now = now.put(kernel, made) if isinstance(now, Kernels) else made
            return now

        yield Pass(name, end, _shown(step), Scope(kernel), step.command)


def _change(one: llvm_passes.Changed, before: TextState, kernel: str) -> Pass:
    places = llvm_state.places(before, one.places) if isinstance(before, DebugText) else one.places
    shown = TextState(one.language, one.text, Content(one.text, True, places))
    return Pass(one.name, lambda _: shown, "", replace(one.scope, kernel=kernel), seconds=0.0)


def _refuse_bfloat(text: str, asked: llvm.Settings) -> None:
    """LLVM would end the process."""
    if asked.triple.startswith("spirv") and re.search(r"\bbfloat\b", text):
        raise StepFailed(
            events.Failed(
                "unsupported",
                "SPIR-V has no bfloat16 without the extension SPV_KHR_bfloat16. Lower the model in "
                "float32 or float16, or run the real llc: --external with llc --spirv-ext=+SPV_KHR_bfloat16",
                "codegen",
                "llc",
            )
        )


def _settings(state: State, step: Step) -> llvm.Settings:
    if not isinstance(state, TextState | Kernels) or state.language != "llvm":
        raise refuse(step, f"{step.tool} reads LLVM IR, but it was given {state.language}")
    return settings(step)


def check(run: Run, step: Step) -> None:
    """Read the arguments of a step. Raises as `settings` does."""
    settings(step)


def settings(step: Step) -> llvm.Settings:
    """What a step asks for. Raises StepFailed for what LLVM refuses, NeedsProgram for what only the program has."""
    try:
        asked = llvm.settings(step.tool, step.arguments)
        llvm.machine(asked)
    except llvm.NotEmbedded as error:
        raise NeedsProgram(str(error)) from None
    except llvm.BadArguments as error:
        raise refuse(step, str(error)) from None
    return asked


def _shown(step: Step) -> str:
    """The arguments that are not in the name of the pass."""
    return " ".join(word for word in step.arguments.split() if word not in ("-S", "-O0", "-O1", "-O2", "-O3"))


def _accepted(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except llvm.Rejected as error:
        raise mlir.PassFailed(str(error), (error.diagnostic,), "" if error.parsed else "parse") from None
