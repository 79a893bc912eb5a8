"""`low.reduce()`: the smallest IR on which a pipeline still fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from irwidget import pipelines
from irwidget.errors import ToolError, UsageError
from irwidget.frontends import raw_text
from irwidget.reducing import mlir
from irwidget.reducing.failing import Kind, kind_of
from irwidget.reducing.operations import ModuleText
from irwidget.toolchain import generic_form
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step, Trace

Progress = Callable[["Reduced"], None]
Predicate = Callable[[str], bool]
_EACH = 20.0
"""Seconds after which a candidate that has not ended is taken for another failure."""


class _Failed(Protocol):
    trace: Trace


@dataclass(frozen=True)
class Reduced:
    """The smallest IR that was found, and how to see its failure again."""

    text: str = field(repr=False)
    """In the form in which the tool prints it, where that fails in the same way; else in MLIR's generic form."""
    operations: int
    """How many operations it has, the module itself not counted."""
    before: int
    """How many there were."""
    failure: Kind | None
    """In which way it fails; None where a predicate says so."""
    steps: tuple[Step, ...]
    """What fails on it."""
    tried: int
    """Candidates that were run."""
    complete: bool
    """Whether nothing more can be taken out; False when time was up or it was stopped."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def pipeline(self) -> str:
        """What fails, as a custom pipeline."""
        return pipelines.text(self.steps)

    @property
    def report(self) -> str:
        """A text for an issue: what fails, on which IR, with which command and versions."""
        commands = [pipelines.command(step) for step in self.steps] or ["mlir-opt"]
        versions = ", ".join(f"{name} {version}" for name, version in self.tools.items())
        state = "" if self.complete else " (stopped before nothing more could be taken out)"
        return "\n".join(
            [
                str(self.failure or "The predicate holds"),
                f"Reduced from {self.before} operations to {self.operations}{state}.",
                "",
                "```mlir",
                self.text.rstrip("\n"),
                "```",
                "",
                "```sh",
                " | ".join([f"{commands[0]} input.mlir", *commands[1:]]),
                "```",
                *([f"Versions: {versions}"] if versions else []),
            ]
        )

    def __str__(self) -> str:
        return self.report


def reduce(
    low: _Failed,
    predicate: Predicate | None = None,
    *,
    alone: bool = False,
    seconds: float = 60.0,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Reduced:
    """Take operations out of what a lowering failed on, as long as it fails in the same way.

    The same way: the same pass, operation and class of message (`Reduced.failure`). With `predicate`, a function of the
    text of the last dump, the smallest input is sought for which it holds after all passes. `alone` runs just the pass
    that failed, on the dump before it, instead of all steps on the input. Stops after `seconds`, and on
    Ctrl-C, with the best so far. Crashes are the worker's.

    Raises UsageError when there is nothing to reduce: no failure, one that does not happen again, or no MLIR.
    """
    run = replace(options or Options(), timeout=_EACH, progress=None, stop=None)
    begun = _of_predicate(low.trace, predicate, run) if predicate else _of_failure(low.trace, run, alone=alone)
    return _Search(begun, run, time.monotonic() + seconds, progress).best()


@dataclass(frozen=True)
class _Start:
    """What to make smaller, and how to see that it still fails."""

    text: str
    steps: tuple[Step, ...]
    kind: Kind | None
    predicate: Predicate | None
    tools: Mapping[str, str]

    def fails(self, text: str, options: Options) -> bool:
        trace = raw_text.source(text, self.steps).run(self.steps, options)
        if self.predicate is None:
            return trace.failure is not None and kind_of(trace.failure) == self.kind
        return trace.failure is None and self.predicate(trace.dumps[-1].text)


def _of_failure(trace: Trace, options: Options, *, alone: bool) -> _Start:
    """All steps on the input; where that does not fail so, or `alone`, the failed pass on the dump before it."""
    failure = trace.failure
    if failure is None:
        raise UsageError("This lowering is complete: say what is wrong with it, low.reduce(lambda text: ...)")
    tries: list[tuple[str, tuple[Step, ...]]] = [] if alone else [(trace.dumps[0].text, trace.steps)]
    if failure.reproducer:
        tries.append((trace.dumps[-1].text, pipelines.parse(failure.reproducer)))
    for text, steps in tries:
        generic = _generic(text, options)
        again = raw_text.source(generic, steps).run(steps, options).failure
        if again and (again.pass_name, kind_of(again)) == (failure.pass_name, kind_of(failure)):
            upto = steps[: again.step + 1] if again.step >= 0 else steps
            return _Start(generic, upto, kind_of(again), None, trace.tools)
    raise UsageError(
        f"{failure.pass_name or failure.tool} does not fail again on the text of its dump; it may need what the text "
        "leaves out: lower with elide=False (--no-elide)"
    )


def _of_predicate(trace: Trace, predicate: Predicate, options: Options) -> _Start:
    generic = _generic(trace.dumps[0].text, options)
    start = _Start(generic, trace.steps, None, predicate, trace.tools)
    if not start.fails(generic, options):
        raise UsageError("The predicate does not hold of the text after the last pass, run again from the first dump")
    return start


def _generic(text: str, options: Options) -> str:
    """A module in generic form. Raises UsageError when it is no MLIR that is read here."""
    made = Source(text, "mlir").run((generic_form.STEP,), options)
    if made.failure:
        raise UsageError(f"Only MLIR that torch-mlir reads is made smaller here: {made.failure.message}")
    return made.dumps[-1].text


class _TimeIsUp(Exception):
    pass


class _Search:
    """One search: candidates are run one by one, each once."""

    def __init__(self, start: _Start, options: Options, end: float, progress: Progress | None) -> None:
        self._start, self._options, self._end, self._progress = start, options, end, progress
        self._known: dict[str, bool] = {start.text: True}
        self._before = ModuleText(start.text).count()
        self._text = start.text

    def best(self) -> Reduced:
        complete = True
        try:
            for found in mlir.smaller(self._start.text, self._fails):
                self._text = found
                if self._progress:
                    self._progress(self._reduced(self._text, complete=False))
        except (_TimeIsUp, KeyboardInterrupt):
            complete = False
        return self._reduced(self._pretty(), complete=complete)

    def _fails(self, text: str) -> bool:
        if text not in self._known:
            if time.monotonic() > self._end:
                raise _TimeIsUp
            self._known[text] = self._start.fails(text, self._options)
        return self._known[text]

    def _pretty(self) -> str:
        """The text as the tools print it, where it still fails so."""
        try:
            shown = Source(self._text, "mlir").run((), self._options)
            text = shown.dumps[-1].text
            return text if not shown.failure and self._start.fails(text, self._options) else self._text
        except (ToolError, KeyboardInterrupt):
            return self._text

    def _reduced(self, text: str, *, complete: bool) -> Reduced:
        start = self._start
        count = ModuleText(self._text).count()
        return Reduced(text, count, self._before, start.kind, start.steps, len(self._known), complete, start.tools)
