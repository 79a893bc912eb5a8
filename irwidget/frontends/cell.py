"""A cell, or a file that is run as one, on its way to what it wants lowered."""

from __future__ import annotations

import ast
import bdb
import contextlib
import io
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from irwidget import private_ipython
from irwidget.errors import IRWidgetError, UsageError, near
from irwidget.registry import Target


class Shell(Protocol):
    """What runs the user's code, and shows their own errors."""

    @property
    def user_ns(self) -> Any:
        """The user's variables by name."""
        ...

    @property
    def ast_transformers(self) -> Any:
        """A list of `ast.NodeTransformer`, applied to the code before it runs."""
        ...

    def run_cell(self, raw_cell: str, store_history: bool = False) -> Any:
        """Run it. The result has `success`, and `error_in_exec` where it raised."""
        ...

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Show the exception that is being handled."""
        ...


class AlreadyShown(bdb.BdbQuit):
    """Ends a cell whose error the shell has shown already.

    IPython takes a cell that ends in bdb.BdbQuit as failed, and shows nothing.
    """

    @classmethod
    def of(cls, error: BaseException | None) -> AlreadyShown:
        """The same under the name and the words of the error, as whoever executes notebooks reports it."""
        shown = type(type(error).__name__, (cls,), {})(str(error)) if error else cls()
        shown.__cause__ = error
        return shown


def error_of(ran: Any) -> BaseException | None:
    """What ended the code that a shell has run; a SyntaxError before any of it ran. None where it came to its end."""
    return ran.error_in_exec or getattr(ran, "error_before_exec", None)


@contextlib.contextmanager
def silent(shell: Any) -> Generator[None]:
    """Have IPython display no value of the code that runs meanwhile."""
    before = getattr(shell, "ast_node_interactivity", None)
    if before is None:  # a file, whose values nobody displays
        yield
        return
    shell.ast_node_interactivity = "none"
    try:
        yield
    finally:
        shell.ast_node_interactivity = before


@dataclass(frozen=True)
class Call:
    """A model with inputs to try."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    told: bool = False
    """The user said so; a guess otherwise."""
    modes: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
    """Under which it is made."""
    dynamic_shapes: Any = None
    """As torch.export takes them; None where the cell says nothing of them."""


@dataclass(frozen=True)
class Candidate:
    """A model, its name and the calls to try, best first."""

    name: str
    model: Any
    calls: tuple[Call, ...]
    refused: IRWidgetError | None = None
    """Why there is nothing to lower: the cell ended here, after those before it."""


@dataclass(frozen=True)
class NotebookCell:
    """A cell and what its magic says."""

    shell: Shell
    text: str
    """As the user wrote it, without the magic."""
    source: str
    """As it runs: the first line stands for the magic's, so that line numbers are those that the user sees."""
    wanted: Sequence[Target]
    """The IR types that it is lowered to; none in the editor, where they are chosen later."""
    options: Mapping[str, Any]
    """The options of these IR types."""
    written: Literal["text", "python"] = "text"
    """For IR: whether the cell is the IR, or Python that prints it."""
    timeout: float | None = None
    """Seconds for all of it."""
    memory: int | None = None
    """Bytes that a process of ours may use."""
    check: bool = False
    """Whether what it lowers is to be executed and compared."""
    elsewhere: bool = False
    """Whether another release lowers it too, or alone: what this process's refuses is lowered all the same."""
    errors: list[BaseException] = field(default_factory=list[BaseException])
    """Takes the user's own error, which the shell has shown: what came before is lowered, and then the cell fails."""

    def run(self) -> None:
        """Run it. Raises AlreadyShown for an error of the user's own, UsageError for a cell magic below ours."""
        if self.text.lstrip().startswith("%%"):
            magic = self.text.split()[0]
            raise UsageError(f"{magic} is below %%lower, where IPython knows no cell magic. Put {magic} above %%lower")
        quiet = private_ipython.ends_in_semicolon(self.shell, self.text)
        with (
            private_ipython.numbered(self.shell, self.source),
            silent(self.shell) if quiet else contextlib.nullcontext(),
        ):
            ran = self.shell.run_cell(self.source, store_history=False)
        if not ran.success:
            raise self.failed(error_of(ran))

    def failed(self, error: BaseException | None) -> AlreadyShown:
        """What ends the cell for an error of its own, noted."""
        shown = AlreadyShown.of(error)
        self.errors.append(error or shown)
        return shown

    def printed(self) -> str:
        """What it prints when it is run as Python. Raises UsageError when it prints nothing."""
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                self.run()
        except AlreadyShown:  # in a terminal, there
            print(printed.getvalue(), end="")
            raise
        if not printed.getvalue().strip():
            raise UsageError("There is no IR: the Python code printed nothing")
        return printed.getvalue()


def transformed(source: str, file: str, transformers: Sequence[ast.NodeTransformer]) -> ast.Module:
    """Code as a shell runs it. Raises SyntaxError."""
    tree = ast.parse(source, file)
    for one in transformers:
        tree = one.visit(tree)
    return tree


def variable(name: str, namespace: Mapping[str, Any], role: str = "") -> Any:
    """A variable of the user's by its name. Raises UsageError, which says what there is, IPython's own names apart."""
    if name in namespace:
        return namespace[name]
    own = getattr(private_ipython.running(), "user_ns_hidden", {})
    known = [one for one, value in namespace.items() if one[0] != "_" and own.get(one, own) is not value]
    taken = f" to take for the {role}" if role else ""
    raise UsageError(f"There is no variable {name!r}{taken}. {near(name, known)}")
