"""`low.reduce(program=True)`, `irwidget.reduce`: the smallest Python program whose lowering still fails so."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from irwidget import pipelines
from irwidget.errors import IRWidgetError, UsageError
from irwidget.reducing import failing, graph, python, search
from irwidget.reducing.engine import Test
from irwidget.reducing.failing import Kind
from irwidget.reducing.graph import Program
from irwidget.reducing.pool import Pool
from irwidget.reducing.report import Reduced
from irwidget.reducing.search import Predicate, Search
from irwidget.reducing.tasks import FileTask, Outcome
from irwidget.registry import targets
from irwidget.toolchain import lock
from irwidget.trace import Step

_T = TypeVar("_T")
Progress = Callable[[Reduced], None]
_EACH = 60.0
"""Seconds after which a candidate that has not ended is taken for another failure."""


@dataclass(frozen=True)
class Form(Generic[_T]):
    """A program to make smaller, and how."""

    program: _T
    text: Callable[[_T], str]
    smaller: Callable[[_T, Test[_T]], Iterator[_T]]
    count: Callable[[_T], int]


def of_file(text: str) -> Form[str]:
    """A file of Python. Raises UsageError when it cannot be read."""
    try:
        return Form(python.normal(text), str, python.smaller, python.count)
    except SyntaxError as error:
        raise UsageError(f"The file is no Python: {error}") from None


def of_graph(program: Program) -> Form[Program]:
    """A PyTorch program."""
    return Form(program, lambda one: one.text, graph.smaller, graph.count)


def reduce(
    form: Form[_T],
    words: Sequence[str],
    predicate: Predicate | None = None,
    *,
    wanted: Kind | None = None,
    seconds: float = 120.0,
    each: float = _EACH,
    progress: Progress | None = None,
    folders: Sequence[str] = (),
    more_words: Sequence[str] = (),
    stop: threading.Event | None = None,
) -> Reduced:
    """The smallest program that fails as this one does, when it is lowered as `irwidget lower FILE` with `words`.

    `wanted` says how it should fail, where that is known; `each` limits a candidate, in seconds. Candidates import from
    `folders` before all else, those of a toolchain, which the command of the result names by `more_words`. Otherwise
    as `irwidget.reducing.reduce.reduce`. Raises UsageError when it does not fail, or not so.
    """
    seconds = search.check(predicate, seconds)
    with Pool(folders=folders) as pool:

        def task(text: str) -> FileTask:
            return FileTask(text, tuple(words), each, wanted="text" if predicate else "")

        first = search.begun(pool, task(form.text(form.program)), predicate)
        kind = None if predicate else _failing(first, wanted)
        test: Search[_T] = Search(pool, task, form.text, kind, predicate, seconds, stop)
        before = form.count(form.program)

        def made(best: _T, *, complete: bool, last: Outcome = first) -> Reduced:
            steps, ir = _stock(last)
            said = last.message if kind else ""
            tools = {**_versions(form.text(best), words, folders), **last.tools}
            return Reduced(
                form.text(best), form.count(best), before, kind, steps, test.tried, complete, tools, "python",
                (*words, *more_words), said, dict(test.ways), test.seconds, ir, tuple(test.raised),
            )  # fmt: skip

        def smaller(best: _T) -> None:
            if progress:
                progress(made(best, complete=False))

        best, complete = search.run(form.program, form.smaller, test, smaller)
        last = test.last or first
        try:
            last = pool.run(FileTask(form.text(best), tuple(words), each, wanted="text"))
        except (IRWidgetError, KeyboardInterrupt):
            complete = complete and not kind
        return made(best, complete=complete, last=last)


def _versions(text: str, words: Sequence[str], folders: Sequence[str]) -> dict[str, str]:
    """Those of the compilers that a file imports, and of the tools of the IR type that it is lowered to."""
    nodes = [*ast.walk(ast.parse(text))]
    imported = {one.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for one in node.names}
    imported |= {str(node.module).partition(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    found = {name: lock.installed(name, folders) for name in lock.embedded() if name in imported}
    target = targets.get(words[words.index("--to") + 1]) if "--to" in words else None
    return {name: version or "missing" for name, version in found.items()} | lock.versions(
        target.steps if target else (), folders
    )


def _failing(first: Outcome, wanted: Kind | None) -> Kind:
    if first.kind is None and wanted is not None:
        raise UsageError(
            "On its own it is lowered without an error, so what fails is not in it: put the program in a file with all "
            "that it needs, and: python -m irwidget reduce FILE.py --to ..."
        )
    if first.kind is None:
        raise UsageError(
            "The lowering is complete: say what is wrong with it by a predicate, lambda text: ..., or irwidget reduce "
            "--contains TEXT"
        )
    if wanted is not None and not _alike(first.kind, wanted):
        raise UsageError(f"On its own it fails in another way: {first.kind}: {first.message}")
    if first.kind.kind == "usage":  # of what is asked for, and not of a program
        raise UsageError(first.message)
    if first.kind.kind == "program":
        raise UsageError("The file itself ends with an error: python FILE shows it")
    return first.kind


def _alike(one: Kind, other: Kind) -> bool:
    """The same pass; of a process that ended, which this and another way of running tell in other words, no more."""
    ended = failing.timed_out(other) or "crashed" in other.message
    began = other.pass_name.startswith(failing.FRONT_END)  # of which a process that ended says no name
    same = one.pass_name == other.pass_name or (began and not one.pass_name)
    return one == other or (ended and same and one.kind == other.kind)


def _stock(outcome: Outcome) -> tuple[tuple[Step, ...], str]:
    """The pass that fails, and the IR that it fails on."""
    if not outcome.reproducer:
        return (), ""
    try:
        return pipelines.parse(outcome.reproducer), outcome.before
    except UsageError:  # of a front end whose passes no pipeline names
        return (), ""
