"""`low.reduce()`: the smallest IR on which a pipeline still fails in the same way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Protocol

from irwidget import pipelines, registry
from irwidget.errors import ToolError, UsageError
from irwidget.reducing import failing, installed, languages, search, splats
from irwidget.reducing.failing import Kind, kind_of
from irwidget.reducing.languages import Language
from irwidget.reducing.pool import Pool
from irwidget.reducing.report import Reduced
from irwidget.reducing.search import Predicate, Search
from irwidget.reducing.tasks import IRTask, Outcome
from irwidget.toolchain import mlir_flags
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step, Trace

__all__ = ["Predicate", "Progress", "Reduced", "reduce"]

Progress = Callable[[Reduced], None]
_EACH = 20.0
"""Seconds after which a candidate that has not ended is taken for another failure."""


class _Failed(Protocol):
    trace: Trace


def reduce(
    low: _Failed,
    predicate: Predicate | None = None,
    *,
    alone: bool = False,
    seconds: float = 60.0,
    options: Options | None = None,
    progress: Progress | None = None,
    words: tuple[str, ...] = (),
    stop: threading.Event | None = None,
) -> Reduced:
    """Take parts out of the IR that a lowering failed on, as long as it fails in the same way.

    The same way: the same pass, operation and class of message (`Reduced.failure`). With `predicate`, a function of the
    text of the last dump, the smallest input is sought for which it holds after all passes. `alone` runs just the pass
    that failed, on the dump before it, instead of all steps on the input. Stops after `seconds`, and on
    Ctrl-C, with the best so far. Candidates run in processes of their own, several side by side. `words` are what the
    command of the result has besides the pipeline. `stop`, set on another thread, ends it as Ctrl-C does.

    Raises UsageError when there is nothing to reduce: no failure, one that does not happen again, or no IR.
    """
    seconds = search.check(predicate, seconds)
    if alone and predicate:
        raise UsageError("alone=True is of the pass that failed; with a predicate all passes run")
    how = replace(options or Options(), progress=None, stop=None, timeout=None)
    with Pool(folders=how.folders) as pool:
        limit = (options.timeout if options else None) or _EACH
        asked = _Asked(low.trace, predicate, how, pool, min(limit, _EACH) if _too_slow(low.trace) else _EACH)
        start = asked.of_predicate() if predicate else asked.of_failure(alone=alone)
        found = _search(start, asked, seconds, stop, progress and (lambda best: progress(replace(best, words=words))))
        return replace(found, words=words)


def _too_slow(trace: Trace) -> bool:
    return trace.failure is not None and failing.timed_out(kind_of(trace.failure))


def runs(trace: Trace) -> list[tuple[Callable[[], str], tuple[Step, ...]]]:
    """What of a failed lowering can run again: the text that it starts from with all steps, and the last one with the
    pass that failed; none where what failed is no tool that reads text.
    """
    failure = trace.failure
    if failure is None or not trace.dumps or trace.refused:
        return []
    last = trace.steps[failure.step : failure.step + 1] if failure.step >= 0 else ()
    with contextlib.suppress(UsageError):
        said = pipelines.parse(failure.reproducer) if failure.reproducer else ()
        said = tuple(replace(step, program=any(one.program for one in last)) for step in said)
        # a program may have a command line of its own, as ptxas
        last = said if said and all(step.tool in pipelines.tools() for step in said) else last
    found = [(trace.dumps[0], trace.steps)]
    if last:
        found.append((trace.dumps[trace.before_failure], last))
    return [(partial(getattr, dump, "text"), steps) for dump, steps in found if _known(steps)]


def _known(steps: tuple[Step, ...]) -> bool:
    """Whether all of them are of tools that run on text."""
    return all(registry.tools.get(step.tool) for step in steps)


@dataclass(frozen=True)
class _Start:
    """What to make smaller, and how to see that it still fails."""

    language: Language
    text: str
    steps: tuple[Step, ...]
    outcome: Outcome


@dataclass(frozen=True)
class _Asked:
    trace: Trace
    predicate: Predicate | None
    options: Options
    pool: Pool
    each: float
    """Seconds for a candidate."""

    def task(self, text: str, steps: tuple[Step, ...]) -> IRTask:
        """What tries a text."""
        run, wanted = self.options, "text" if self.predicate else ""
        return IRTask(text, steps, run.target, run.verify, self.each, run.memory, wanted, run.elide)

    def of_failure(self, *, alone: bool) -> _Start:
        """All steps on the input; where that does not fail so, or `alone`, the failed pass on the dump before it."""
        failure = self.trace.failure
        if failure is None:
            raise UsageError(
                "This lowering is complete: say what is wrong with it, low.reduce(lambda text: ...) "
                "or irwidget reduce --contains TEXT"
            )
        wanted, what = kind_of(failure), failure.pass_name or failure.tool
        again = runs(self.trace)
        if not again:
            raise UsageError(f"{what} starts from no IR: low.reduce(program=True) makes the program small")
        for text, steps in again[-1:] if alone else again:
            *forms, lines = self._forms(text(), steps)
            again_and_again = (form for _ in search.several() for form in forms or [lines])
            for language, form in chain(again_and_again, [lines] if forms else ()):
                found = self.pool.run(self.task(form, steps))
                if wanted.is_told_as(found.kind):
                    upto = steps[: found.step + 1] if found.step >= 0 else steps
                    return _Start(language, form, upto, found)
        raise UsageError(
            f"{what} does not fail again on the text of its dump, in several runs; it may need what the text leaves "
            "out: lower with elide=False (--no-elide)"
        )

    def of_predicate(self) -> _Start:
        """All steps on the input, where the predicate holds of what they leave."""
        assert self.predicate
        if not _known(self.trace.steps):
            raise UsageError(
                "This lowering starts from no IR: low.reduce(predicate, program=True) makes a program small"
            )
        problem: UsageError | None = None
        for language, form in self._forms(self.trace.dumps[0].text, self.trace.steps):
            try:
                task = self.task(form, self.trace.steps)
                return _Start(language, form, self.trace.steps, search.begun(self.pool, task, self.predicate))
            except UsageError as error:
                problem = error
        assert problem
        raise problem

    def _forms(self, text: str, steps: tuple[Step, ...]) -> list[tuple[Language, str]]:
        """The text as what it is, without large constants, which take most of the time, with them, or with other values
        where it leaves them out; and as lines.
        """
        found = [languages.read(text, replace(self.options, elide=True), steps)]
        if found[0][0] is languages.MLIR and _leaves_out(found[0][1], text):
            found.append(languages.read(text, replace(self.options, elide=False), steps))
        if found[0][0] is languages.MLIR and (other := splats.filled(text)) != text:
            found.append(languages.read(other, replace(self.options, elide=False), steps))
        return found if found[0][0] is languages.TEXT else [*found, (languages.TEXT, text)]


def _leaves_out(form: str, text: str) -> bool:
    """Whether a form of a text lacks values of constants that the text has."""
    return "dense_resource<" in form and ("dense_resource<" not in text or "dialect_resources" in text)


def _search(
    start: _Start, asked: _Asked, seconds: float, stop: threading.Event | None, progress: Progress | None
) -> Reduced:
    count = start.language.count
    before = count(start.text)
    task = partial(asked.task, steps=start.steps)
    kind: Kind | None = None if asked.predicate else start.outcome.kind
    test: Search[str] = Search(asked.pool, task, str, kind, asked.predicate, seconds, stop)

    def made(best: str, *, complete: bool) -> Reduced:
        said = (test.last or start.outcome).message if kind else ""
        tools = asked.trace.tools
        return Reduced(
            best, count(best), before, kind, start.steps, test.tried, complete, tools, start.language.name, (), said,
            dict(test.ways), test.seconds, raised=tuple(test.raised),
        )  # fmt: skip

    def smaller(best: str) -> None:
        if progress:
            progress(made(best, complete=False))

    best, complete, rate = search.with_rate(start.text, start.language.smaller, test, smaller)
    text = _pretty(best, start, asked, test)
    again = installed.run(text, start.steps, asked.each) if kind else None
    return replace(made(best, complete=complete), text=text, again=again, rate=rate)


def _pretty(text: str, start: _Start, asked: _Asked, test: Search[str]) -> str:
    """The text as the tools print it, where it still fails so."""
    if start.language is not languages.MLIR:
        return text
    with contextlib.suppress(ToolError, KeyboardInterrupt):
        read = tuple(Step("mlir-opt", flags) for flags in [mlir_flags.flags_of(start.steps)] if flags)
        shown = Source(text, "mlir").run(read, asked.options)
        printed = shown.dumps[-1].text
        if not shown.failure and test.same(test.outcome(printed)):
            return printed
    return text
