"""What the documentation lists says which errors of ours it raises, those of what it calls included."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import irwidget
from irwidget import errors

DOCS = Path(__file__).resolve().parents[2] / "docs"
OURS = {
    name: {base.__name__ for base in one.__mro__}
    for name, one in vars(errors).items()
    if inspect.isclass(one) and issubclass(one, BaseException)
}
"""Each error of ours with its bases: a handler of any of them catches it."""
DEEPEST = 7
"""Calls that are followed."""
Function = tuple[FunctionType, type | None]
"""A function, and the class that it is a method of."""


def listed() -> Iterator[str]:
    """Every name that docs/api.md and docs/extending.md show, and the package's own."""
    yield from (f"irwidget.{name}" for name in irwidget.__all__)
    text = "".join((DOCS / page).read_text() for page in ("api.md", "extending.md"))
    yield from re.findall(r"auto(?:function|class):: (\S+)", text)
    for module in re.findall(r"automodule:: (\S+)", text):
        found = importlib.import_module(module)
        yield from (f"{module}.{name}" for name in getattr(found, "__all__", vars(found)) if name[0] != "_")


def _named(path: str) -> object:
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        return functools.reduce(getattr, parts[count:], found)
    raise LookupError(path)


def public() -> dict[str, Function]:
    """Functions and methods by name: of a property and the like, the function behind it."""
    found: dict[str, Function] = {}
    for name in listed():
        one = _named(name)
        if inspect.isclass(one):
            for member in dir(one):
                behind = _function(inspect.getattr_static(one, member, None))
                if behind and (member[0] != "_" or member in ("__init__", "__call__", "__getitem__")):
                    found[f"{name}.{member}"] = behind, one
        elif behind := _function(one):
            found[name] = behind, None
    return found


def _function(one: object) -> FunctionType | None:
    for inner in ("fget", "func", "__func__"):
        one = getattr(one, inner, one)
    one = inspect.unwrap(one) if callable(one) else one
    return one if isinstance(one, FunctionType) and one.__module__.startswith(("irwidget", __name__)) else None


def _name(node: ast.expr | None) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


class Body(ast.NodeVisitor):
    """What a function raises and calls, each with the names of the errors that it catches there."""

    def __init__(self, tree: ast.AST) -> None:
        self.raised: list[tuple[str, frozenset[str]]] = []
        self.called: list[tuple[str, frozenset[str]]] = []
        self.local: dict[str, str] = {}
        """Names that it imports itself, with what they are."""
        self._caught: frozenset[str] = frozenset()
        self.generic_visit(tree)

    def visit_FunctionDef(self, node: ast.AST) -> None:
        """Functions inside are not run here."""

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Try(self, node: ast.Try) -> None:
        before = self._caught
        kinds = [one.type for one in node.handlers]
        flat = [one for kind in kinds for one in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]
        self._caught = before | {_name(one) if one else "BaseException" for one in flat}
        for one in node.body:
            self.visit(one)
        self._caught = before
        for one in (*node.orelse, *node.finalbody, *(one for handler in node.handlers for one in handler.body)):
            self.visit(one)

    def visit_Raise(self, node: ast.Raise) -> None:
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        self.raised.append((_name(made), self._caught))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.called.append((ast.unparse(node.func), self._caught))
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.local |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}


@functools.cache
def _body(function: FunctionType) -> Body:
    try:
        source = inspect.getsource(function)
    except OSError:  # what dataclasses make of fields
        return Body(ast.Module([], []))
    return Body(ast.parse(textwrap.dedent(source)).body[0])


def _callee(called: str, body: Body, caller: Function) -> Function | None:
    function, owner = caller
    first, *rest = called.split(".")
    try:
        if first == "self" and owner and len(rest) == 1:
            found = _function(inspect.getattr_static(owner, rest[0]))
            return (found, owner) if found else None
        scope: object = _named(body.local[first]) if first in body.local else function.__globals__[first]
        one = functools.reduce(getattr, rest, scope)
    except (AttributeError, KeyError, LookupError):
        return None
    if inspect.isclass(one):
        found = _function(vars(one).get("__init__"))
        return (found, one) if found else None
    found = None if isinstance(one, ModuleType) else _function(one)
    return (found, None) if found else None


@functools.cache
def raises(function: Function, depth: int = 0) -> frozenset[str]:
    """The errors of ours that a function may raise, as its code and that of what it calls says."""
    body = _body(function[0])
    found = {name for name, caught in body.raised if name in OURS and not OURS[name] & caught}
    for called, caught in body.called if depth < DEEPEST else ():
        if callee := _callee(called, body, function):
            found |= {name for name in raises(callee, depth + 1) if not OURS[name] & caught}
    return frozenset(found)


def _stated(function: Function) -> set[str]:
    """The errors that a docstring names after the word Raises; a class may speak for its `__init__`."""
    said = inspect.getdoc(function[0] if function[0].__name__ != "__init__" else function[1]) or ""
    return {name for name in OURS if name in said.partition("Raises")[2]}


def test_the_errors_that_public_functions_raise_are_stated():
    functions = public()
    raising = {name: kinds for name, one in functions.items() if (kinds := raises(one))}
    assert len(raising) > 60
    unsaid = {name: kinds - _stated(functions[name]) for name, kinds in raising.items()}
    assert {name: kinds for name, kinds in unsaid.items() if kinds} == {}


class Speaks:
    """Raises ToolError where it is made."""

    def __init__(self) -> None:
        raise errors.ToolError("", tool="")

    def caught(self) -> None:
        try:
            Speaks()
        except errors.IRWidgetError:
            self.other()

    def other(self) -> None:
        from irwidget.saved import load

        load("x")


def test_what_a_function_raises_is_found_in_what_it_calls():
    assert raises((Speaks.__init__, Speaks)) == {"ToolError"}
    assert raises((Speaks.caught, Speaks)) == {"UsageError"}
    assert _stated((Speaks.__init__, Speaks)) == {"ToolError"}
    assert _stated((Speaks.caught, Speaks)) == set()
