"""Text of which nothing is known but that brackets belong together: Triton's IR as it is printed, PTX, assembly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from irwidget.reducing import engine
from irwidget.reducing.engine import Test

_SAYS_NOTHING = re.compile(r"\s*(//.*|[#!][\w$.-]+\s*=.*|;.*|\}.*|[\])({\[]*,?|\^?[\w.$]+(\(.*\))?:.*)?\s*$")
_RESULT = re.compile(r"\s*(%[\w$.-]+)(?::\d+)?\s*=")
_NAME = re.compile(r"%[\w$.-]+")


def smaller(text: str, fails: Test[str]) -> Iterator[str]:
    """Smaller and smaller texts that still fail; the last one has no line that can be taken out."""
    return engine.smallest(text, fails, WAYS)


def count(text: str) -> int:
    """How many lines say something: not comments, labels, names of attributes and types, and ends of what has begun."""
    return sum(not _SAYS_NOTHING.match(line) for line in text.splitlines())


def _blocks(lines: list[str]) -> list[tuple[int, int]]:
    """The lines [start, stop) that can go together: each one, or with what its brackets hold. The last come first."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for number, line in enumerate(lines):
        opens, closes = (sum(line.count(mark) for mark in marks) for marks in ("{[", "}]"))
        if closes > opens and opened:
            found.append((opened.pop(), number + 1))
        elif opens > closes:
            opened.append(number)
        elif opens == closes == 0 or not line.lstrip().startswith(("}", "]")):
            found.append((number, number + 1))
    return sorted(found + [(number, number + 1) for number in opened], reverse=True)


def _without(text: str, start: int, stop: int) -> str:
    lines = text.split("\n")
    gone = {number for block in _blocks(lines)[start:stop] for number in range(*block)}
    return "\n".join(line for number, line in enumerate(lines) if number not in gone)


def _taken(text: str, fails: Test[str]) -> Iterator[str]:
    """Without more and more lines, the last first."""
    return engine.chunks(text, fails, lambda text: len(_blocks(text.split("\n"))), _without)


def _forwards(text: str, fails: Test[str]) -> Iterator[str]:
    """Without a line that names a value, another value of the line in its place."""

    def change(lines: list[str], number: int, result: str, other: str) -> str:
        rest = "\n".join(line for at, line in enumerate(lines) if at != number)
        return re.sub(re.escape(result) + r"(?![\w$.-])", other, rest)

    def changes(text: str) -> list[engine.Change[str]]:
        lines = text.split("\n")
        found: list[engine.Change[str]] = []
        for number, line in reversed(list(enumerate(lines))):
            if head := _RESULT.match(line):
                others = dict.fromkeys(_NAME.findall(line[head.end() :]))
                found += [partial(change, lines, number, head[1], other) for other in others]
        return found

    return engine.each(text, fails, changes)


def _bodies(text: str, fails: Test[str]) -> Iterator[str]:
    """With what a line's brackets hold in place of it."""

    def change(lines: list[str], start: int, stop: int) -> str:
        return "\n".join([*lines[:start], *lines[start + 1 : stop - 1], *lines[stop:]])

    def changes(text: str) -> list[engine.Change[str]]:
        lines = text.split("\n")
        return [partial(change, lines, start, stop) for start, stop in _blocks(lines) if stop > start + 1]

    return engine.each(text, fails, changes)


WAYS = {"lines": _taken, "values in place of others": _forwards, "brackets": _bodies}
