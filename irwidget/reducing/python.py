"""Python: take statements, arguments and expressions out of a file, by its syntax tree.

Functions, classes and what launches them are all of one file, so nothing needs to be known of Triton, Helion or
PyTorch: a candidate that is no program ends with an error of its own, which is no failure of a lowering.
"""

from __future__ import annotations

import ast
import builtins
import copy
import symtable
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

from irwidget.reducing import engine
from irwidget.reducing.engine import Change, Test

_BODIES = ("body", "orelse", "finalbody")
_OPERATIONS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript)
_DEFINES = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
_BUILT_IN = frozenset([*dir(builtins), "__name__", "__file__", "__doc__"])


def normal(source: str) -> str:
    """A file as its syntax tree prints it: without comments. Raises SyntaxError."""
    return ast.unparse(ast.parse(source)) + "\n"


def count(source: str) -> int:
    """How many operations the functions and classes of a file have: calls, operators and subscripts."""
    tree = _tree(source)
    outer = [node for node in tree.body if isinstance(node, _DEFINES)]
    bodies = [one for node in outer for one in _flat(node)]
    return sum(isinstance(node, _OPERATIONS) for statement in bodies for node in _own(statement))


def smaller(source: str, fails: Test[str]) -> Iterator[str]:
    """Smaller and smaller files that still fail; of the last one no statement or expression can be taken out."""
    return engine.smallest(source, fails, WAYS)


def _flat(node: ast.AST) -> list[ast.stmt]:
    """The statements in a definition, those of definitions in it too."""
    return [one for one in ast.walk(node) if isinstance(one, ast.stmt) and one is not node]


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement that are of no statement in it, of a definition neither decorators nor annotations."""
    left: list[ast.AST] = [] if isinstance(statement, _DEFINES) else list(ast.iter_child_nodes(statement))
    while left:
        node = left.pop()
        if not isinstance(node, ast.stmt):
            yield node
            left += ast.iter_child_nodes(node)


@lru_cache(maxsize=16)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _edited(source: str, edit: Callable[[ast.Module], object]) -> str | None:
    """The file with its tree edited; None where the edit says False, or what is left is no program, or uses a name
    that nothing in it gives a value any more: such a one need not be run.
    """
    tree = copy.deepcopy(_tree(source))
    if edit(tree) is False:
        return None
    try:
        made = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        return None if unbound(made) - unbound(source) else made
    except (SyntaxError, ValueError):
        return None


@lru_cache(maxsize=16)
def unbound(source: str) -> frozenset[str]:
    """The names that a file uses, and neither it nor Python defines. Raises SyntaxError."""
    return frozenset() if "import *" in source else used(source) - bound(source)  # a star may be all of them


@lru_cache(maxsize=16)
def used(source: str) -> frozenset[str]:
    """The names of its own or of others that a file uses, but for Python's. Raises SyntaxError."""
    names = _of_module(symtable.symtable(source, "program", "exec"))
    return frozenset(one.get_name() for one in names if one.is_referenced()) - _BUILT_IN


@lru_cache(maxsize=16)
def bound(source: str) -> frozenset[str]:
    """The names that a file gives a value. Raises SyntaxError."""
    names = _of_module(symtable.symtable(source, "program", "exec"))
    return frozenset(one.get_name() for one in names if one.is_assigned() or one.is_imported())


def _of_module(scope: symtable.SymbolTable) -> Iterator[symtable.Symbol]:
    """The names of a scope, and of those in it, that stand for what the module has."""
    yield from (one for one in scope.get_symbols() if one.is_global())
    for inner in scope.get_children():
        yield from _of_module(inner)


# Statements


def _lists(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in _BODIES:
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield body


def _statements(tree: ast.AST) -> list[tuple[list[ast.stmt], ast.stmt]]:
    """All statements with the list that each is in, the outermost first, of a list the last first."""
    found = [(body, one) for body in _lists(tree) for one in reversed(body)]
    return [(body, one) for body, one in found if not (isinstance(one, ast.Pass) and len(body) == 1)]


def _without(source: str, start: int, stop: int) -> str | None:
    def edit(tree: ast.Module) -> None:
        for body, one in _statements(tree)[start:stop]:
            body.remove(one)
        _fill(tree)

    return _edited(source, edit)


def _fill(tree: ast.AST) -> None:
    """Give what has to have a statement one."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and not body and not isinstance(node, ast.Module):
            body.append(ast.Pass())


def _taken(source: str, fails: Test[str]) -> Iterator[str]:
    """Without more and more statements."""
    return engine.chunks(source, fails, lambda one: len(_statements(_tree(one))), _without)


def _unused(source: str, fails: Test[str]) -> Iterator[str]:
    """Without functions, classes and imports that nothing uses, and values that are none of anything's, at once."""

    def edit(tree: ast.Module, names: frozenset[str]) -> bool:
        idle = [(body, one) for body, one in _statements(tree) if _is_idle(one, names, outside=body is tree.body)]
        for body, one in idle:
            body.remove(one)
        _fill(tree)
        return bool(idle)

    def changes(source: str) -> list[Change[str]]:
        return [partial(_edited, source, partial(edit, names=used(source)))]

    fails.way = "what nothing uses"
    return engine.each(source, fails, changes)


def _is_idle(one: ast.stmt, names: frozenset[str], *, outside: bool) -> bool:
    """Whether nothing uses what a statement gives; `outside`: it is in no definition, so `names` would have it."""
    match one:
        case ast.Expr(ast.Constant()):
            return True
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return outside and name not in names
        case ast.Import(aliases) | ast.ImportFrom(_, aliases):
            return outside and all((alias.asname or alias.name.split(".")[0]) not in names for alias in aliases)
        case _:
            return False


def _unwrapped(source: str, fails: Test[str]) -> Iterator[str]:
    """With the body of a loop, a branch or a context in place of it; with a value in place of its assignment."""

    def edit(tree: ast.Module, number: int) -> bool:
        body, one = _statements(tree)[number]
        if isinstance(one, ast.Assign | ast.AugAssign):
            body[body.index(one)] = ast.Expr(one.value)
            return True
        inner = [*getattr(one, "body", []), *getattr(one, "orelse", [])]
        if isinstance(one, _DEFINES) or not inner:
            return False
        at = body.index(one)
        head: list[ast.stmt] = []
        if isinstance(one, ast.For) and isinstance(one.target, ast.Name):  # what its body names needs a value
            head = [ast.Assign([one.target], ast.Constant(0))]
        body[at : at + 1] = [*head, *inner]
        return True

    def changes(source: str) -> list[Change[str]]:
        found = enumerate(_statements(_tree(source)))
        numbers = [n for n, (_, one) in found if hasattr(one, "body") or isinstance(one, ast.Assign | ast.AugAssign)]
        return [partial(_edited, source, partial(edit, number=number)) for number in numbers]

    return engine.each(source, fails, changes)


# Parameters


def _parameters(source: str, fails: Test[str]) -> Iterator[str]:
    """Without a parameter of a function, and without what calls and launches give for it."""

    def edit(tree: ast.Module, name: str, number: int) -> bool:
        function = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
        gone = function.args.args[number]
        function.args.args.remove(gone)
        function.args.defaults = function.args.defaults[-len(function.args.args) :] if function.args.args else []
        for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call) and _called(n) == name):
            call.args = [one for at, one in enumerate(call.args) if at != number]
            call.keywords = [one for one in call.keywords if one.arg != gone.arg]
        return True

    def changes(source: str) -> list[Change[str]]:
        functions = [n for n in ast.walk(_tree(source)) if isinstance(n, ast.FunctionDef)]
        return [
            partial(_edited, source, partial(edit, name=one.name, number=number))
            for one in functions
            for number in reversed(range(len(one.args.args)))
        ]

    return engine.each(source, fails, changes)


def _called(call: ast.Call) -> str:
    """The name of what is called, or launched: `f(...)`, `f[grid](...)`."""
    function = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    return function.id if isinstance(function, ast.Name) else ""


# Expressions


def _expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None, ast.expr]]:
    """Expressions that may be another: what each is in, under which name and number; the largest come first."""
    found: list[tuple[ast.AST, str, int | None, ast.expr]] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("ctx", "annotation", "targets", "target", "returns"):
                continue
            places: list[Any] = value if isinstance(value, list) else [value]
            for at, one in enumerate(places):
                if isinstance(one, ast.expr):
                    found.append((node, name, at if isinstance(value, list) else None, one))
    return found


def _put(place: tuple[ast.AST, str, int | None, ast.expr], other: ast.expr | None) -> None:
    node, name, at, _ = place
    if at is None:
        setattr(node, name, other)
    elif other is None:
        del getattr(node, name)[at]
    else:
        getattr(node, name)[at] = other


def _parts(one: ast.expr) -> list[ast.expr]:
    """The expressions in an expression that may stand in its place."""
    parts = [node for node in ast.iter_child_nodes(one) if isinstance(node, ast.expr)]
    if isinstance(one, ast.Call):
        parts = [*one.args, *(keyword.value for keyword in one.keywords)]
        if isinstance(one.func, ast.Attribute):
            parts.append(one.func.value)
    return parts


def _simpler(source: str, fails: Test[str]) -> Iterator[str]:
    """With a part of an expression in place of it."""

    def edit(tree: ast.Module, number: int, part: int) -> None:
        place = _expressions(tree)[number]
        _put(place, _parts(place[3])[part])

    def changes(source: str) -> list[Change[str]]:
        found = _expressions(_tree(source))
        return [
            partial(_edited, source, partial(edit, number=number, part=part))
            for number, place in enumerate(found)
            for part in range(len(_parts(place[3])))
        ]

    return engine.each(source, fails, changes)


def _constants(source: str, fails: Test[str]) -> Iterator[str]:
    """With a constant in place of an expression, and smaller numbers in place of others."""

    def edit(tree: ast.Module, number: int, value: float) -> None:
        _put(_expressions(tree)[number], ast.Constant(value))

    def changes(source: str) -> list[Change[str]]:
        found: list[Change[str]] = []
        for number, (node, name, _, one) in enumerate(_expressions(_tree(source))):
            if name in ("func", "decorator_list", "bases"):
                continue
            values: list[float] = [0, 1]
            if isinstance(one, ast.Constant):
                number_ = one.value
                if isinstance(number_, bool) or not isinstance(number_, int | float) or number_ in (0, 1):
                    continue
                values = [1, *([number_ // 2] if isinstance(number_, int) and number_ > 3 else [])]
            elif isinstance(one, ast.Name | ast.Attribute) and isinstance(node, ast.Call | ast.Attribute):
                continue
            found += [partial(_edited, source, partial(edit, number=number, value=value)) for value in values]
        return found

    return engine.each(source, fails, changes)


def _fewer(source: str, fails: Test[str]) -> Iterator[str]:
    """Without an argument of a call, an element of a list, a decorator or a default."""

    def of_list(tree: ast.Module, number: int) -> None:
        _put(_expressions(tree)[number], None)

    def of_call(tree: ast.Module, call: int, keyword: int) -> None:
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        del calls[call].keywords[keyword]

    def changes(source: str) -> list[Change[str]]:
        tree = _tree(source)
        found: list[Change[str]] = [
            partial(_edited, source, partial(of_list, number=number))
            for number, (node, _, at, _) in enumerate(_expressions(tree))
            if at is not None and isinstance(node, ast.Call | ast.List | ast.Tuple | ast.FunctionDef)
        ]
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        found += [
            partial(_edited, source, partial(of_call, call=call, keyword=keyword))
            for call, node in enumerate(calls)
            for keyword in range(len(node.keywords))
        ]
        return found

    return engine.each(source, fails, changes)


def _and_unused(way: engine.Shrink[str]) -> engine.Shrink[str]:
    """A way, and what nothing uses after it."""

    def both(source: str, fails: Test[str]) -> Iterator[str]:
        for found in way(source, fails):
            yield (source := found)
        yield from _unused(source, fails)

    return both


WAYS: dict[str, engine.Shrink[str]] = {
    "what nothing uses": _unused,
    "statements": _and_unused(_taken),
    "bodies in place of their statements": _and_unused(_unwrapped),
    "parts of expressions": _and_unused(_simpler),
    "arguments": _fewer,
    "parameters": _and_unused(_parameters),
    "constants": _constants,
}
