"""Comparisons that an `assert` looks at, and nothing else: it can be left out where tensors have no values."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
from types import FrameType

_Span = tuple[int | None, int | None, int | None, int | None]
"""First and last line, first and last column."""


def by_an_assert(frame: FrameType) -> bool:
    """Whether the running instruction of a frame computes what an `assert` asks for: its test, or one part of an `and`.

    False where the test says `not`, `or` or more of the value, and where there is no source.
    """
    positions = frame.f_code.co_positions()
    span = next(itertools.islice(positions, frame.f_lasti // 2, None), (None,) * 4)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    return span in _spans("".join(lines))


@functools.lru_cache(maxsize=16)
def _spans(source: str) -> frozenset[_Span]:
    """Where a text has what its `assert`s ask for. The jump of an `assert` has the place of the statement."""
    try:
        statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    found: set[_Span] = set()
    for statement in statements:
        parts = _parts(statement.test)
        found |= {_span(part) for part in parts if isinstance(part, ast.Call | ast.Compare)}
        if not any(isinstance(part, ast.UnaryOp | ast.BoolOp | ast.IfExp | ast.NamedExpr) for part in parts):
            found.add(_span(statement))
    return frozenset(found)


def _parts(test: ast.expr) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _parts(value)]
    return [test]


def _span(node: ast.expr | ast.stmt) -> _Span:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
