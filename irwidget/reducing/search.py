"""One search for the smallest program: candidates are tried in processes, each once, until time is up."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from irwidget.errors import ToolError, UsageError
from irwidget.reducing.engine import Test
from irwidget.reducing.failing import Kind, timed_out
from irwidget.reducing.pool import Pool, Stopped
from irwidget.reducing.report import Rate, Tried
from irwidget.reducing.tasks import Outcome, Task
from irwidget.toolchain import budget

_T = TypeVar("_T")
Predicate = Callable[[str], bool]


_RUNS, _WHILE = 5, 5.0
"""How often something is run to see whether it always fails, and seconds after which no other run begins."""


def several() -> Iterator[int]:
    """Numbers of runs that see whether something always fails, from 1."""
    end = time.monotonic() + _WHILE
    yield 1
    for run in range(2, _RUNS + 1):
        if time.monotonic() > end:
            return
        yield run


class TimeIsUp(Exception):
    """Ends a search with the best so far."""


class Search(Generic[_T]):
    """A test of candidates: those that fail as the first one did, or of whose last text a predicate holds.

    `task` makes what is tried of a candidate, whose text tells it from others.
    """

    def __init__(
        self,
        pool: Pool,
        task: Callable[[str], Task],
        text: Callable[[_T], str],
        kind: Kind | None,
        predicate: Predicate | None,
        seconds: float,
        stop: threading.Event | None = None,
    ) -> None:
        self._stop = stop
        self.way = ""
        self.times = 1
        """How often a candidate is run, at most, to see it fail."""
        self.ways: dict[str, Tried] = {}
        self.tried = 0
        self.last: Outcome | None = None
        """What came of the last candidate that was kept."""
        self._pool, self._task, self._text = pool, task, text
        self._kind, self._predicate = kind, predicate
        self._began = time.monotonic()
        self._end = self._began + seconds
        self._known: dict[str, bool] = {}
        self.raised: list[Exception] = []
        """What the predicate raised of candidates, which then are none that it holds of."""

    @property
    def looks_for_failure(self) -> bool:
        """Whether it is one that takes no more than it needs to be seen several times, and no predicate."""
        return self._kind is not None and not timed_out(self._kind)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def __call__(self, candidate: _T) -> bool:
        """Whether a candidate still fails so. Raises TimeIsUp."""
        return self.first([candidate]) is not None

    def first(self, candidates: Iterable[_T | None]) -> int | None:
        """The place of the first that does. Raises TimeIsUp."""
        return self._pool.first(self._tasks(candidates), self._holds, self._stop)

    def _tasks(self, candidates: Iterable[_T | None]) -> Iterator[tuple[str, Task | bool]]:
        for one in candidates:
            text = None if one is None else self._text(one)
            if text is None or self._known.get(text) is False:
                yield "", False
                continue
            if time.monotonic() > self._end:
                raise TimeIsUp
            if text in self._known:
                yield text, True
                continue
            self.tried += 1
            self._count(Tried(1))
            yield text, self._asked(text, self.times)

    def _asked(self, text: str, times: int) -> Task:
        return replace(self._task(text), times=times, looked_for=self._kind)

    def outcome(self, candidate: _T) -> Outcome:
        """What comes of a program. Raises ToolError when the process that should try it cannot."""
        return self._pool.run(self._asked(self._text(candidate), self.times))

    def rate(self, candidate: _T) -> Rate:
        """How often a program fails so. Raises ToolError as `outcome`."""
        runs = [self.same(self._pool.run(self._asked(self._text(candidate), 1))) for _ in several()]
        return Rate(sum(runs), len(runs))

    def oftener(self, times: int) -> None:
        """Run each candidate several times from here on, and those again that did not fail."""
        self.times = times
        self._known = {text: fails for text, fails in self._known.items() if fails}

    def _holds(self, text: str, outcome: Outcome) -> bool:
        holds = self._known[text] = self.same(outcome)
        if holds:
            self._count(Tried(0, 1))
            self.last = outcome
        return holds

    def same(self, outcome: Outcome) -> bool:
        """Whether an outcome is what is looked for."""
        if self._predicate is None:
            return self._kind is not None and self._kind.includes(outcome.kind)
        try:
            return outcome.kind is None and bool(self._predicate(outcome.text))
        except Exception as error:  # the user's own code, of a text that it may not have been written for
            self.raised.append(error)
            return False

    def _count(self, one: Tried) -> None:
        self.ways[self.way] = self.ways.get(self.way, Tried()) + one


def run(
    best: _T,
    ways: Callable[[_T, Test[_T]], Iterator[_T]],
    search: Search[_T],
    smaller: Callable[[_T], None],
) -> tuple[_T, bool]:
    """The smallest program, and whether nothing more can be taken out; `smaller` is told of each on the way.

    Stops when time is up, at an interrupt or when it is told to, and where no process is left to try anything, with
    the best so far.
    """
    try:
        for found in ways(best, search):
            best = found
            smaller(best)
    except (TimeIsUp, Stopped, KeyboardInterrupt, ToolError):
        return best, False
    return best, True


def with_rate(
    best: _T,
    ways: Callable[[_T, Test[_T]], Iterator[_T]],
    search: Search[_T],
    smaller: Callable[[_T], None],
) -> tuple[_T, bool, Rate | None]:
    """As `run`, and how often the smallest fails, where that was seen: what does not always is tried several times."""
    if not search.looks_for_failure:
        return (*run(best, ways, search, smaller), None)
    with contextlib.suppress(KeyboardInterrupt, ToolError):
        best, complete = run(best, ways, search, smaller)
        if not complete:
            return best, False, None
        if not (rate := search.rate(best)).always:
            search.oftener(rate.runs)
            best, complete = run(best, ways, search, smaller)
            rate = search.rate(best)
        return best, complete, rate
    return best, False, None


def check(predicate: Predicate | None, seconds: float) -> float:
    """The seconds that a search may take, 0 for none. Raises UsageError for what is no predicate, or no such number."""
    if predicate is not None and not callable(predicate):
        said = f"lambda text: {predicate!r} in text" if isinstance(predicate, str) else "lambda text: ..."
        raise UsageError(f"A predicate is a function of a text, as in {said}, not {predicate!r}")
    return 0.0 if seconds == 0 else budget.limit(seconds)


def begun(pool: Pool, task: Task, predicate: Predicate | None) -> Outcome:
    """What comes of the program that is to be made smaller. Raises UsageError where the predicate does not hold, and
    what it raises.
    """
    found = pool.run(task)
    if predicate is not None and (found.kind is not None or not predicate(found.text)):
        said = f": {found.message}" if found.kind else ""
        raise UsageError(
            "The predicate does not hold of the text after the last pass, run again from the first dump" + said
        )
    return found
