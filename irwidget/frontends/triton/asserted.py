"""What a cell does with a comparison: ends by it, as `assert` does, goes on by it, or only shows it."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from irwidget.frontends.triton.computed import Known, Unknown, computed, is_arithmetic

_Span = tuple[int | None, int | None, int | None, int | None]
"""First and last line, first and last column."""


class Use(NamedTuple):
    """What a truth is for."""

    wanted: bool | None = None
    """What it is to be; None where the cell does not say so, and shows or keeps it."""
    ends: bool = False
    """Whether the cell ends where it is not."""
    partly: bool = False
    """Whether something else decides where it is not, as the second part of an `or`."""

    def negated(self) -> Use:
        return self if self.wanted is None else self._replace(wanted=not self.wanted)


class Asked(NamedTuple):
    """A comparison of a number with another, as if it came first."""

    number: Any
    by: str
    bound: Any
    use: Use | None
    file: str
    line: int


def by_an_assert(frame: FrameType) -> bool:
    """Whether the running instruction of a frame computes what an `assert` asks for: its test, or one part of an `and`.

    False where the test says `not`, `or` or more of the value, and where there is no source.
    """
    return _span_of(frame) in _read(frame).asserted


def use(frame: FrameType) -> Use | None:
    """What the truth is for that the running instruction of a frame computes.

    None where the cell goes on in one way or another by it, as `while` does.
    """
    source = _read(frame)
    if not (node := _node(frame, source)):
        return Use()
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    if name in ("max", "min", "sorted") or (".assert" in name and _demanded(node) is None):  # as assertAlmostEqual
        return None
    return _use(node, source, frame)


def _node(frame: FrameType, source: _Source) -> ast.expr | None:
    """The expression that the running instruction of a frame computes."""
    first, last, start, end = _span_of(frame)
    if first is None or last is None or start is None or end is None:
        return None
    parents = source.parents
    ending = [node for node in parents if (node.end_lineno, node.end_col_offset) == (last, end)]
    begun = [node for node in ending if (node.lineno, node.col_offset) <= (first, start)]
    # A method's call begins at its name where that is in a line of its own.
    return max(begun, key=lambda one: (one.lineno, one.col_offset, -_depth(one, parents)), default=None)


def _of_caller(frame: FrameType) -> Use | None:
    """What the truth is for that a function returns to the frame that called it."""
    caller = frame.f_back
    if caller is None:
        return Use()
    node, found = _node(caller, _read(caller)), use(caller)
    # Python makes `!=` of a method for `==`.
    unequal = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotEq)
    return found.negated() if found and unequal and frame.f_code.co_name == "__eq__" else found


_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_METHODS = {"assertLess": "<", "assertLessEqual": "<=", "assertGreater": ">", "assertGreaterEqual": ">="}
"""Methods of unittest's that compare numbers."""


def bound(frame: FrameType, number: Any) -> Asked | None:
    """What is compared of the number that the running instruction makes by `float(...)` or `int(...)`, and with what.

    None where neither it nor what is computed of it (see `computed`) is compared with another number at once, as soon
    as it has got a name of its own, or where a function has returned it.
    """
    source = _read(frame)
    call = source.numbers.get(_span_of(frame))
    with contextlib.suppress(Unknown):
        return _asked(call, number, source, frame) if call else None
    return None


def _asked(node: ast.expr, number: Any, source: _Source, frame: FrameType) -> Asked | None:
    """What is compared of the number that an expression of a frame gives. Raises Unknown."""
    part, known = _arithmetic(node, source), Known(frame, {node: number}, {})
    match source.parents[part]:
        case ast.Assign(targets=[ast.Name() as name], value=value) as statement if value is part:
            if not (later := _compared_next(name.id, statement, source)):
                return None
            between = source.rest[statement][: source.rest[statement].index(later.statement)]
            known = _after(between, Known(frame, {}, {name.id: computed(part, known)}))
            part = _arithmetic(later.name, source)
        case ast.Return() | ast.Lambda() if (caller := frame.f_back) is not None:
            called = _node(caller, outer := _read(caller))
            return _asked(called, computed(part, known), outer, caller) if isinstance(called, ast.Call) else None
        case _:
            pass
    match source.parents[part]:
        case ast.Compare(left=left, ops=[sign], comparators=[right]) as above:
            by = _SIGNS.get(type(sign), "")
        case ast.Call(func=ast.Attribute(attr=method), args=[left, right, *_]) as above:
            by = "==" if method == "assertEqual" else _METHODS.get(method, "")
        case _:
            return None
    if not by:
        return None
    one, other = (computed(side, known) for side in ((left, right) if part is left else (right, left)))
    by = by if part is left else by.translate(_TURNED)
    return Asked(one, by, other, _use(above, source, frame), frame.f_code.co_filename, above.lineno)


def _arithmetic(node: ast.expr, source: _Source) -> ast.expr:
    """The largest expression that computes a number from what an expression gives."""
    while isinstance(above := source.parents[node], ast.expr) and is_arithmetic(above, node):
        node = above
    return node


def _after(statements: Sequence[ast.stmt], known: Known) -> Known:
    """What is known after some statements, of what they give names."""
    for statement in statements:
        stored = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        given: dict[str, Any] = dict.fromkeys((one.id for one in stored), Unknown)
        still = known.still and ast.unparse(statement).startswith("print(")
        match statement:
            case ast.Assign(targets=[ast.Name() as name], value=value):
                with contextlib.suppress(Unknown):
                    given, still = {name.id: computed(value, known)}, known.still
            case _:
                pass
        known = Known(known.frame, {}, {**known.names, **given}, still)
    return known


class _Later(NamedTuple):
    """Where a name is compared."""

    name: ast.Name
    statement: ast.stmt


def _compared_next(name: str, statement: ast.stmt, source: _Source) -> _Later | None:
    """Where what a statement gives a name is compared: by the next `assert` or `if`, if nothing between ends."""
    for later in source.rest[statement]:
        asks = isinstance(later, ast.Assert | ast.If) or _demanded(getattr(later, "value", None)) is not None
        read = [one for one in ast.walk(getattr(later, "test", later)) if isinstance(one, ast.Name) and one.id == name]
        if asks:
            above = ((one, source.parents[_arithmetic(one, source)]) for one in read)
            return next((_Later(one, later) for one, at in above if isinstance(at, ast.Compare | ast.Call)), None)
        if not isinstance(later, ast.Expr | ast.Assign) or any(isinstance(one.ctx, ast.Store) for one in read):
            return None
    return None


_TURNED = str.maketrans("<>", "><")


def _span_of(frame: FrameType) -> _Span:
    return _span_at(frame.f_code, frame.f_lasti // 2)


@functools.lru_cache(maxsize=256)
def _span_at(code: CodeType, at: int) -> _Span:
    return next(itertools.islice(code.co_positions(), at, None), (None, None, None, None))


_Parents = dict[ast.expr, ast.AST]


class _Source(NamedTuple):
    asserted: frozenset[_Span]
    """Where a text has what its `assert`s ask for. The jump of an `assert` has the place of the statement."""
    parents: _Parents
    """What each of its expressions is directly in."""
    numbers: dict[_Span, ast.Call]
    """Its calls of `float` and `int`."""
    names: dict[str, list[ast.Name]]
    """Where each name is, in order."""
    rest: dict[ast.stmt, list[ast.stmt]]
    """What comes after each of its statements in the same block."""


def _read(frame: FrameType) -> _Source:
    return _parsed("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))


@functools.lru_cache(maxsize=16)
def _parsed(source: str) -> _Source:
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError, RecursionError):
        return _Source(frozenset(), {}, {}, {}, {})
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)}
    names: dict[str, list[ast.Name]] = {}
    for name in sorted((one for one in nodes if isinstance(one, ast.Name)), key=_place):
        names.setdefault(name.id, []).append(name)
    found: set[_Span] = set()
    for statement in nodes:
        if not isinstance(statement, ast.Assert):
            continue
        parts = _parts(statement.test)
        found |= {_span(part) for part in parts if isinstance(part, ast.Call | ast.Compare)}
        if not any(isinstance(part, ast.UnaryOp | ast.BoolOp | ast.IfExp | ast.NamedExpr) for part in parts):
            found.add(_span(statement))
    blocks = [block for node in nodes for _, block in ast.iter_fields(node) if isinstance(block, list)]
    rest = {one: block[at:] for block in blocks for at, one in enumerate(block, 1) if isinstance(one, ast.stmt)}
    calls = [one for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    numbers = {_span(one): one for one in calls if ast.unparse(one.func) in ("float", "int")}
    return _Source(frozenset(found), parents, numbers, names, rest)


def _parts(test: ast.expr) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _parts(value)]
    return [test]


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _span(node: ast.expr | ast.stmt) -> _Span:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _depth(node: ast.AST, parents: _Parents) -> int:
    depth = 0
    while isinstance(node, ast.expr):
        node, depth = parents[node], depth + 1
    return depth


_THE_SAME_TRUTH = frozenset(["all", "any", "bool", "item", "cpu"])
"""Functions and methods whose result is what they are given, of one truth."""


_DEMANDING = {"assertTrue": True, "assertFalse": False} | dict.fromkeys(
    [*_METHODS, "assertEqual", "assertListEqual", "assert_", "_assert"], True
)
"""Functions and methods that raise where what they compare, or are given, is not this."""


def _demanded(node: ast.AST | None) -> bool | None:
    """The truth that an expression demands, as `self.assertTrue(...)` does; None where it demands none."""
    function = node.func if isinstance(node, ast.Call) else None
    return _DEMANDING.get(function.attr) if isinstance(function, ast.Attribute) else None


def _use(node: ast.expr, source: _Source, frame: FrameType) -> Use | None:
    if _demanded(node) is not None:
        return Use(True, ends=True)
    path = [node]
    while isinstance(above := source.parents[path[-1]], ast.expr) and not isinstance(above, ast.Lambda):
        path.append(above)
    use = _of_statement(above, path[-1], source, frame)
    for outer, inner in itertools.pairwise(reversed(path)):
        if (truth := _demanded(outer)) is not None and isinstance(outer, ast.Call) and inner in outer.args[:1]:
            use = Use(truth, ends=True)
        elif isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not | ast.Invert):
            use = use and use.negated()
        elif isinstance(outer, ast.BoolOp):
            each = isinstance(outer.op, ast.And)
            if use and use.wanted is not each and use.wanted is not None and inner is not outer.values[-1]:
                use = Use(use.wanted, use.ends, partly=True)
        elif isinstance(outer, ast.GeneratorExp | ast.ListComp) and (each := _each(source.parents[outer])) is not None:
            if use and use.wanted is not each and use.wanted is not None:
                use = Use(use.wanted, use.ends, partly=True) if use.wanted else None  # of `not all`, nobody knows which
        elif not (isinstance(outer, ast.Attribute | ast.NamedExpr) or _passes_on(outer, inner)):
            return Use()
    return use


def _each(node: ast.AST) -> bool | None:
    """Whether a call asks that each of some truths is one, as `all` does, or that one of them is, as `any` does."""
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return {"all": True, "any": False}.get(name)


def _passes_on(outer: ast.expr, inner: ast.expr) -> bool:
    """Whether a call gives the truth that it is given."""
    if not isinstance(outer, ast.Call):
        return False
    function = outer.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _THE_SAME_TRUTH and (inner is function or outer.args == [inner])


def _of_statement(statement: ast.AST, expression: ast.expr, source: _Source, frame: FrameType) -> Use | None:
    """What a statement, or a lambda, does with an expression of its own."""
    match statement:
        case ast.Assert(test=test) if test is expression:
            return Use(True, ends=True)
        case ast.If(body=body, orelse=other) as statement:
            if not other and isinstance(body[-1], ast.Return | ast.Continue):
                other = _straight(source.rest[statement])
            if (ends := _ends(body)) or _ends(other):
                return Use(not ends, ends=True)
            if (truth := _returned(body)) is not None and _returned(other) is (not truth):
                outer = _of_caller(frame)
                return outer if truth or outer is None else outer.negated()
            if not statement.orelse and _leaves(body) and _asks(source.rest[statement]):
                return Use(True, ends=True, partly=True)
            if not all(isinstance(one, ast.Expr) for one in (*body, *other)):
                return None
            return Use() if other else Use(False)
        case ast.While() | ast.comprehension():
            return None
        case ast.Assign(targets=[ast.Name() as name]) | ast.AnnAssign(target=ast.Name() as name) if (
            name is not expression
        ):
            return _of_name(name, source, frame)
        case ast.Return() | ast.Lambda():
            return _of_caller(frame)
        case _:
            return Use()


def _of_name(name: ast.Name, source: _Source, frame: FrameType) -> Use | None:
    """What the text goes on to do with a truth that has got a name: what first says how it should be."""
    later = [one for one in source.names[name.id] if _place(one) > _place(name)]
    read = itertools.takewhile(lambda one: isinstance(one.ctx, ast.Load), later)
    uses = [_use(one, source, frame) for one in read]
    return next((one for one in uses if one is None or one.wanted is not None), Use())


def _straight(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Statements up to the first that may go on elsewhere."""
    ways = ast.If | ast.For | ast.While | ast.With | ast.Try | ast.Match
    return [*itertools.takewhile(lambda one: not isinstance(one, ways), statements)]


def _returned(body: list[ast.stmt]) -> bool | None:
    """The truth that statements return, where they say it, and keep nothing."""
    targets = [target for one in body if isinstance(one, ast.Assign) for target in one.targets]
    match body[-1:]:
        case [ast.Return(value=ast.Constant(value=bool() as truth))] if all(
            isinstance(one, ast.Name) for one in targets
        ):
            return truth
        case _:
            return None


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether statements leave their function, with no value, and do nothing else than say something."""
    returns = isinstance(body[-1], ast.Return) and body[-1].value is None
    return returns and all(isinstance(one, ast.Expr) for one in body[:-1])


def _asks(statements: list[ast.stmt]) -> bool:
    """Whether statements may end the cell by what they find."""
    return any(isinstance(node, ast.Assert | ast.Raise) for one in statements for node in ast.walk(one))


def _ends(body: list[ast.stmt]) -> bool:
    """Whether statements end the cell."""
    return any(isinstance(one, ast.Raise) or ast.unparse(one).startswith(_EXITS) for one in body)


_EXITS = ("assert False", "assert 0", "sys.exit(", "exit(", "quit(", "os._exit(", "pytest.fail(")
