"""What of a cell is Python: IPython's own lines are calls there, and some magics run code of the cell's own."""

from __future__ import annotations

import ast

_RUN = ("time", "timeit", "prun", "capture")
"""Magics whose argument, or cell, is run as Python."""


def parsed(source: str) -> list[ast.stmt]:
    """The statements of a cell that has run; none where it is in a syntax of somebody else's."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):
        pass
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return ast.parse(TransformerManager().transform_cell(source)).body
    except (SyntaxError, ValueError):
        return []


def code_of_magic(node: ast.AST) -> str:
    """The code that a call of a magic runs; empty for all other nodes."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="run_line_magic" | "run_cell_magic"),
            args=[ast.Constant(value=str(name)), *_, ast.Constant(value=str(code))],
        ) if name in _RUN:
            return code
        case _:
            return ""
