"""What came of each step of a pipeline: which pass of a run belongs to which step, and what a finished run left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from irwidget.editor import chain
from irwidget.editor.chain import PassInvocation
from irwidget.routes import Target
from irwidget.trace import Step, Trace


def route_of(target: Target) -> tuple[PassInvocation, ...]:
    """What leads to an IR type, as steps that cannot be edited; the input first."""
    inputs = {"pytorch": "torch.export", "raw": "IR text"}
    first = PassInvocation(inputs.get(target.source, target.source), inputs.get(target.source, target.name))
    return (first, *(PassInvocation(step.tool, str(step)) for step in target.steps))


class RunPlan:
    """Where a run is: the steps of the route, then those of the pipeline, in order."""

    def __init__(self, route: Sequence[Step], own: Sequence[Step], ids: Sequence[int]) -> None:
        self._steps: tuple[Step | None, ...] = (None, *route, *own)
        self.ids = tuple(ids)
        """Of the pipeline's own steps."""
        self.count = len(self._steps)
        self._at = 0
        self._number = -1

    def advance(self, number: int, step: Step) -> int | None:
        """Take note that a pass of `step`, the run's step `number`, begins; its place when it is a new step."""
        if number == self._number:
            return None
        start = self._at + (self._at > 0)
        found = next((i for i in range(start, self.count) if self._steps[i] == step), None)
        self._number = number
        if found is None:
            return None
        self._at = found
        return found

    def state(self, place: int) -> chain.State:
        """What the step at a place is doing."""
        return "done" if place < self._at else "running" if place == self._at else "waiting"


def with_outcome(
    route: Sequence[PassInvocation], own: Sequence[PassInvocation], trace: Trace | None, status: str
) -> tuple[tuple[PassInvocation, ...], tuple[PassInvocation, ...]]:
    """Both lists of steps with the state, seconds and last stage that a run left them; `route` is not empty."""
    links = [*route, *(link.forget() for link in own)]
    planned = [i for i, link in enumerate(links) if link.enabled]
    reached, stopped = planned[-1], planned[0]
    if trace and trace.dumps:
        place = _places(links, len(route), trace)
        last = _assign(links, place, trace)
        stopped = place(trace.failure.step) if trace.failure else last
    if status != "done":
        links[stopped] = replace(links[stopped], state="stopped" if status == "stopped" else "failed")
        reached = stopped - 1
    stage = 0
    for i in planned:
        if i > reached:
            break
        stage = links[i].stage if links[i].stage >= 0 else stage
        links[i] = replace(links[i], state="done", stage=stage)
    return tuple(links[: len(route)]), tuple(links[len(route) :])


def _places(links: Sequence[PassInvocation], route: int, trace: Trace) -> Callable[[int], int]:
    """Where each of a trace's steps is in the list: its last steps are the pipeline's, those before the route's.

    What a front end did by steps of its own, of which the list has only the input, is the input's.
    """
    own = [i for i, link in enumerate(links) if i >= route and link.enabled for _ in chain.steps([link])]
    before = len(trace.steps) - len(own)

    def place(step: int) -> int:
        return own[step - before] if step >= before else min(step + 1, route - 1)

    return place


def _assign(links: list[PassInvocation], place: Callable[[int], int], trace: Trace) -> int:
    """Give each step the dumps that it made; the last step that made one."""
    at = 0
    for stage, dump in enumerate(trace.dumps):
        at = place(dump.step)
        links[at] = replace(links[at], stage=stage, seconds=links[at].seconds + dump.seconds)
    return at
