"""What came of each step of a pipeline: which pass of a run belongs to which step, and what a finished run left."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from irwidget.editor import chain
from irwidget.editor.chain import Link
from irwidget.routes import Target
from irwidget.trace import Step, Trace


def route_of(target: Target) -> tuple[Link, ...]:
    """What leads to an IR type, as steps that cannot be edited; the input first."""
    inputs = {"pytorch": "torch.export", "raw": "IR text"}
    first = Link(inputs.get(target.source, target.source), inputs.get(target.source, target.name))
    return (first, *(Link(step.tool, str(step)) for step in target.steps))


class Plan:
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
    route: Sequence[Link], own: Sequence[Link], trace: Trace | None, status: str
) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
    """Both lists of steps with the state, seconds and last stage that a run left them."""
    links = [*route, *(link.forget() for link in own)]
    planned = [i for i, link in enumerate(links) if link.enabled]
    names = {i: links[i].name if i < len(route) else str(chain.steps([links[i]])[0]) for i in planned}
    last = -1
    if trace and trace.dumps:
        last = _assign(links, planned, names, trace)
    if status == "done":
        reached = planned[-1] if planned else -1
    else:
        reached = last - 1
        stopped = _stopped_at(links, planned, names, trace, last)
        if stopped is not None:
            links[stopped] = replace(links[stopped], state="stopped" if status == "stopped" else "failed")
            reached = stopped - 1
    stage = 0
    for i in planned:
        if i > reached:
            break
        stage = links[i].stage if links[i].stage >= 0 else stage
        links[i] = replace(links[i], state="done", stage=stage)
    return tuple(links[: len(route)]), tuple(links[len(route) :])


def _assign(links: list[Link], planned: Sequence[int], names: dict[int, str], trace: Trace) -> int:
    """Give each step the dumps that it made; the last step that made one."""
    links[0] = replace(links[0], stage=0, seconds=trace.dumps[0].seconds)
    at, stage = 0, 0
    for name, group in itertools.groupby(trace.dumps[1:], key=lambda dump: dump.step):
        dumps = list(group)
        first = next((k for k in range(at, len(planned)) if names[planned[k]] == name), at)
        alike = next((k for k in range(first, len(planned)) if names[planned[k]] != name), len(planned))
        same = planned[first:alike] or [planned[first]]
        each = -(-len(dumps) // len(same))
        for i, begin in zip(same, range(0, len(dumps), each), strict=False):
            part = dumps[begin : begin + each]
            stage += len(part)
            seconds = links[i].seconds + sum(dump.seconds for dump in part)
            links[i] = replace(links[i], stage=stage, seconds=seconds)
            at = planned.index(i)
    return planned[at]


def _stopped_at(
    links: Sequence[Link], planned: Sequence[int], names: dict[int, str], trace: Trace | None, last: int
) -> int | None:
    """The step that a run ended in early."""
    if trace is None or not trace.dumps:
        return planned[0] if planned else None
    failure = trace.failure
    name = failure.step if failure else ""
    later = [i for i in planned if i >= last]
    after = later[1] if len(later) > 1 else None
    if failure and after is not None and name == names[after] and not failure.pass_name:
        return after  # refused before its first pass, so not the step of that name that left the last dump
    return next((i for i in later if names[i] == name), later[0] if later else None)
