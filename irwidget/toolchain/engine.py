"""Run the steps of a lowering and report every pass: the one loop behind worker and in-process runs.

The passes run one by one with a cheap copy of the IR after each; the copies
are printed last, so that nobody waits for text that is not looked at yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from irwidget.toolchain import events, mlir, tools, weights
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import Run, Session, State, StepFailed, TextState


def execute(request: events.Request, session: Session) -> Iterator[events.Event]:
    """Run a request. Yields what happens, the result as early as it is there, then the texts of the dumps.

    Never raises: whatever goes wrong is a Failed event, and the dumps before it are still printed.
    """
    run = Run(request, session.hold(request.key))
    snapshots: list[State] = []
    try:
        state = _start(run)
        if state is None:
            yield events.Lost()
            return
        snapshots.append(state.snapshot())
        yield events.PassEnded(0, 0.0, state.language)
        yield from _run_steps(run, state, snapshots)
        final = snapshots[-1].render(request.elide)
        snapshots[-1] = TextState(snapshots[-1].language, final.text, final)
        yield events.Finished(final, tuple(run.diagnostics), run.attachments, run.facts, run.tools)
    except StepFailed as stop:
        yield replace(stop.failure, step=run.step)
    except MemoryError:
        yield events.Failed("tool", "out of memory", step=run.step)
    except Exception as error:  # a defect of ours or of a binding must not cost the dumps
        yield events.Failed("tool", f"{type(error).__name__}: {error}", step=run.step)
    yield from _print(snapshots, request)


def _start(run: Run) -> State | None:
    request = run.request
    if request.first_step:
        kept = run.held.states.get(request.steps[: request.first_step])
        return kept.snapshot() if kept else None
    if request.language != "mlir":
        if not isinstance(request.source, str):
            raise StepFailed(events.Failed("usage", f"{request.language} starts from text"))
        return tools.read(request.language, request.source)
    try:
        return _parse(run)
    except mlir.PassFailed as error:
        raise StepFailed(
            events.Failed("pass", f"the IR does not parse: {error}", "parse", "mlir-opt", error.diagnostics)
        ) from None


def _parse(run: Run) -> MlirState:
    """The module that a request starts from; its large literals have the values that the request gives."""
    request = run.request
    run.held.context = None  # in that of an earlier parse, the resources would be renamed
    if request.values is None:
        return MlirState(mlir.parse(request.source or "", run.context()))
    shown = mlir.shown_resources(mlir.parse(request.source or "", mlir.new_context()))
    values = weights.attributes(request.values, run.context())
    module = mlir.parse(request.source or "", run.context())
    weights.put(module, request.values.order, values)
    return MlirState(module, resources=shown)


def _run_steps(run: Run, state: State, snapshots: list[State]) -> Iterator[events.Event]:
    request = run.request
    index = 0
    for number in range(request.first_step, len(request.steps)):
        step = request.steps[number]
        run.step = number
        for planned in tools.find(step.tool)(run, state, step):
            if index == request.stop_after:
                return
            index += 1
            yield events.PassStarted(
                index, number, planned.name, planned.options, planned.scope, planned.pipeline
            )
            started = time.perf_counter()
            try:
                state = planned.run(state)
            except mlir.PassFailed as error:
                raise StepFailed(
                    events.Failed("pass", str(error), planned.name, step.tool, error.diagnostics, planned.pipeline)
                ) from None
            yield events.PassEnded(index, time.perf_counter() - started, state.language)
            if request.dumps:
                snapshots.append(state.snapshot())
        run.held.states[request.steps[: number + 1]] = state.snapshot()
    if not request.dumps:
        snapshots.append(state)


def _print(snapshots: list[State], request: events.Request) -> Iterator[events.Event]:
    """The texts, first to last; each snapshot is dropped once it is printed."""
    before: str | None = None
    for index in range(len(snapshots)):
        content = snapshots[index].render(request.elide)
        snapshots[index] = TextState("", "")
        yield events.Printed(index, content if content.text != before else None)
        before = content.text
