"""Device coordinates from their text, as sympy prints them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from irwidget.errors import UnsupportedError
from irwidget.spyre.expressions import Coordinate, Term


def coordinate(text: str) -> Coordinate:
    """A coordinate from `floor(c1/64) + 2`; UnsupportedError for what is no sum of terms of one variable each."""
    try:
        return _sum(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        raise UnsupportedError(f"{text!r} is no coordinate that is understood here") from None


def _sum(node: ast.expr) -> Coordinate:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            a, b = _sum(left), _sum(right)
            return Coordinate(a.terms + b.terms, a.offset + b.offset, a.indirect or b.indirect)
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(n))):
            a = _sum(left)
            return Coordinate(a.terms, a.offset - n, a.indirect)
        case ast.Call(func=ast.Name(id="IndirectAccess"), args=[ast.Name(id=name)]):
            return Coordinate(indirect=name)
        case ast.Constant(value=int(n)):
            return Coordinate(offset=n)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(n))):
            return Coordinate(offset=-n)
        case _:
            return Coordinate((_term(node),))


def _term(node: ast.expr) -> Term:
    """`num * ((v mod modulus) // den)`, in the ways in which sympy writes it."""
    match node:
        case ast.Name(id=name):
            return Term(name)
        case ast.BinOp(left=ast.Constant(value=int(n)), op=ast.Mult(), right=inner):
            found = _term(inner)
            return Term(found.var, found.num * n, found.modulus, found.den)
        case ast.Call(func=ast.Name(id="floor"), args=[ast.BinOp(left=inner, op=ast.Div(), right=divisor)]):
            found, n = _term(inner), _number(divisor)
            if found.num == 1:
                return Term(found.var, 1, found.modulus, found.den * n)
        case ast.Call(func=ast.Name(id="Mod"), args=[inner, modulus]):
            found, n = _term(inner), _number(modulus)
            if found.num == 1 and (not found.modulus or found.modulus % (found.den * n) == 0):
                return Term(found.var, 1, found.den * n, found.den)
        case _:
            pass
    raise ValueError


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    raise ValueError


def variables(coordinates: Sequence[Coordinate]) -> set[str]:
    """The loop variables in coordinates."""
    return {v for one in coordinates for v in one.variables}
