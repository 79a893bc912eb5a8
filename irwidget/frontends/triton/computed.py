"""What an expression of a cell gives, computed before the cell does, of numbers and of tensors."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, NamedTuple

import torch


class Unknown(Exception):
    """An expression that is not computed before the cell does."""


class Known(NamedTuple):
    """What expressions are computed from."""

    frame: FrameType
    """Where they will be."""
    nodes: Mapping[ast.expr, Any]
    """What some of them have given already."""
    names: Mapping[str, Any]
    """What has got a name by then that has none, or another, in the frame now; `Unknown` where nobody knows."""
    still: bool = True
    """Whether tensors are by then what they are now."""


def _number(value: Any) -> Any:
    """A number of a tensor, so that it tells what becomes of it where it is of results."""
    return value.item() if isinstance(value, torch.Tensor) else value


def _whole(value: Any) -> Any:
    number = _number(value)
    if isinstance(number, float) and type(number) is not float:
        raise Unknown  # it tells, and what int() makes of it does not
    return int(number) if type(number) is float else number


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "float": _number,
    "int": _whole,
    "abs": abs,
    "max": max,
    "round": round,
    "len": len,
    "math.fabs": abs,
    "math.sqrt": lambda value: value**0.5,
}
"""By the names that cells call them by, what computes the same and goes on to tell."""
_METHODS = frozenset("abs max min amax amin mean sum norm square sqrt pow numel size item float double".split())
"""Methods of tensors that change nothing and ask nothing."""


def is_arithmetic(node: ast.AST, operand: ast.expr) -> bool:
    """Whether an expression computes a number from an operand of it and others, as it is done here."""
    match node:
        case ast.BinOp(op=sign):
            return type(sign) in _OPERATORS
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.Call(func=function, args=args, keywords=[]):
            return operand in args and ast.unparse(function) in _FUNCTIONS
        case _:
            return False


def computed(node: ast.expr, known: Known) -> Any:
    """The number, or tensor, that an expression gives. Raises Unknown."""
    try:
        found = known.nodes[node] if node in known.nodes else _computed(node, known)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise Unknown from error
    if not isinstance(found, int | float | torch.Tensor):
        raise Unknown
    return found


def _computed(node: ast.expr, known: Known) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            found = known.names[name] if name in known.names else _named(name, known.frame)
            if known.still or not isinstance(found, torch.Tensor):
                return found
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -computed(operand, known)
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATORS[type(sign)](computed(left, known), computed(right, known))
        case ast.Subscript(value=of, slice=at) if isinstance(tensor := computed(of, known), torch.Tensor):
            return tensor[computed(at, known)]
        case ast.Call(func=function, args=args, keywords=[]) if (name := ast.unparse(function)) in _FUNCTIONS:
            if "." in name or _named(name, known.frame) is getattr(builtins, name):
                return _FUNCTIONS[name](*(computed(one, known) for one in args))
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=args, keywords=[]) if name in _METHODS:
            if isinstance(tensor := computed(of, known), torch.Tensor):
                return getattr(tensor, name)(*(computed(one, known) for one in args))
        case _:
            pass
    raise Unknown


def _named(name: str, frame: FrameType) -> Any:
    """What has a name in a frame."""
    return (vars(builtins) | frame.f_globals | frame.f_locals)[name]
