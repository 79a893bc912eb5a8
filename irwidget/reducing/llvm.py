"""LLVM IR: take functions, globals, metadata, blocks, instructions, arguments and operands out of a module."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from irwidget.reducing import engine
from irwidget.reducing.engine import Change, Test
from irwidget.reducing.llvm_text import (
    Block,
    Function,
    Item,
    Module,
    mapped,
    merged,
    read,
    renamed,
    result,
    result_type,
    targets,
    text,
    with_blocks,
)

_METADATA = re.compile(r", ![\w.]+ (?:![\w.]+|!\{[^}]*\}|!\w+\([^)]*\))")
_FLAGS = re.compile(
    r"\b(?:nsw|nuw|exact|inbounds|nusw|disjoint|nneg|samesign|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|volatile"
    r"|tail|noundef|nocapture|captures\(none\)|readonly|readnone|writeonly|nonnull|noalias|zeroext|signext|returned"
    r"|dso_local|local_unnamed_addr|unnamed_addr|internal|private|linkonce_odr|weak_odr|noundef|immarg"
    r"|dereferenceable\(\d+\)|range\([^)]*\)) "
)
_ALIGN = re.compile(r",? align \d+")
_GROUP = re.compile(r" #\d+\b")
_NAME = re.compile(r'%(?:[\w$.-]+|"[^"]*")')
_ZERO = "zeroinitializer"


def normal(source: str) -> str:
    """A module in the form in which it is taken apart: every value and block has a name, every instruction a line."""
    return text(read(source))


def count(source: str) -> int:
    """How many instructions a module has."""
    return sum(len(block.lines) for function in _functions(read(source)) for block in function.blocks)


def smaller(source: str, fails: Test[str]) -> Iterator[str]:
    """Smaller and smaller texts that still fail; the last one has nothing more that can be taken out."""
    return engine.smallest(source, fails, WAYS)


def _functions(module: Module) -> list[Function]:
    return [item for item in module if isinstance(item, Function)]


def _put(module: Module, at: int, item: Item | None) -> str:
    """With another item, or without it; names that are no more are `poison`."""
    made = (*module[:at], *([] if item is None else [item]), *module[at + 1 :])
    return text(made)


def _without_items(source: str, start: int, stop: int, *, of: type) -> str:
    """Without some of its functions, or of what else stands at its top level."""
    module = read(source)
    places = [at for at, item in enumerate(module) if isinstance(item, of)][start:stop]
    gone = [one for at in places for one in _defines(module[at])]
    made = text(tuple(item for at, item in enumerate(module) if at not in places))
    for name in gone:
        other = {"@": "poison", "#": "", "!": "", "$": "", "%": ""}[name[0]]
        made = re.sub(rf"(?:, )?{re.escape(name)}(?![\w$.-])" if name[0] in "!$" else _whole(name), other, made)
    return made


def _whole(name: str) -> str:
    return rf"{re.escape(name)}(?![\w$.-])"


def _defines(item: Item) -> list[str]:
    if isinstance(item, Function):
        return [item.name]
    if found := re.match(r'declare .*?(@(?:[\w$.-]+|"[^"]*"))\(', item):
        return [found[1]]
    if found := re.match(r'([@$](?:[\w$.-]+|"[^"]*")) = ', item):
        return [found[1]]
    if found := re.match(r"attributes (#\d+) = ", item):
        return [found[1]]
    return []


def _bodies(source: str, fails: Test[str]) -> Iterator[str]:
    """With declarations in place of functions."""

    def declared(module: Module, at: int) -> str:
        function = module[at]
        assert isinstance(function, Function)
        kinds = [_NAME.sub("", one).strip() if " " in one else one for one in function.arguments]
        before = re.sub(r"\b(?:internal|private|linkonce_odr|weak_odr|dso_local) ", "", function.before)
        head = before.replace("define", "declare", 1)
        return _put(module, at, f"{head}{function.name}({', '.join(kinds)})")

    def changes(source: str) -> list[Change[str]]:
        module = read(source)
        places = [at for at, item in enumerate(module) if isinstance(item, Function)]
        return [partial(declared, module, at) for at in places] if len(places) > 1 else []

    return engine.each(source, fails, changes)


def _whole_functions(source: str, fails: Test[str]) -> Iterator[str]:
    return engine.chunks(source, fails, lambda one: len(_functions(read(one))), partial(_without_items, of=Function))


def _globals(source: str, fails: Test[str]) -> Iterator[str]:
    """Without globals, declarations, attributes, types and metadata."""
    return engine.chunks(
        source, fails, lambda one: sum(isinstance(item, str) for item in read(one)), partial(_without_items, of=str)
    )


def _decorations(source: str, fails: Test[str]) -> Iterator[str]:
    """Without metadata, flags, alignments and groups of attributes: all of a kind at once, then a line at a time."""

    def stripped(source: str, pattern: re.Pattern[str], other: str) -> str:
        lines = source.split("\n")
        if pattern is _METADATA:
            lines = [one for one in lines if not one.lstrip().startswith(("!", "#dbg_")) and "@llvm.dbg." not in one]
        return "\n".join(pattern.sub(other, one) if one.startswith(("  ", "define")) else one for one in lines)

    def of_line(lines: list[str], at: int, pattern: re.Pattern[str], other: str) -> str:
        return "\n".join([*lines[:at], pattern.sub(other, lines[at]), *lines[at + 1 :]])

    def changes(source: str) -> list[Change[str]]:
        kinds = ((_METADATA, ""), (_GROUP, ""), (_FLAGS, ""), (_ALIGN, ""))
        found: list[Change[str]] = [partial(stripped, source, pattern, other) for pattern, other in kinds]
        lines = source.split("\n")
        decorated = [at for at, line in enumerate(lines) if line.startswith(("  ", "define"))]
        found += [partial(of_line, lines, at, pattern, other) for at in decorated for pattern, other in kinds]
        return found

    return engine.each(source, fails, changes)


def _places(module: Module) -> list[tuple[int, int, int]]:
    """Of the instructions that end no block, function, block and line; the last come first."""
    return [
        (at, number, line)
        for at, item in reversed(list(enumerate(module)))
        if isinstance(item, Function)
        for number, block in reversed(list(enumerate(item.blocks)))
        for line in reversed(range(len(block.lines) - 1))
    ]


def _without_instructions(source: str, start: int, stop: int, *, value: str) -> str:
    """Without some instructions, the last first; what used a result gets `value`, or an argument."""
    module = read(source)
    gone: dict[int, set[tuple[int, int]]] = {}
    for at, number, line in _places(module)[start:stop]:
        gone.setdefault(at, set()).add((number, line))
    items = [_less(item, gone[at], value) if isinstance(item, Function) and at in gone else item
             for at, item in enumerate(module)]  # fmt: skip
    return text(tuple(items))


def _less(function: Function, gone: Collection[tuple[int, int]], value: str) -> Function:
    names: dict[str, str] = {}
    arguments: dict[str, str] = {}
    first = 1 + max((int(one) for one in re.findall(r"%in(\d+)", " ".join(function.arguments))), default=-1)
    kept: list[Block] = []
    for number, block in enumerate(function.blocks):
        kept.append(replace(block, lines=tuple(one for at, one in enumerate(block.lines) if (number, at) not in gone)))
        for at, line in enumerate(block.lines):
            if (number, at) in gone and (name := result(line)):
                kind = "" if value else result_type(line)
                arguments[name] = kind if kind not in ("void", "token", "metadata") else ""
                names[name] = value or (f"%in{first + len(names)}" if arguments[name] else "poison")
    made = renamed(replace(function, blocks=tuple(kept)), names)
    used = {name for block in made.blocks for line in block.lines for name in _NAME.findall(line)}
    more = [f"{kind} {names[name]}" for name, kind in arguments.items() if kind and names[name] in used]
    return replace(made, arguments=(*made.arguments, *more))


def _instructions(source: str, fails: Test[str]) -> Iterator[str]:
    """Without more and more instructions: arguments in place of their results, or zeros where these are too many."""
    ways = (partial(_without_instructions, value=value) for value in ("", _ZERO))
    return engine.chunks(source, fails, lambda one: len(_places(read(one))), *ways)


def _branches(source: str, fails: Test[str]) -> Iterator[str]:
    """With one way on from each block, or none: what follows goes."""

    def ended(module: Module, at: int, number: int, line: str) -> str:
        function = module[at]
        assert isinstance(function, Function)
        block = function.blocks[number]
        changed = replace(block, lines=(*block.lines[:-1], line))
        made = with_blocks(function, [*function.blocks[:number], changed, *function.blocks[number + 1 :]])
        return _put(module, at, merged(made))

    def changes(source: str) -> list[Change[str]]:
        module = read(source)
        found: list[Change[str]] = []
        for at, item in enumerate(module):
            if not isinstance(item, Function):
                continue
            kind = item.result
            stop = "ret void" if kind == "void" else f"ret {kind} {_ZERO}" if kind else "unreachable"
            for number, block in enumerate(item.blocks):
                last = block.lines[-1] if block.lines else ""
                ways = dict.fromkeys(re.findall(r'label (%(?:[\w$.-]+|"[^"]*"))', last))
                if ways:
                    found.append(partial(ended, module, at, number, stop))
                if len(ways) > 1 or (ways and not last.startswith("br label")):
                    found += [partial(ended, module, at, number, f"br label {way}") for way in ways]
        return found

    return engine.each(source, fails, changes)


def _merges(source: str, fails: Test[str]) -> Iterator[str]:
    """With blocks that follow each other as one."""
    made = text(mapped(read(source), lambda function: merged(with_blocks(function, function.blocks))))
    if made != source and fails(made):
        yield made


def _arguments(source: str, fails: Test[str]) -> Iterator[str]:
    """Without arguments of functions: more and more, constants in their place."""

    def places(module: Module) -> list[tuple[int, int]]:
        functions = ((at, item) for at, item in enumerate(module) if isinstance(item, Function))
        return [(at, number) for at, item in functions for number in reversed(range(len(item.arguments)))]

    def without(source: str, start: int, stop: int, *, value: str) -> str:
        module = read(source)
        gone = places(module)[start:stop]
        return text(tuple(_called_without(item, {number for of, number in gone if of == at}, value)
                          if isinstance(item, Function) else item for at, item in enumerate(module)))  # fmt: skip

    ways = (partial(without, value=value) for value in ("poison", _ZERO))
    return engine.chunks(source, fails, lambda one: len(places(read(one))), *ways)


def _called_without(function: Function, gone: Collection[int], value: str) -> Function:
    names = {function.arguments[number].split()[-1]: value for number in gone}
    kept = tuple(one for number, one in enumerate(function.arguments) if number not in gone)
    return replace(renamed(function, names), arguments=kept)


def _returns(source: str, fails: Test[str]) -> Iterator[str]:
    """With nothing returned, or with the result of an instruction in place of all that comes after it."""

    def changes(source: str) -> list[Change[str]]:
        module = read(source)
        found: list[Change[str]] = []
        for at, item in enumerate(module):
            if not isinstance(item, Function) or not item.result:
                continue
            if item.result != "void":
                found.append(partial(_returning_nothing, module, at))
            found += [
                partial(_returning, module, at, number, line)
                for number, block in enumerate(item.blocks)
                for line, one in enumerate(block.lines[:-1])
                if result(one) and (line < len(block.lines) - 2 or targets(block))
            ]
        return found

    return engine.each(source, fails, changes)


def _typed(function: Function, kind: str) -> str:
    """What is before its name, where it returns another type."""
    before = function.before.rstrip().removesuffix(function.result)
    return re.sub(r"\b(?:zeroext|signext|noundef|nonnull|noalias|inreg) ", "", before) + f"{kind} "


def _returning_nothing(module: Module, at: int) -> str:
    function = module[at]
    assert isinstance(function, Function)
    blocks = tuple(_ending(one, "ret void") for one in function.blocks)
    return _put(module, at, replace(function, before=_typed(function, "void"), blocks=blocks))


def _ending(block: Block, line: str) -> Block:
    """With another line where it returns."""
    return replace(block, lines=(*block.lines[:-1], line)) if block.lines[-1].startswith("ret ") else block


def _returning(module: Module, at: int, number: int, line: int) -> str | None:
    function = module[at]
    assert isinstance(function, Function)
    block = function.blocks[number]
    name, kind = result(block.lines[line]), result_type(block.lines[line])
    if kind in ("", "token", "metadata"):
        return None
    ended = replace(block, lines=(*block.lines[: line + 1], f"ret {kind} {name}"))
    others = [_ending(one, f"ret {kind} {_ZERO}") for one in function.blocks]
    made = with_blocks(function, [*others[:number], ended, *others[number + 1 :]])
    return _put(module, at, replace(merged(made), before=_typed(function, kind)))


def _operands(source: str, fails: Test[str]) -> Iterator[str]:
    """With constants in place of operands."""

    def put(lines: list[str], at: int, start: int, stop: int, value: str) -> str:
        return "\n".join([*lines[:at], lines[at][:start] + value + lines[at][stop:], *lines[at + 1 :]])

    def changes(source: str) -> list[Change[str]]:
        lines = source.split("\n")
        found: list[Change[str]] = []
        for at, line in enumerate(lines):
            if not line.startswith("  "):
                continue
            begin = line.find(" = ") + 3 if re.match(r"\s+%\S+ = ", line) else 0
            for name in _NAME.finditer(line, begin):
                if not line[: name.start()].endswith("label ") and not re.match(r" ?\]", line[name.end() :]):
                    found += [partial(put, lines, at, *name.span(), value) for value in ("poison", _ZERO)]
        return found

    return engine.each(source, fails, changes)


def _forwards(source: str, fails: Test[str]) -> Iterator[str]:
    """With an operand of an instruction in place of its result."""

    def forwarded(module: Module, place: tuple[int, int, int], name: str, other: str) -> str:
        at, number, line = place
        function = module[at]
        assert isinstance(function, Function)
        made = renamed(_less(function, {(number, line)}, name), {name: other})
        return _put(module, at, made)

    def changes(source: str) -> list[Change[str]]:
        module = read(source)
        found: list[Change[str]] = []
        for place in _places(module):
            function = module[place[0]]
            assert isinstance(function, Function)
            line = function.blocks[place[1]].lines[place[2]]
            if name := result(line):
                others = dict.fromkeys(_NAME.findall(line[len(name) :]))
                found += [partial(forwarded, module, place, name, other) for other in others if other != name]
        return found

    return engine.each(source, fails, changes)


WAYS: dict[str, engine.Shrink[str]] = {
    "functions": _whole_functions,
    "bodies of functions": _bodies,
    "branches": _branches,
    "instructions": _instructions,
    "globals, declarations and metadata": _globals,
    "flags and attributes": _decorations,
    "blocks as one": _merges,
    "operands in place of results": _forwards,
    "arguments": _arguments,
    "what is returned": _returns,
    "operands": _operands,
}
