"""A lowering of the cell that made another one, with other text in it."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from irwidget import failures, output
from irwidget.errors import IRWidgetError, UsageError
from irwidget.experiments.experiment import Judge
from irwidget.experiments.passes import Planned
from irwidget.toolchain import budget
from irwidget.toolchain.run import Options, Progress
from irwidget.trace import Diagnostic, Location, Trace

_Lowering = TypeVar("_Lowering", bound=failures.Held)
NAME = "cell"
"""What the text is called in what is said of it."""


@dataclass(frozen=True)
class Ran:
    """What came of a cell."""

    trace: Trace | None
    """None where it ended before anything was lowered."""
    error: IRWidgetError | None = None


@dataclass(frozen=True)
class Cell:
    """The cell that something was lowered in."""

    text: str
    """Without the line of its magic."""
    line: str
    """The options of a magic that lowers just this."""
    again: Callable[[str, bool, Options], Ran] = field(repr=False, compare=False)
    """Lowers another text in its place, in a copy of this process; the second argument asks for a verdict. Raises
    ToolError where the copy ends, KeyboardInterrupt where `Options.stop` is set."""
    problems: Callable[[str], tuple[Diagnostic, ...]] = field(repr=False, compare=False)
    """What Python's parser says of another text."""
    alone: Callable[[], str] = field(repr=False, compare=False)
    """The text as a file of its own: behind the statements of other cells that it takes names from."""


def syntax_errors(python: str) -> tuple[Diagnostic, ...]:
    """What Python's parser says of a text: line and column from 1, at most one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(python, NAME, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        place = Location(NAME, error.lineno or 0, error.offset or 0)
        return (Diagnostic("error", f"{type(error).__name__}: {error.msg}", place),)
    except ValueError as error:  # a null byte
        return (Diagnostic("error", str(error)),)
    return ()


@dataclass(frozen=True)
class CellExperiment(Generic[_Lowering]):
    """What `low.edit(source=...)` gives: the cell with another text. Every change gives a new one."""

    original: _Lowering
    cell: Cell
    """The cell as it was."""
    text: str = field(repr=False)
    make: Callable[[Trace, Cell], _Lowering] = field(repr=False)
    options: Options = field(repr=False)
    judge: Judge | None = field(default=None, repr=False)
    """The verdict on the original, where that has none yet."""
    name: str = ""
    """What it is called beside the original; says what was changed when empty."""
    passes: ClassVar[tuple[Planned, ...]] = ()
    """All of them run, as the cell says."""
    pipeline: ClassVar[str] = ""
    switches: ClassVar[list[str]] = []
    """The line of its magic has them."""
    read: ClassVar[bool] = True

    def named(self, name: str) -> CellExperiment[_Lowering]:
        """The same under a name of your own."""
        return replace(self, name=name)

    @property
    def edited(self) -> Cell:
        """The cell with the other text."""
        return replace(self.cell, text=self.text)

    @property
    def is_edited(self) -> bool:
        """Whether the text is another one than the cell's."""
        return self.text != self.cell.text

    @property
    def says(self) -> str:
        """What was changed, in short."""
        return "cell edited" if self.is_edited else "run again"

    def problems(self) -> tuple[Diagnostic, ...]:
        """What Python's parser says of the text; empty when it takes it. Nothing is run."""
        return self.cell.problems(self.text)

    def run(
        self,
        *,
        check: bool = False,
        timeout: float | None = None,
        stop: threading.Event | None = None,
        progress: Progress | None = None,
    ) -> _Lowering:
        """Run the text as its cell would be, and lower what the original was made of; shows itself beside that.

        It runs in a copy of this process: no variable of the notebook changes. (Where a process cannot be copied it
        runs here, with variables of its own: objects that it writes into are the notebook's.) `stop`, set on another
        thread, ends it; `progress` is not called, because the passes run there. Raises what `irwidget.lower` raises,
        LoweringInterrupted, and UsageError for an error of the text's own and where it does not give what the original
        was made of.
        """
        if found := self.problems():
            place = found[0].location
            where = f"line {place.line}, column {place.column}: " if place else ""
            raise UsageError(f"The edited cell is no Python: {where}{found[0].message}")
        options = replace(self.options, stop=stop)
        options = replace(options, timeout=budget.limit(timeout)) if timeout is not None else options
        with failures.limited(options):
            ran = self.cell.again(self.text, check, options)
        made = None if ran.trace is None else self._made(ran.trace)
        if ran.error:
            ran.error.lowering = made
            raise ran.error
        assert made is not None
        return made

    def _made(self, trace: Trace) -> _Lowering:
        named = replace(trace, name=f"{self.original.trace.name}: {self.name or self.says}")
        return self.make(named, self.edited)

    def save(self, folder: str | Path) -> Path:
        """Write the text as `edited.py`, and `run.sh`, which lowers it by the command line, without the variables of
        other cells; the path of the text. Raises UsageError when they cannot be written.
        """
        folder = output.folder(Path(folder))
        output.write(folder / "run.sh", f"#!/bin/sh\npython -m irwidget lower edited.py {self.cell.line}\n")
        return output.write(folder / "edited.py", self.text)


def begin(
    original: _Lowering,
    text: str,
    cell: Cell | None,
    make: Callable[[Trace, Cell], _Lowering],
    options: Options,
    judge: Judge | None,
) -> CellExperiment[_Lowering]:
    """An experiment with another text in the cell of a lowering. Raises UsageError where that was made by none."""
    if cell is None:
        raise UsageError(
            "This lowering was not made by a %%lower cell of this kernel, so there is no text to edit: edit a dump, "
            "low.edit(index, text), or put what it lowers under %%lower"
        )
    return CellExperiment(original, cell, text, make, options, judge)
