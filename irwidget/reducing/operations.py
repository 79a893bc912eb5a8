"""A module in generic form as a tree of operations, and the same with some of them taken out.

What used a result of an operation that is taken out gets an argument of the function in its place, so that what is left
stays well-formed whatever is taken.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from irwidget.errors import UsageError
from irwidget.trace import syntax

_HEAD = re.compile(r'(\s*)(?:(%[^=]*?) = )?"([\w.$-]+)"\(')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_NAMED = re.compile(r"(%[\w$.-]+)(?::(\d+))?")
_TYPE = "function_type = "
_FUNCTIONS = {"func.func": "func.return", "llvm.func": "llvm.return", "gpu.func": "gpu.return"}
_MODULES = ("builtin.module", "gpu.module")
_TERMINATORS = ("scf.forall.in_parallel", "scf.reduce")
"""Operations that end a block, and may have regions."""
_LLVM = "!llvm.func<"
_OPENING, _CLOSING = frozenset("([{<"), frozenset(")]}>")
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"?|->|[(\[{<>}\]),:]', re.S)


@dataclass(slots=True)
class OperationText:
    """An operation of a module in generic form; its lines are [start, stop), with those of its regions."""

    name: str
    start: int
    stop: int
    parent: OperationText | None
    opening: str = ""
    """Its first line."""
    closing: str = ""
    """Its last line."""
    results: tuple[str, ...] = ()
    """As they are referred to: `%3`, or `%3#0` and `%3#1`."""
    children: list[OperationText] = field(default_factory=list["OperationText"])
    last: bool = False
    """Whether it ends its block, as what has no results and no regions may."""

    @property
    def is_function(self) -> bool:
        """Whether it is one that can have other arguments."""
        return self.name in _FUNCTIONS

    @property
    def is_module(self) -> bool:
        """Whether its region ends without a terminator."""
        return self.name in _MODULES

    @property
    def is_shown(self) -> bool:
        """Whether its text has it: the operations in a named one of linalg are what that is."""
        return self.parent is not None and syntax.prints_body(self.parent.name)

    @property
    def types(self) -> list[str]:
        """Of its results."""
        return result_types(self.closing)

    @property
    def operands(self) -> list[tuple[str, str]]:
        """Names and types."""
        return _operands(self.opening, self.closing)

    def alike(self, kind: str) -> list[str]:
        """The operands of a type, each once."""
        return [*dict.fromkeys(name for name, of in self.operands if of == kind)]


class ModuleText:
    """The text of a module in generic form, taken apart. Raises UsageError for a text in another form."""

    @classmethod
    @lru_cache(maxsize=4)
    def of(cls, text: str) -> ModuleText:
        """As it was taken apart before, where it was: all that is tried of a program begins with it."""
        return cls(text)

    def __init__(self, text: str) -> None:
        self.lines = text.rstrip("\n").split("\n")
        self.operations: list[OperationText] = []
        self._read()
        if not self.operations:
            raise UsageError("This is no module in MLIR's generic form")

    def _read(self) -> None:
        open_: list[OperationText] = []
        before: OperationText | None = None
        for number, line in enumerate(self.lines):
            head = _HEAD.match(line)
            if head:
                parent = open_[-1] if open_ else None
                before = OperationText(head[3], number, number + 1, parent, line, line, _results(head[2]))
                if parent:
                    parent.children.append(before)
                self.operations.append(before)
                if line.rstrip().endswith("({"):
                    open_.append(before)
            elif open_ and line.strip().startswith("})"):
                self._end_block(open_[-1])
                closed = open_.pop()
                closed.stop, closed.closing = number + 1, line
            elif open_ and line.strip().startswith(("^", "},")):
                self._end_block(open_[-1])

    @staticmethod
    def _end_block(parent: OperationText) -> None:
        if parent.children:
            end = parent.children[-1]
            plain = not (end.results or end.stop - end.start > 1)
            end.last = end.name in _TERMINATORS or (plain and not parent.is_module)

    # What can be taken out

    def removable(self) -> list[OperationText]:
        """The operations that can be taken out, the outermost of nested ones first."""
        return [one for one in self.operations if one.is_shown and not one.last]

    @property
    def functions(self) -> list[OperationText]:
        return [one for one in self.operations if one.is_function]

    def count(self) -> int:
        """How many operations its text shows, the module itself not counted."""
        return sum(one.is_shown for one in self.operations)

    def unwrappable(self) -> list[OperationText]:
        """The operations whose regions can be tried in their place."""
        return [one for one in self.removable() if one.children]

    def _own(self, one: OperationText) -> list[int]:
        """Its lines that are of no operation in its regions."""
        inner = {number for child in one.children for number in range(child.start, child.stop)}
        return [number for number in range(one.start, one.stop) if number not in inner]

    def _labels(self, one: OperationText) -> list[int]:
        return [number for number in self._own(one) if self.lines[number].strip().startswith("^")]

    # The text without some of it

    def without(
        self,
        taken: Collection[int],
        *,
        returns: Mapping[int, Collection[int]] | None = None,
        unwrapped: Collection[int] = (),
        forward: int | None = None,
        yielded: bool = False,
        arguments: bool = False,
    ) -> str:
        """The text without the operations that begin on these lines.

        `returns` says for the line of a function which of its results it still has. Of the operations in `unwrapped`
        only the regions stay, without what ends them. With `forward` a result becomes the operand of that number among
        those of its type where there is one, and an argument of the function elsewhere; with `yielded`, of those in
        `unwrapped`, what their first region ends with. Arguments that nothing uses go, but with `arguments` those stay
        that were there.
        """
        gone = [one for one in self.operations if one.start in taken or one.start in unwrapped]
        hidden = {
            n for one in gone for n in (self._wrapper(one) if one.start in unwrapped else range(one.start, one.stop))
        }
        lines = {number: line for number, line in enumerate(self.lines) if number not in hidden}
        named: dict[str, str] = {}
        for one in gone:
            named |= dict(zip(one.results, one.types, strict=False))
            if one.start in unwrapped:
                named |= dict(argument for number in self._labels(one) for argument in _arguments(self.lines[number]))
        passed = {} if forward is None else _forwarded(gone, forward)
        if yielded:
            passed |= {name: value for one in gone for name, value in _yielded(one).items()}
        for number in self._outside() & lines.keys() if passed else ():
            lines[number] = _VALUE.sub(lambda found: passed.get(found[0], found[0]), lines[number])
        for function in self.functions:
            if function.start not in hidden and function.children:
                self._mend(function, named, passed, lines, (returns or {}).get(function.start), whole=arguments)
        return "\n".join(lines.values()) + "\n"

    def ending(self, function: OperationText, last: OperationText) -> str:
        """The text with a function of one block that returns what an operation gives, without what comes after it."""
        lines, first = list(self.lines), function.start + 1
        arguments = _arguments(lines[first]) if lines[first].strip().startswith("^") else []
        lines[function.start] = _with_type(lines[function.start], [kind for _, kind in arguments], last.types)
        for number in _returning(function):
            given = f"({', '.join(last.results)}) : ({', '.join(last.types)}) -> ()"
            lines[number] = f'    "{_FUNCTIONS[function.name]}"{given}'
        later = {one.start for one in function.children if one.start > last.start and not one.last}
        return ModuleText("\n".join(lines)).without(later)

    def alone(self, function: OperationText, one: OperationText) -> str:
        """The text with a function of one block that has nothing but an operation, and returns what that gives."""
        around = [parent for parent in _around(one) if parent.start > function.start]
        kept = {function.start, one.start, *(parent.start for parent in around)}
        others = {
            child.start for parent in (function, *around) for child in parent.children
            if not (child.start in kept or child.last)
        }  # fmt: skip
        text = self.without(others, returns={function.start: ()}, unwrapped={parent.start for parent in around})
        if not one.results:
            return text
        module = ModuleText(text)
        again = next(other for other in module.operations if other.results == one.results)
        return module.ending(next(parent for parent in _around(again) if parent.is_function), again)

    def blocks(self, one: OperationText) -> int:
        """How many blocks its regions have that begin with a label, at least one."""
        return max(1, len(self._labels(one)))

    def _outside(self) -> set[int]:
        """The lines that are in no function."""
        inside = {number for one in self.functions for number in range(one.start, one.stop)}
        return {*range(len(self.lines))} - inside

    def _wrapper(self, one: OperationText) -> list[int]:
        ends = [number for child in one.children if child.last for number in range(child.start, child.stop)]
        return [*self._own(one), *ends]

    def _mend(
        self,
        function: OperationText,
        gone: Mapping[str, str],
        passed: Mapping[str, str],
        lines: dict[int, str],
        kept: Collection[int] | None,
        *,
        whole: bool,
    ) -> None:
        """Make arguments of the names that are used and no longer defined; leave out the results that are not kept."""
        first = function.start + 1
        label = self.lines[first].strip().startswith("^")
        arguments = _arguments(self.lines[first]) if label else []
        inside = [n for n in lines if function.start < n < function.stop and not (label and n == first)]
        for number in _returning(function):
            if kept is not None and number in lines:
                lines[number] = _with_operands(lines[number], kept)
        for number in inside:
            lines[number] = _VALUE.sub(lambda found: passed.get(found[0], found[0]), lines[number])
        used = {name for number in inside for name in _VALUE.findall(lines[number])}
        given = arguments if whole or self._is_called(function) else [one for one in arguments if one[0] in used]
        first_taken = 1 + max((int(one[6:]) for one, _ in given if re.fullmatch(r"%taken\d+", one)), default=-1)
        taken = {name: f"%taken{place}" for place, name in enumerate((n for n in gone if n in used), first_taken)}
        given = [*given, *((new, gone[name]) for name, new in taken.items())]
        for number in inside:
            lines[number] = _VALUE.sub(lambda found: taken.get(found[0], found[0]), lines[number])
        header = f"  ^bb0({', '.join(f'{name}: {kind}' for name, kind in given)}):" if given else "  ^bb0:"
        lines[first] = header if label else "\n".join([header, *([lines[first]] if first in lines else [])])
        results = results_of_function(type_of_function(self.lines[function.start]))
        results = [kind for i, kind in enumerate(results) if kept is None or i in kept]
        lines[function.start] = _with_type(self.lines[function.start], [kind for _, kind in given], results)

    def _is_called(self, function: OperationText) -> bool:
        name = re.search(r'sym_name = "([^"]*)"', self.lines[function.start])
        return name is not None and any(f"@{name[1]}" in line for line in self.lines)


def _forwarded(gone: Sequence[OperationText], number: int) -> dict[str, str]:
    """For results of operations that go, the operand of a number among those of the same type, or the last of these."""
    passed: dict[str, str] = {}
    for one in gone:
        for result, kind in zip(one.results, one.types, strict=False):
            if operands := one.alike(kind):
                passed[result] = operands[min(number, len(operands) - 1)]
    return passed


def _yielded(one: OperationText) -> dict[str, str]:
    """For results of an operation, what the first block of its regions ends with, where that has their types."""
    end = next((child for child in one.children if child.last), None)
    given = end.operands if end else []
    return (
        dict(zip(one.results, [name for name, _ in given], strict=True))
        if [kind for _, kind in given] == one.types
        else {}
    )


def _around(one: OperationText) -> Iterator[OperationText]:
    """What an operation is in, the innermost first."""
    while one.parent is not None:
        one = one.parent
        yield one


def function_of(one: OperationText) -> OperationText | None:
    """The function that an operation is in."""
    return next((parent for parent in _around(one) if parent.is_function), None)


def _returning(function: OperationText) -> list[int]:
    return [one.start for one in function.children if one.name == _FUNCTIONS[function.name]]


def _results(head: str | None) -> tuple[str, ...]:
    if not head:
        return ()
    found: list[str] = []
    for name, count in _NAMED.findall(head):
        found += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return tuple(found)


def result_types(line: str) -> list[str]:
    """The types of the results, which end the last line of an operation: `... : (i32) -> (i32, f32)`."""
    arrow = _top_level(line, "->", last=True)
    if arrow < 0:
        return []
    rest = line[arrow + 2 :].strip().partition(" loc(")[0]
    return split(rest[1:-1]) if rest.startswith("(") and matching(rest, 0) == len(rest) - 1 else [rest]


def _operands(first: str, last: str) -> list[tuple[str, str]]:
    """The operands of an operation by its first and its last line."""
    head = _HEAD.match(first)
    arrow = _top_level(last, "->", last=True)
    if head is None or arrow < 0:
        return []
    start = head.end() - 1
    names = split(first[start + 1 : matching(first, start)])
    kinds_at = last.rfind(" : (", 0, arrow)
    closes = matching(last, kinds_at + 3)
    kinds = split(last[kinds_at + 4 : closes])
    return list(zip(names, kinds, strict=False))


def _marks(text: str, start: int = 0) -> Iterator[tuple[int, str, int]]:
    """The marks outside of strings: where each is, itself, and how deep in brackets; `->` counts as one."""
    depth = 0
    for found in _MARK.finditer(text, start):
        mark = found[0]
        if mark[0] == '"':
            continue
        depth -= mark in _CLOSING
        yield found.start(), mark, depth
        depth += mark in _OPENING


def _top_level(line: str, what: str, *, last: bool = False) -> int:
    """Where a mark is outside of brackets and strings: the last place, or the first; -1 where it is not."""
    found = (at for at, mark, depth in _marks(line) if depth <= 0 and mark == what)
    return max(found, default=-1) if last else next(found, -1)


def matching(line: str, at: int) -> int:
    """Where the bracket that opens at a place is closed; -1 where it is not."""
    return next((place for place, mark, depth in _marks(line, at) if mark in _CLOSING and depth == 0), -1)


def split(text: str) -> list[str]:
    """What commas outside of brackets and strings separate."""
    commas = [at for at, mark, depth in _marks(text) if mark == "," and depth <= 0]
    parts = [text[start + 1 : stop].strip() for start, stop in pairwise([-1, *commas, len(text)])]
    return parts if parts[-1] else parts[:-1]


def _arguments(label: str) -> list[tuple[str, str]]:
    """The arguments of a block: names and types."""
    at = label.find("(")
    if at < 0:
        return []
    pairs = [part.partition(":") for part in split(label[at + 1 : matching(label, at)])]
    return [(name.strip(), kind.strip()) for name, _, kind in pairs]


def _with_operands(line: str, kept: Collection[int]) -> str:
    """A return with some of its operands: `"func.return"(%0, %1) : (i32, f32) -> ()`."""
    start = line.index("(")
    stop = matching(line, start)
    names = [name for i, name in enumerate(split(line[start + 1 : stop])) if i in kept]
    colon = _top_level(line[stop:], ":") + stop
    kinds_at = line.index("(", colon)
    kinds = [kind for i, kind in enumerate(split(line[kinds_at + 1 : matching(line, kinds_at)])) if i in kept]
    return f"{line[:start]}({', '.join(names)}){line[stop + 1 : colon]}: ({', '.join(kinds)}) -> ()"


def type_of_function(line: str) -> str:
    """The type that the first line of a function gives it: `(i32) -> (i32, f32)` or `!llvm.func<void (i32)>`."""
    start = line.index(_TYPE) + len(_TYPE)
    return line[start : start + _type_ends(line[start:])]


def results_of_function(kind: str) -> list[str]:
    """The types of its results."""
    if not kind.startswith(_LLVM):
        return result_types(kind)
    result = kind.removeprefix(_LLVM)[: _top_level(kind.removeprefix(_LLVM), "(")].rstrip()
    return [] if result == "void" else [result]


def _function_type(kind: str, arguments: list[str], results: list[str]) -> str:
    """A type of the same sort."""
    if kind.startswith(_LLVM):
        return f"{_LLVM}{results[0] if results else 'void'} ({', '.join(arguments)})>"
    return f"({', '.join(arguments)}) -> " + (results[0] if len(results) == 1 else f"({', '.join(results)})")


def _with_type(line: str, arguments: list[str], results: list[str]) -> str:
    """The first line of a function with another type, and without attributes of its arguments and results."""
    before = type_of_function(line)
    made = _function_type(before, arguments, results)
    line = line.replace(_TYPE + before, _TYPE + made, 1)
    for name in ("arg_attrs", "res_attrs"):
        if (at := line.find(f"{name} = [")) >= 0:
            end = matching(line, line.index("[", at)) + 1
            line = line[:at] + line[end:].removeprefix(", ")
    return line


def _type_ends(text: str) -> int:
    """Where a function's type ends that begins a text: at the comma or the bracket after it."""
    ends = (at for at, mark, depth in _marks(text) if depth < 0 or (mark == "," and depth == 0))
    return next(ends, len(text))
