"""The cell of a lowering, run again with another text in it, in a copy of this process.

The copy has all variables of the notebook; what the text does to them ends with it.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import linecache
import pickle
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from irwidget import arguments, cells, commands, reduction, refusals, routes
from irwidget.errors import IRWidgetError, LoweringInterrupted, ToolError, UsageError, near
from irwidget.experiments import cell as experiments
from irwidget.experiments.cell import Cell, Ran
from irwidget.files import FileRun
from irwidget.frontends.cell import Candidate, Shell, transformed
from irwidget.frontends.places import like
from irwidget.options import LowerOptions
from irwidget.progress import ProgressLine
from irwidget.reducing.earlier import alone
from irwidget.result import Lowering, Origin
from irwidget.toolchain import forked
from irwidget.toolchain.run import Options
from irwidget.toolchains.inside import Inside
from irwidget.trace import Diagnostic, Trace, file, reading

_OF_THE_VIEW = {"--html": 1, "--save": 1, "--out": 1, "--to": 1, "--text": 0, "--all": 0}
"""Options that are not of one lowering, and how many words follow each."""

_FILE = "<edited cell>"
"""What the code of the text is called: it is in no history, so no cell's number is its."""


def attach(done: Mapping[str, Any], shell: Shell, line: str, text: str, parsed: argparse.Namespace) -> None:
    """Have lowerings know the cell that they were made in, so that they can be edited by it."""
    if parsed.versus or (parsed.source == "text" and "raw_ir" in (parsed.to or "")):
        return  # a cell of IR is what its first dump is
    for low in done.values():
        asked = argparse.Namespace(**{**vars(parsed), "to": low.target, "all": False})
        own = f"{_line_of(line)} --to {low.target}".strip()
        again = partial(_again, shell, own, asked, low.name)
        earlier = tuple(shell.user_ns.get("In", ()))  # what cells run from now on is not what it was made of
        by_itself = partial(alone, text, earlier)
        low.origin = replace(low.origin, cell=Cell(text, own, again, partial(_problems, shell), by_itself))


def refused(found: Sequence[Candidate], text: str, parsed: argparse.Namespace, *, first: int = 2) -> None:
    """Have the error of what a front end refused while a cell ran hold a lowering of the cell's text, as what is shown
    beside what came before, and made small; none where what was asked for is wrong. `first` is the number of its first
    line.
    """
    names = arguments.split(parsed.to)
    for name, one in commands.named(found).items():
        error = one.refused
        if error is None or isinstance(error, UsageError) or error.lowering is not None or not names:
            continue
        asked = LowerOptions(**arguments.lower_options(parsed))
        target = routes.find(names[0])
        how = {"target": target, "asked": asked, "given": arguments.target_options(parsed, names[:1])}
        made = Lowering(refusals.of_cell(error, text, target.name, name, first))
        made.origin = Origin(asked.run({}), program=partial(reduction.of_cell, **how))
        error.lowering = made


def _line_of(line: str) -> str:
    """The options of a magic's line that are of any one of its lowerings."""
    words = iter(arguments.words(line, "%%lower"))
    kept: list[str] = []
    for word in words:
        name, has_value, _ = word.partition("=")
        if name not in _OF_THE_VIEW:
            kept.append(word)
        elif not has_value:
            for _ in range(_OF_THE_VIEW[name]):
                next(words, "")
    return shlex.join(kept)


# What the text is


def _problems(shell: Any, text: str) -> tuple[Diagnostic, ...]:
    return experiments.syntax_errors(_python(shell, text))


def _python(shell: Any, text: str) -> str:
    """A cell as Python: IPython's own lines are calls there."""
    return str(shell.transform_cell(text)) if hasattr(shell, "transform_cell") else text


class _Copy:
    """Runs a cell with the variables of a shell; `raised` is the error of its own that it ended with."""

    def __init__(self, shell: Any, variables: dict[str, Any]) -> None:
        self.user_ns, self._shell = variables, shell
        self.ast_transformers: list[ast.NodeTransformer] = []
        self.raised: BaseException | None = None
        self._written = ""

    def run_cell(self, raw_cell: str, store_history: bool = False) -> FileRun:
        """Run it, with its lines known under a name of its own."""
        self._written, python = raw_cell.removeprefix("# "), _python(self._shell, raw_cell)
        linecache.cache[_FILE] = (len(python), None, python.splitlines(keepends=True), _FILE)
        try:
            tree = transformed(python, _FILE, self.ast_transformers)
            made = eval(compile(tree, _FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), self.user_ns)
            if inspect.iscoroutine(made):
                asyncio.run(made)
        except (Exception, SystemExit) as error:
            self.showtraceback()
            return FileRun(False, error)
        return FileRun(True)

    def showtraceback(self, *_: Any, **__: Any) -> None:
        """Nobody looks: `why` says it. Not called for errors that a front end tells better."""
        self.raised = sys.exc_info()[1]

    def sources(self, trace: Trace) -> dict[str, str]:
        """Those of a trace, with the text as the user has edited it."""
        return {file: like(self._written, text) if file == _FILE else text for file, text in trace.sources.items()}

    @property
    def why(self) -> str:
        """The error of the text's own, with the innermost of its lines."""
        lines = [f"The edited cell ends with {type(self.raised).__name__}: {self.raised}".rstrip(": ")]
        frames = inspect.getinnerframes(self.raised.__traceback__) if self.raised and self.raised.__traceback__ else []
        numbers = [frame.lineno for frame in frames if frame.filename == _FILE]
        if numbers:  # the first line of what runs stands for the magic's
            code = linecache.getline(_FILE, numbers[-1]).strip()
            lines.append(f"  at line {numbers[-1] - 1}: {code}")
        return "\n".join(lines)


# Running it


@dataclass(frozen=True)
class _Answer:
    """What the copy sends back."""

    file: bytes
    """The trace as an .irtrace file; empty where there is none."""
    error: bytes
    """The exception by pickle, without the lowerings that it holds; empty where there is none."""


def _again(
    shell: Shell, line: str, parsed: argparse.Namespace, name: str, text: str, check: bool, options: Options
) -> Ran:
    """Lower what another text makes. Raises ToolError where the copy ends, KeyboardInterrupt where it is stopped."""
    asked = argparse.Namespace(**{**vars(parsed), "check": parsed.check or check, "timeout": options.timeout})
    whole = forked.available()
    variables = shell.user_ns if whole else dict(shell.user_ns)
    try:
        answer = forked.call(
            lambda: _lowered(_Copy(shell, variables), line, asked, name, text),
            seconds=options.timeout,
            memory=options.memory,
            stop=options.stop,
        )
    except forked.Died as death:
        raise ToolError(f"The edited cell crashed (the copy of the kernel {death})", tool="python") from None
    except forked.TimedOut:
        raise ToolError(f"The edited cell timed out (after {options.timeout:.3g} s)", tool="python") from None
    except MemoryError:
        raise ToolError("The edited cell ran out of memory", tool="python") from None
    error: IRWidgetError | None = pickle.loads(answer.error) if answer.error else None
    if not answer.file:
        return Ran(None, error)
    (trace,) = reading.unpacked(answer.file).traces
    return Ran(replace(trace, inside=Inside(trace, replace(options, stop=None, progress=None))), error)


def _lowered(copy: _Copy, line: str, parsed: argparse.Namespace, name: str, text: str) -> _Answer:
    """What the copy does."""
    try:
        found = _candidates(copy, line, parsed, text)
        candidate = _chosen(found, name)
        done, problems = commands.lower_all([candidate], [parsed.to], parsed, ProgressLine(enabled=False))
    except IRWidgetError as error:
        return _answer(None, error)
    problem = next(iter(problems), None) or next((one.refused for one in found if one.refused), None)
    if problem is None and copy.raised:  # after a launch, say
        problem = UsageError(copy.why)
    trace = next((low.trace for low in done.values() if low.trace.dumps), None)
    return _answer(trace and replace(trace, sources=copy.sources(trace)), problem)


def _answer(trace: Trace | None, problem: BaseException | None) -> _Answer:
    if isinstance(problem, LoweringInterrupted):
        problem = UsageError(str(problem))
    if isinstance(problem, IRWidgetError):
        problem.lowering, problem.lowerings = None, {}
    return _Answer(file.packed([trace]) if trace else b"", pickle.dumps(problem) if problem else b"")


def _candidates(copy: _Copy, line: str, parsed: argparse.Namespace, text: str) -> list[Candidate]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cells.candidates(copy, line, text, [parsed.to], parsed)
        except cells.AlreadyShown:
            raise UsageError(copy.why) from None


def _chosen(candidates: Sequence[Candidate], name: str) -> Candidate:
    """What the lowering was of; else what is refused now, or the one thing that the text makes. Raises UsageError."""
    named = commands.named(candidates)
    if name in named:
        return named[name]
    if refused := next((one for one in candidates if one.refused), None):
        return refused
    if len(named) == 1:
        return candidates[0]
    raise UsageError(f"The edited cell has nothing called {name}, which the lowering is of. {near(name, named)}")
