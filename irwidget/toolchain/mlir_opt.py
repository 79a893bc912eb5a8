"""`mlir-opt` and `torch-mlir-opt`, embedded: command lines become textual pipelines that run pass by pass."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from irwidget.errors import near
from irwidget.toolchain import events, mlir, mlir_flags, mlir_names, printed
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import NeedsProgram, Pass, Run, State, StepFailed, TextState, refuse
from irwidget.trace import Step

_RESTRICTED = re.compile(r"restricted to '([\w.]+)'")
_UNKNOWN = re.compile(r"'([^']*)' does not refer to a registered pass")
_IGNORED = ("--verify-each", "--mlir-disable-threading", "--mlir-print-debuginfo", "-o", "-")


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Run a textual pipeline, or the passes that command-line flags name, in their order."""
    before = as_mlir(run, state, step)
    passes = planned(run, step)
    for one, following in zip_longest(passes, passes[1:]):

        def apply(current: State, one: mlir.PlannedPass = one, following: mlir.PlannedPass | None = following) -> State:
            module = current if isinstance(current, MlirState) else before
            more = following is not None and following.anchors == one.anchors
            mlir.run(one, module.module, verify=run.request.verify, more=more)
            return module

        alone_ = mlir_flags.alone(step.tool, one, mlir_flags.flags_of([step]).split())
        yield Pass(one.name, apply, one.options, one.scope, alone_)


def in_place(name: str, change: Callable[[Any], None]) -> Callable[[Run, State, Step], Iterator[Pass]]:
    """A tool of one pass of our own, which changes a module in place."""

    def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
        before = as_mlir(run, state, step)

        def apply(_: State) -> State:
            change(before.module)
            return before

        yield Pass(name, apply)

    return tool


def planned(run: Run, step: Step) -> list[mlir.PlannedPass]:
    """The passes that a step asks for. Raises StepFailed for what no MLIR takes, NeedsProgram for what ours lacks."""
    textual = re.match(r"[\w.]+\(", step.arguments)
    pipeline = step.arguments if textual else from_flags(step.arguments, run, step)
    try:
        return _plan(pipeline, run.context())
    except mlir.PipelineError as error:
        if (unknown := _UNKNOWN.search(str(error))) and not textual:
            raise _lacks(unknown[1], run.context()) from None
        raise refuse(step, f"{step.tool} cannot run {pipeline!r}: {_told(str(error), run)}") from None


def _lacks(name: str, context: Any) -> NeedsProgram:
    return NeedsProgram(f"the embedded MLIR has no pass {name!r}", lambda: mlir_names.near_passes(name, context))


def _plan(pipeline: str, context: Any) -> list[mlir.PlannedPass]:
    """The passes of a pipeline. Raises PipelineError with all that MLIR says: of a bad value it prints the reason."""
    with printed.heard("print") as said:
        try:
            return mlir.plan(pipeline, context)
        except mlir.PipelineError as error:
            failed = str(error)
    raise mlir.PipelineError(f"{said.text.strip().lstrip(': ')}\n{failed}".strip())


def _told(error: str, run: Run) -> str:
    """Why a pipeline does not parse, with the near matches of what is misspelt."""
    context = run.context()
    adding = re.search(r"failed to add `([\w-]+)`", error)
    if adding and (option := re.search(r"no such option ([^\s=]+)", error)):
        known = mlir_names.options(adding[1], context)
        return f"{adding[1]} has no option {option[1]!r}. {near(option[1], known) if known else ''}".rstrip()
    if unknown := _UNKNOWN.search(error):
        return f"MLIR has no pass {unknown[1]!r}. {mlir_names.near_passes(unknown[1], context)}".rstrip()
    return " ".join(error.split())


def as_mlir(run: Run, state: State, step: Step) -> MlirState:
    """The state as a module; text that another tool printed is parsed."""
    if isinstance(state, MlirState):
        return state
    if isinstance(state, TextState) and state.language == "mlir":
        return parsed(run, step.tool, state.text)
    given = "that of Triton, which triton-opt reads" if state.language == "mlir" else state.language
    raise refuse(step, f"{step.tool} reads MLIR, but it was given {given}")


def parsed(run: Run, tool: str, text: str) -> MlirState:
    """The module of a text. Raises StepFailed, with the line, when it does not parse."""
    try:
        return MlirState(mlir.parse(text, run.context()))
    except mlir.PassFailed as error:
        message = f"the IR does not parse: {error}"
        raise StepFailed(events.Failed("pass", message, "parse", tool, error.diagnostics)) from None


def from_flags(arguments: str, run: Run, step: Step) -> str:
    """`--canonicalize --convert-scf-to-cf="a=b"` as a textual pipeline, nested as mlir-opt nests it.

    Raises NeedsProgram for a flag that names no registered pass: only the real program may know it.
    """
    passes: list[str] = []
    for word in shlex.split(arguments):
        name, _, value = word.lstrip("-").partition("=")
        if word in _IGNORED:
            continue
        if not word.startswith("-"):
            raise refuse(step, f"{step.tool} got {word!r}: passes are written --{word}; files are not read")
        if name == "pass-pipeline":
            passes += _inside_module(value, step)
        elif name != mlir_flags.UNREGISTERED:
            passes.append(_nested(name + (f"{{{value}}}" if value else ""), run, word, step))
    return f"builtin.module({','.join(passes)})"


def _inside_module(pipeline: str, step: Step) -> list[str]:
    match = re.fullmatch(r"\s*builtin\.module\((.*)\)\s*", pipeline, re.DOTALL)
    if match is None:
        raise refuse(step, f"{step.tool} --pass-pipeline wants builtin.module(...), not {pipeline!r}")
    return [match[1]] if match[1].strip() else []


def _nested(text: str, run: Run, word: str, step: Step) -> str:
    """A pass inside the operation that it is restricted to."""
    context = run.context()
    nested = text
    for _ in range(4):
        try:
            _plan(f"builtin.module({nested})", context)
        except mlir.PipelineError as error:
            anchor = _RESTRICTED.search(str(error))
            if anchor is None:
                if unknown := _UNKNOWN.search(str(error)):
                    raise _lacks(unknown[1], context) from None
                raise refuse(step, f"{step.tool} cannot run {word}: {_told(str(error), run)}") from None
            if anchor[1] == "builtin.module":
                return nested
            nested = f"{anchor[1]}({text})" if nested == text else f"gpu.module({nested})"
        else:
            return nested
    raise refuse(step, f"{step.tool} cannot nest {word}: write it as --pass-pipeline='builtin.module(...)'")
