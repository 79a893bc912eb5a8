"""What the last line of a cell calls, and with what, noted while the cell runs."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from irwidget.frontends import modes
from irwidget.frontends.cell import Shell

_NAME = "__irwidget_last_line__"


@dataclass
class NotedCall:
    """A call on the last line of a cell."""

    callee: Any
    name: str
    """The variable that was called; empty where it was no variable."""
    made: bool
    """Whether what was called is what another call made: `torch.vmap(f)(x)`."""
    closing: bool
    """Whether the line is this call and nothing else."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    modes: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
    """Under which it is made."""


class LastLine(ast.NodeTransformer):
    """The calls on the last line of a cell, in the order in which they were made.

    `f(a, k=b)` becomes `note.of(f, ...)(*note.args(a, k=b), **note.kwargs())`: the call itself stays in the cell, and
    errors in it have no frame of ours.
    """

    def __init__(self) -> None:
        self.calls: list[NotedCall] = []
        self._open: list[NotedCall] = []
        self._closing: ast.expr | None = None

    # What the cell runs

    def of(self, callee: Any, name: str, made: bool, closing: bool) -> Any:
        """A call begins: what is called, evaluated before its arguments."""
        whose = getattr(callee, "__self__", None) if getattr(callee, "__name__", "") == "forward" else None
        self._open.append(NotedCall(callee if whose is None else whose, name, made, closing))
        return callee

    def args(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Its arguments are there."""
        self._open[-1].args, self._open[-1].kwargs = args, kwargs
        return args

    def kwargs(self) -> Mapping[str, Any]:
        """The call is made."""
        self._open[-1].modes = modes.current()
        self.calls.append(self._open.pop())
        return self.calls[-1].kwargs

    # What is made of it

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """The cell, with the calls on its last line noted."""
        last = node.body[-1] if node.body else None
        while isinstance(last, ast.With | ast.If):  # torch.no_grad(), __name__ == "__main__"
            last = last.body[-1]
        if isinstance(last, ast.Expr | ast.Assign | ast.AnnAssign) and last.value is not None:
            self._closing = last.value if isinstance(last, ast.Expr) else None
            last.value = self.visit(last.value)
            ast.fix_missing_locations(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """A call, noted."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        said = (name, isinstance(node.func, ast.Call), node is self._closing)
        self.generic_visit(node)
        told = [node.func, *map(ast.Constant, said)]
        given = self._asked("args", node.args, node.keywords)
        noted = ast.Call(
            self._asked("of", told, []), [ast.Starred(given, ast.Load())], [ast.keyword(None, self._asked("kwargs"))]
        )
        return ast.copy_location(noted, node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """What is called later, or many times, is not noted."""
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda  # pyright: ignore[reportAssignmentType]

    def _asked(
        self, what: str, args: list[ast.expr] | None = None, keywords: list[ast.keyword] | None = None
    ) -> ast.Call:
        return ast.Call(ast.Attribute(ast.Name(_NAME, ast.Load()), what, ast.Load()), args or [], keywords or [])


@contextlib.contextmanager
def noted(shell: Shell) -> Generator[LastLine]:
    """Note the calls on the last line of the cell that the shell runs meanwhile."""
    line = LastLine()
    shell.ast_transformers.append(line)
    shell.user_ns[_NAME] = line
    try:
        yield line
    finally:
        with contextlib.suppress(ValueError):  # IPython takes out those that fail
            shell.ast_transformers.remove(line)
        shell.user_ns.pop(_NAME, None)
