"""Where in a line of Python an operation is: at its name or its operator, where the expression only begins earlier."""

from __future__ import annotations

import ast
import linecache
import re
from functools import lru_cache

_BEFORE_OPERATOR = re.compile(rb"[)\s\\]*")


@lru_cache(4096)
def operation_column(file: str, line: int, end_line: int, start: int, end: int) -> int:
    """The column, from 1, of the operation that an expression of Python does last; 0 where it is not known.

    The numbers are those of `co_positions`: lines from 1, bytes in them from 0. It is that of `relu` in `x.relu()`, of
    `+` in `a * b + c`, of `[` in `x[0]`: operations of a line have one each, while the expressions `x.relu()` and
    `x.relu().sum()` begin at the same place. (The comparisons of `a < b < c` share that of the first.)
    """
    lines = [text.encode() for text in linecache.getlines(file)[line - 1 : end_line]]
    if len(lines) != end_line - line + 1:
        return 0
    lines[-1] = lines[-1][:end]
    lines[0], before = lines[0][start:], lines[0][:start]
    offset = _offset(b"".join(lines))
    # What is below is not on the line that is said; the expression begins on it.
    return len((before + lines[0][: offset if offset < len(lines[0]) else 0]).decode(errors="replace")) + 1


def _offset(text: bytes) -> int:
    """Bytes from the beginning of an expression or a statement to its operation."""
    try:
        (found,) = ast.parse(b"(" + text + b"\n)").body
    except (SyntaxError, ValueError):
        return _of_assignment(text)
    match found.value if isinstance(found, ast.Expr) else None:
        case (ast.Attribute() as named) | ast.Call(func=ast.Attribute() as named):
            return _end(text, named) - len(named.attr.encode())
        case ast.Call(func=ast.Name()):
            return 0
        case (
            ast.BinOp(left=operand) | ast.Compare(left=operand) | ast.Subscript(value=operand) | ast.Call(func=operand)
        ):
            return _operator(text, operand)
        case _:
            return 0


def _of_assignment(text: bytes) -> int:
    """As `_offset`, for `x += y`."""
    try:
        (found,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return 0
    return _operator(text, found.target, 0) if isinstance(found, ast.AugAssign) else 0


def _operator(text: bytes, operand: ast.expr, shift: int = 1) -> int:
    """Where the operator after an operand is."""
    match = _BEFORE_OPERATOR.match(text, _end(text, operand, shift))
    assert match
    return match.end()


def _end(text: bytes, node: ast.expr, shift: int = 1) -> int:
    """Where a node ends in the text, before which `shift` bytes were put."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    above = text.split(b"\n")[: node.end_lineno - 1]
    return sum(len(one) + 1 for one in above) + node.end_col_offset - (0 if above else shift)
