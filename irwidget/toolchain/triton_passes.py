"""Triton's compiler as a tool: its stages after the Python front end, pass by pass.

A step names one stage: `ttgir --arch sm_90 num_warps=8`. The stages are Triton's own
(`make_ttir`, `make_ttgir`, `make_llir`, `make_ptx`, `make_cubin`; `make_amdgcn`, `make_hsaco`),
and `sass`, which disassembles the cubin.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irwidget.errors import ToolError, UsageError, near
from irwidget.toolchain import (
    debug_lines,
    events,
    scratch,
    triton_facts,
    triton_glue,
    triton_inside,
    triton_names,
    triton_private,
    triton_settings,
    triton_state,
)
from irwidget.toolchain.mlir import PassFailed
from irwidget.toolchain.tool import Pass, Run, State, StepFailed
from irwidget.toolchain.triton_archs import Arch, find
from irwidget.toolchain.triton_settings import Settings
from irwidget.toolchain.triton_state import TritonState
from irwidget.trace import WHOLE, Diagnostic, Step

TOOL = "triton"
STAGES = {
    "cuda": ("ttir", "ttgir", "llir", "ptx", "cubin", "sass"),
    "hip": ("ttir", "ttgir", "llir", "amdgcn", "hsaco"),
}

Passes = Generator[Pass, None, TritonState]
"""The passes of a stage; returns the state after the last."""


def step(
    stage: str,
    arch: str,
    options: Mapping[str, Any],
    *,
    llvm_passes: bool = False,
    gluon: bool = False,
    settings: Settings = (),
) -> Step:
    """The step that runs one stage. `options` are Triton's launch options: num_warps, num_stages ..."""
    words = [stage, "--arch", arch, *(["--llvm-passes"] if llvm_passes and stage == "llir" else [])]
    words += ["--gluon"] if gluon else []
    words += [word for name, value in settings for word in ("--set", f"{name}={value}")]
    words += [f"{name}={json.dumps(value)}" for name, value in sorted(options.items())]
    return Step(TOOL, shlex.join(words), stage)


_OPENED = "--opened"


def opened(step: Step) -> Step:
    """The same step with the steps inside its big passes as dumps: each after the pass's own, as `pass: step`."""
    return replace(step, arguments=f"{step.arguments} {_OPENED}")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a step asks for."""

    stage: str
    arch: Arch
    options: Mapping[str, Any]
    arguments: str
    llvm_passes: bool = False
    gluon: bool = False
    settings: Settings = ()
    opened: bool = False
    """Whether the steps inside big passes are dumps, too, after the pass's own."""
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """Where what there is to know of dumps goes."""

    @property
    def backend(self) -> Any:
        """Triton's backend for the architecture."""
        return triton_private.make_backend(self.arch)


def _plan(step: Step) -> _Plan:
    words = shlex.split(step.arguments)
    stage, arch, options, settings = "", "", dict[str, Any](), list[tuple[str, str]]()
    flags: set[str] = set()
    rest = iter(words)
    for word in rest:
        if word == "--arch":
            arch = next(rest, "")
        elif word in ("--llvm-passes", "--gluon", _OPENED):
            flags.add(word)
        elif word == "--set":
            name, _, value = next(rest, "").partition("=")
            settings.append((name, value))
        elif "=" in word:
            name, value = word.split("=", 1)
            options[name] = _value(value)
        else:
            stage = word
    found = find(arch)
    stages = STAGES[found.backend]
    if stage not in stages:
        raise _refused(f"{found.name} has no stage {stage!r}. {near(stage, stages)}")
    llvm_passes, gluon = "--llvm-passes" in flags, "--gluon" in flags
    return _Plan(stage, found, options, step.arguments, llvm_passes, gluon, tuple(settings), _OPENED in flags)


def check(step: Step) -> None:
    """Read the arguments of a step without any IR. Raises StepFailed."""
    try:
        _ = _plan(step)
    except (UsageError, ValueError) as error:
        raise _refused(str(error)) from None


def _value(text: str) -> Any:
    try:
        return _hashable(json.loads(text))
    except ValueError:
        return text


def _hashable(value: Any) -> Any:
    """JSON's lists as the tuples that they were: Triton keeps things by the options of a launch."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _refused(message: str) -> StepFailed:
    return StepFailed(events.Failed("usage", message, tool=TOOL))


def _failed(message: str, name: str, tool: str = TOOL, pipeline: str = "") -> StepFailed:
    return StepFailed(events.Failed("tool", message, name, tool, pipeline=pipeline))


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The passes of a `triton`, `triton-opt` or `triton-llvm-opt` step."""
    try:
        triton_state.require()
    except ToolError as error:
        raise _failed(str(error), "") from None
    if step.tool == TOOL:
        return _compile(run, state, step)
    from irwidget.toolchain import triton_opt

    return triton_opt.tool(run, state, step)


def _compile(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """One stage of Triton's compiler on TTIR, TTGIR, LLVM IR, PTX or AMDGCN."""
    try:
        plan = replace(_plan(step), remarks=run.diagnostics)
    except UsageError as error:
        raise _refused(str(error)) from None
    if not isinstance(state, TritonState):
        raise _refused(f"triton starts from TTIR or TTGIR, but it was given {state.language}")
    with triton_settings.applied(plan.settings):
        after = yield from _STAGES.get(plan.stage, _whole_stage)(plan, state)
    after.facts.update(triton_facts.metadata(after.metadata))
    counts = triton_facts.operations(after.language, after.render(True).text)
    if counts and plan.stage not in {"cubin", "hsaco"}:
        after.facts["operations"] = {**after.facts.get("operations", {}), plan.stage: counts}
    run.facts.update(after.facts)
    if after.binary:
        name = after.metadata.get("name", "kernel")
        run.attachments[f"{name}.{'cubin' if plan.arch.backend == 'cuda' else 'hsaco'}"] = after.binary


def _compiler(plan: _Plan, state: TritonState, stage: triton_glue.StageThread | None) -> Callable[[Any], Any]:
    """Triton's function for the stage; given `stage`, one that stops at each pass."""
    real = plan.backend
    try:
        options = real.parse_options(dict(plan.options))
    except Exception as error:
        raise _refused(f"{plan.arch.name} does not take {plan.arguments}: {error}") from None
    # what earlier stages found out (the final num_warps, say) wins over the options
    state.metadata = {**vars(options), **state.metadata}
    backend = triton_glue.backend(real, stage) if stage else real
    functions = triton_private.stages(backend, options, gluon=plan.gluon)
    return lambda source: functions[plan.stage](source, state.metadata)


def _source(plan: _Plan, state: TritonState) -> Any:
    """What Triton's stage function takes: a module up to llir, text after it."""
    if state.language != "mlir":
        return state.text
    if state.module is None:
        with triton_glue.captured_stderr() as said:
            try:
                state.module = triton_state.parse(state, plan.backend.load_dialects)
            except RuntimeError as error:
                raise triton_glue.unparsed(state.text, str(error), said()) from None
    return state.module


def _by_pass(plan: _Plan, state: TritonState) -> Passes:
    """A stage that runs MLIR passes (and LLVM's optimiser): every pass a dump."""
    stage = triton_glue.StageThread(opened=plan.opened)
    compile_stage = _compiler(plan, state, stage)
    try:
        source = _source(plan, state)
    except PassFailed as error:
        raise StepFailed(events.Failed("pass", str(error), "parse", TOOL, error.diagnostics)) from None
    entry = triton_names.join(state.raw(), state.arguments) if plan.llvm_passes else ""
    latest = state
    for call in stage.calls(lambda: compile_stage(source)):
        if plan.llvm_passes and call.name == "optimize-module":
            from irwidget.readers import triton_llvm

            yield from triton_llvm.passes(plan.arguments, entry, plan.remarks)

        def apply(_: State, call: triton_glue.PendingPass = call) -> State:
            nonlocal latest
            call.result = call.run()
            plan.remarks.extend(call.said)
            text = triton_state.anywhere(str(call.result)) if call.language == "llvm" else ""
            module = call.result if call.language == "mlir" else None
            latest = replace(state, language=call.language, text=text, arguments=(), module=module)
            return latest

        yield Pass(call.name, apply, call.options, call.scope, call.pipeline)
        for name, inner in triton_inside.states(call.printed, latest) if call.printed else ():
            yield Pass(f"{call.name}: {name}", lambda _, inner=inner: inner, seconds=0.0)
    return (yield from _finish(plan, latest, stage.result))


def run_plainly(step: Step, state: TritonState) -> Any:
    """Run a stage as Triton does, without stopping at passes; returns its result."""
    plan = _plan(step)
    with triton_settings.applied(plan.settings):
        return _compiler(plan, state, None)(_source(plan, state))


def _finish(plan: _Plan, latest: TritonState, result: Any) -> Passes:
    """A last dump when the stage function changed the text after its last pass."""
    text = triton_state.anywhere(result) if isinstance(result, str) else latest.text
    if text == latest.text:
        return latest
    final = replace(latest, text=text)
    yield Pass(f"make_{plan.stage}", lambda _: final, seconds=0.0)
    return final


def _whole_stage(plan: _Plan, state: TritonState) -> Passes:
    """A stage that is one step: LLVM IR to PTX or AMDGCN."""
    compile_stage = _compiler(plan, state, None)
    after = replace(state, language=plan.stage, arguments=(), module=None)

    def apply(_: State) -> State:
        with triton_glue.captured_stderr() as said:
            try:
                after.text = compile_stage(_source(plan, state))
            except RuntimeError as error:
                raise triton_glue.failure(str(error), said()) from None
            plan.remarks.extend(triton_glue.went_on("translate-to-asm", said()))
        return after

    target = f"-mcpu={plan.arch.name}"
    yield Pass("translate-to-asm", apply, target, WHOLE, f"llc {target}")
    if plan.stage == "amdgcn":
        after.facts.update(triton_facts.amdgcn(after.text))
    return after


def _binary(plan: _Plan, state: TritonState) -> Passes:
    """ptxas, or AMD's assembler and linker: the text stays, the binary is attached."""
    stage = triton_glue.StageThread()
    compile_stage = _compiler(plan, state, stage)
    tool = "ptxas" if plan.stage == "cubin" else "ld.lld"
    after = replace(state)

    def apply(_: State) -> State:
        # ptxas is another process: the dumps so far can be rendered meanwhile
        meanwhile = threading.Thread(target=state.render_waiting)
        meanwhile.start()
        try:
            with scratch.folder() as stage.folder, triton_glue.captured_stderr() as said:
                try:
                    after.binary = compile_stage(state.text)
                except triton_private.ptxas_error() as error:
                    command, log = stage.commands[-1] if stage.commands else ([], "")
                    raise _unassembled(str(error), log, state, tool, _again(command)) from None
                except RuntimeError as error:  # AMD's assembler and linker
                    raise _unassembled(str(error), said(), state, tool, "") from None
        finally:
            meanwhile.join()
        return after

    flags = f"--gpu-name={plan.arch.name}" if tool == "ptxas" else f"-mcpu={plan.arch.name}"
    yield Pass(tool, apply, flags, WHOLE, f"{tool} {flags}")
    for _, log in stage.commands:
        after.facts.update(triton_facts.ptxas(log))
        plan.remarks.extend(Diagnostic("warning", f"ptxas: {message}") for message in triton_facts.ptxas_warnings(log))
    return after


def _again(command: list[str]) -> str:
    """A command of ptxas on a file that the user has saved."""
    source = next((word for word in command if word.endswith(".ptx")), "")
    named = {source: "before.ptx", f"{source}.o": os.devnull}
    return shlex.join(named.get(word, word) for word in command)


def _unassembled(error: str, said: str, state: TritonState, tool: str, command: str) -> StepFailed:
    """The failure of an assembler, with the user's line for each line of assembly that it names."""
    places = debug_lines.assembly(state.text)
    found: list[Diagnostic] = []
    for line, message in triton_glue.assembler_errors(said, state.text):
        place = places[line - 1] if 0 < line <= len(places) else None
        where = f" (line {line} of the {state.language})" if line else ""
        found.append(Diagnostic("error", message + where, place))
    reason = found[0].message if found else " ".join(error.split())
    return StepFailed(events.Failed("pass", reason, tool, tool, tuple(found), pipeline=command))


def _sass(plan: _Plan, state: TritonState) -> Passes:
    """The cubin disassembled, with its line table."""
    after = replace(state, language="sass")

    def apply(_: State) -> State:
        after.text = disassemble(state.binary)
        return after

    yield Pass("nvdisasm", apply, "-c -gi", WHOLE, "nvdisasm -c -gi")
    return after


def disassemble(cubin: bytes) -> str:
    """nvdisasm's listing of a cubin, with marks for source lines.

    Raises StepFailed with what nvdisasm said when it fails.
    """
    with scratch.folder() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        command = [triton_private.knobs().nvidia.nvdisasm.path, "-c", "-gi", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise _failed(f"nvdisasm failed: {done.stderr.strip()}", "nvdisasm", "nvdisasm", shlex.join(command))
    return done.stdout


_STAGES: dict[str, Callable[[_Plan, TritonState], Passes]] = {
    "ttir": _by_pass,
    "ttgir": _by_pass,
    "llir": _by_pass,
    "cubin": _binary,
    "hsaco": _binary,
    "sass": _sass,
}
