"""Run the steps of a lowering and report every pass: the one loop behind worker and in-process runs.

The passes run one by one with a cheap copy of the IR after each; the copies
are printed last, what is looked at first before the others, so that nobody waits for text that is not looked at yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from irwidget.toolchain import events, graphs, mlir, mlir_flags, mlir_opt, named, printed, tools, weights
from irwidget.toolchain.budget import TimeIsUp
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.named import Naming
from irwidget.toolchain.tool import HeldSource, Run, State, StepFailed, TextState, WorkerSession
from irwidget.trace import Content, Diagnostic


def execute(request: events.Request, session: WorkerSession) -> Iterator[events.Event]:
    """Run a request. Yields what happens, the result as early as it is there, then the texts of the dumps.

    Never raises: whatever goes wrong is a Failed event, and the dumps before it are still printed.
    """
    printed.forget()
    run = Run(request, session.hold(request.key))
    snapshots: list[State] = []
    try:
        state = _start(run)
        if state is None:
            yield events.Lost()
            return
        snapshots.append(state.snapshot())
        if request.keep_constants and not request.first_step:
            run.held.snapshots[()] = [snapshots[0]]
        yield events.PassEnded(0, 0.0, state.language)
        yield from _run_steps(run, state, snapshots)
        final = snapshots[-1].render(request.elide)
        snapshots[-1] = TextState(snapshots[-1].language, final.text, final)
        yield events.Finished(final, tuple(run.diagnostics), _found(run))
    except StepFailed as stop:
        diagnostics = (*stop.failure.diagnostics, *run.unsaid())
        yield replace(stop.failure, step=run.step, diagnostics=diagnostics, found=_found(run))
    except TimeIsUp:
        raise  # who asked knows the limit
    except MemoryError:
        yield events.Failed("tool", "out of memory", step=run.step, found=_found(run))
    except Exception as error:  # a defect of ours or of a binding must not cost the dumps
        yield events.Failed("tool", f"{type(error).__name__}: {error}", step=run.step, found=_found(run))
    yield from _print(snapshots, request)


def _found(run: Run) -> events.Found:
    return events.Found(run.attachments, run.facts, run.tools)


def _start(run: Run) -> State | None:
    request = run.request
    if request.first_step:
        kept = run.held.states.get(request.steps[: request.first_step])
        return kept.snapshot() if kept else None
    if request.language != "mlir":
        if not isinstance(request.source, str):
            raise StepFailed(events.Failed("usage", f"{request.language} starts from text"))
        return tools.read(request.language, request.source)
    run.held.context = None  # in that of an earlier parse, the resources would be renamed
    if not isinstance(request.source, str):
        return _parse(run)
    first = request.steps[0] if request.steps else None
    try:
        state = mlir_opt.parsed(_lenient(run), first.tool if first else "mlir-opt", request.source)
    except StepFailed as error:
        if first is None or not tools.may_read(first, str(error)):
            raise
        return tools.read(request.language, request.source)
    return _with_constants(run, state, request.source, request.naming) if request.naming else state


def _lenient(run: Run) -> Run:
    """The run, with a context that takes what its steps allow."""
    run.context().allow_unregistered_dialects = any(map(mlir_flags.allows_unregistered, run.request.steps))
    return run


def _with_constants(run: Run, state: MlirState, text: str, naming: Naming) -> MlirState:
    """The module of a text that has been read, with the constants of another that it only names.

    As it was read, where they cannot be put in.
    """
    shown, context = mlir.shown_resources(state.module), run.held.context
    run.held.context = None
    other = _after_passes(run, naming)
    module = named.parsed(text, naming, other, run.context()) if other is not None else None
    if module is None:
        run.held.context = context
        return state
    return MlirState(module, resources=shown)


def _after_passes(run: Run, naming: Naming) -> Any:
    """The module that a text was printed of, in the context of the run; None where another comes out."""
    start = _module(_lenient(run), naming.bytecode)
    if not naming.passes:
        return start
    request = replace(run.request, steps=naming.steps, stop_after=naming.passes, dumps=True, keep_constants=False)
    first = MlirState(start, resources=_shown(naming.bytecode))
    snapshots: list[State] = []
    try:
        for _ in _run_steps(Run(request, HeldSource(run.held.context)), first, snapshots):
            pass
    except StepFailed:
        return None
    last = snapshots[-1] if len(snapshots) == naming.passes else None
    same = isinstance(last, MlirState) and last.render(elide=True).text == naming.text
    return last.module if isinstance(last, MlirState) and same else None


def _parse(run: Run) -> MlirState:
    """The module that a request starts from; its large literals have the values that the request gives."""
    bytecode = run.request.source or ""
    if run.request.values is None:
        return MlirState(_module(run, bytecode))
    return MlirState(_module(run, bytecode), resources=_shown(bytecode))


def _shown(bytecode: bytes | str) -> dict[str, str]:
    """What texts have for each resource, found out without values: large ones take seconds to print."""
    return mlir.shown_resources(mlir.parse(bytecode, mlir.new_context()))


def _module(run: Run, bytecode: bytes | str) -> Any:
    """The module of bytecode, in the context of the run, which has no resources yet."""
    values = run.request.values
    if values is None:
        return mlir.parse(bytecode, run.context())
    made = weights.attributes(values, run.context())
    module = mlir.parse(bytecode, run.context())
    weights.put(module, values.order, made)
    return module


def _run_steps(run: Run, state: State, snapshots: list[State]) -> Iterator[events.Event]:
    request = run.request
    index = 0
    if request.stop_after == 0:
        return
    for number in range(request.first_step, len(request.steps)):
        step = request.steps[number]
        run.step = number
        yield events.StepStarted(number)
        kept: list[State] = []
        for planned in tools.passes_of(run, state, step):
            index += 1
            over = planned.seconds is not None
            yield events.PassStarted(
                index, number, planned.name, planned.options, planned.scope, planned.pipeline, over
            )
            started = time.perf_counter()
            try:
                with printed.heard(planned.name) as heard:
                    state = planned.run(state)
            except mlir.PassFailed as error:
                name = error.name or planned.name
                raise StepFailed(
                    events.Failed("pass", str(error), name, step.tool, error.diagnostics, planned.pipeline)
                ) from None
            except MemoryError:
                said = f"{planned.name} ran out of memory"
                raise StepFailed(events.Failed("tool", said, planned.name, step.tool, (), planned.pipeline)) from None
            seconds = time.perf_counter() - started
            if rest := graphs.take(heard.text, run.attachments).strip("\n"):
                run.diagnostics.append(Diagnostic("remark", f"{planned.name}: {rest}"))
            took = seconds if planned.seconds is None else planned.seconds
            yield events.PassEnded(index, took, state.language, run.unsaid())
            if request.dumps:
                snapshots.append(state.snapshot())
            if request.keep_constants:
                kept.append(snapshots[-1] if request.dumps else state.snapshot())
            if index == request.stop_after:  # before it is asked for the next pass, which may have to run for it
                return
        done = request.steps[: number + 1]
        run.held.states[done] = state.snapshot()
        if request.keep_constants:
            run.held.snapshots[done] = kept
    if not request.dumps:
        snapshots.append(state)


def _print(snapshots: list[State], request: events.Request) -> Iterator[events.Event]:
    """The texts: those from the last change on, which a view opens with, then the others, first to last.

    Each snapshot is dropped once it is printed.
    """
    rendered: dict[int, Content] = {}

    def content(index: int) -> Content:
        if index not in rendered:
            rendered[index] = snapshots[index].render(request.elide)
            snapshots[index] = TextState("", "")
        return rendered[index]

    def unchanged(index: int) -> bool:
        return index > 0 and content(index).text == content(index - 1).text

    def repeated(index: int) -> bool:
        return unchanged(index) and content(index).locations == content(index - 1).locations

    changed = len(snapshots) - 1
    while changed > 0 and unchanged(changed):
        if repeated(changed):
            rendered[changed] = content(changed - 1)  # so that one copy of the text is kept
        changed -= 1
    first = max(changed - 1, 0)
    for index in range(first, len(snapshots)):
        # Whether the first differs is said with it: the text before it comes later.
        said = replace(content(index), changed=not unchanged(index))
        yield events.Printed(index, None if repeated(index) and index > first else said)
    for index in range(first, len(snapshots)):
        del rendered[index]
    for index in range(first):
        yield events.Printed(index, None if repeated(index) else replace(content(index), changed=not unchanged(index)))
        rendered.pop(index - 1, None)
