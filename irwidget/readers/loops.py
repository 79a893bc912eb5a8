"""Puts what LLVM prints of a loop, its blocks and those around it, back into the function that it is of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_NAME = r'"[^"\n]*"|[\w$.-]+'
_LABEL = re.compile(rf"({_NAME}):(?:\s|$)")
_SUCCESSOR = re.compile(rf"\blabel %({_NAME})")
_PREDECESSOR = re.compile(rf"%({_NAME})")
_NUMBERED = re.compile(r"  %(\d+) = ")
_VALUE = re.compile(r"%(\d+)\b")
_ARGUMENT = re.compile(r"%(\d+)(?=[,)])")
_PREDS = "; preds = "


@dataclass(frozen=True, slots=True)
class _Function:
    """The text of a function in parts."""

    head: tuple[str, ...]
    """The lines up to the one that opens it."""
    blocks: Mapping[str, tuple[str, ...]]
    """By label, in order. The first, which may be printed without one, has the number that it is counted by."""
    tail: tuple[str, ...]
    """What closes it."""


def put_loop(function: str, loop: str) -> str | None:
    """A function's text with the blocks of a loop as they were printed later.

    None where that is not the whole function as it is then: blocks that are new or gone, predecessors or numbers of
    values that do not fit together any more.
    """
    old = _parsed(function)
    if old is None:
        return None
    lines = (line for line in loop.splitlines() if not line.startswith(";"))
    printed = dict(_blocks(lines, next(iter(old.blocks), "")))
    if not printed or not printed.keys() <= old.blocks.keys():
        return None
    new = _Function(old.head, {**old.blocks, **printed}, old.tail)
    if not (_flows(new) and _counts(new) and _names(old, printed)):
        return None
    between = [line for block in new.blocks.values() for line in ("", *block)][1:]
    return "\n".join((*new.head, *between, *new.tail)) + "\n"


def _parsed(text: str) -> _Function | None:
    lines = text.rstrip("\n").split("\n")
    opens = next((i for i, line in enumerate(lines) if line.startswith("define ")), -1)
    if opens < 0 or lines[-1] != "}":
        return None
    blocks = _blocks(iter(lines[opens + 1 : -1]), str(len(_ARGUMENT.findall(lines[opens]))))
    return _Function(tuple(lines[: opens + 1]), dict(blocks), ("}",))


def _blocks(lines: Iterator[str], entry: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The blocks in these lines, by their labels; one without is the first of the function, `entry`."""
    label, block = entry, list[str]()
    for line in lines:
        if found := _LABEL.match(line):
            if block:
                yield label, tuple(block)
            label, block = found[1], [line]
        elif line.strip():
            block.append(line)
    if block:
        yield label, tuple(block)


def _flows(function: _Function) -> bool:
    """Whether each block names as its predecessors just those that go on with it."""
    comes_from: dict[str, set[str]] = {label: set() for label in function.blocks}
    for label, block in function.blocks.items():
        for line in block:
            for to in _SUCCESSOR.findall(line):
                comes_from.setdefault(to, set()).add(label)
    return len(comes_from) == len(function.blocks) and all(
        comes_from[label] == set(_PREDECESSOR.findall(block[0].partition(_PREDS)[2]))
        for label, block in function.blocks.items()
    )


def _counts(function: _Function) -> bool:
    """Whether values without a name are numbered one after the other, from 0 on."""
    numbers = [int(number) for number in _ARGUMENT.findall(function.head[-1])]
    for label, block in function.blocks.items():
        numbers += [int(label)] if label.isdigit() else []
        numbers += [int(found[1]) for line in block if (found := _NUMBERED.match(line))]
    return numbers == list(range(len(numbers)))


def _names(old: _Function, printed: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether blocks that are not printed mean the same by the numbers of values that are defined in those that are.

    Where they use one, all of those definitions have to be what they were: what is counted otherwise is another value.
    """
    before = [found[1] for label in printed for line in old.blocks[label] if (found := _NUMBERED.match(line))]
    others = "\n".join(line for label, block in old.blocks.items() if label not in printed for line in block)
    if set(_VALUE.findall(others)).isdisjoint(before):
        return True
    defined = [[line for line in block if _NUMBERED.match(line)] for block in printed.values()]
    return defined == [[line for line in old.blocks[label] if _NUMBERED.match(line)] for label in printed]
