"""What a cell takes from cells before it: their statements that define the names that it uses."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from irwidget import ipython_syntax
from irwidget.reducing import python


def alone(text: str, earlier: Sequence[str]) -> str:
    """A cell behind the statements of `earlier` ones, the oldest first, that define what it uses; a file by itself
    where these say all that it needs. Cells that are no Python give nothing.
    """
    try:
        needed = set(python.unbound(text))
    except SyntaxError:
        return text
    kept: list[str] = []
    for statement in reversed([one for cell in earlier for one in _statements(cell)]):
        said = ast.unparse(statement)
        if (defined := python.bound(said)) & needed:
            needed = needed - defined | _uses(statement, said)
            kept.insert(0, said)
    return "\n".join([*kept, text]) if kept else text


def _uses(statement: ast.stmt, said: str) -> frozenset[str]:
    """The names that must have a value before a statement."""
    match statement:
        case ast.AugAssign(target=ast.Name(name)):
            return python.used(said) | {name}
        case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():  # which may name itself
            return python.unbound(said)
        case _:
            return python.used(said)


def _statements(cell: str) -> list[ast.stmt]:
    """Those of a cell; of one under `%%lower`, those below it. `cell` is as IPython runs it."""
    match found := ipython_syntax.parsed(cell):
        case [ast.Expr(ast.Call(ast.Attribute(attr="run_cell_magic"), [*_, ast.Constant(str(below))]))]:
            return _statements(below)
        case _:
            return found
