"""Whether two texts are equal apart from the names that passes renumber: each name must become one other, and only it.

Lines that are equal without their names may still say different things: `subf %1, %2` and `subf %2, %1`, or two results
of one operation exchanged. Names are followed from where they are defined.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from irwidget.trace import syntax

Pair = tuple[str | None, str | None]
"""A line of each text; None for a line that only the other text has."""

_SIGIL = "%^#!$"
_ASSIGNED = re.compile(r'(?:\s*,\s*[%!#](?:"[^"]*"|[\w$.-]+)(?:[:#]\d+)?)*\s*\)?\s*=(?!=)')
"""What follows a name that a line gives a value: `%a, %b = `, `(%i, %j) = `."""
_ARGUMENT = re.compile(r":\s")
"""What follows the argument of a function, block or loop; MLIR writes `%x: type` there and `%x : type` elsewhere."""
_RESULT = re.compile(r"(.*)([:#])(\d+)", re.DOTALL)
_DEFINE = re.compile(r"\s*define\b")


@dataclass(frozen=True, slots=True)
class Name:
    """A name on a line that a pass may renumber."""

    text: str
    """With its sigil: `%x`, `^bb1`, `#map`, `!3`; a label of LLVM IR as it is referred to, `%12`."""
    defined: bool
    """Whether the line defines it."""
    results: int = 0
    """How many results of one operation it is a name of, where it says so: `%x:2` defines `%x#0` and `%x#1`."""

    @property
    def values(self) -> list[str]:
        """What it is referred to by."""
        return [f"{self.text}#{i}" for i in range(self.results)] if self.results else [self.text]


@functools.lru_cache(maxsize=65536)
def names(line: str) -> tuple[Name, ...]:
    """The names on a line that a pass may renumber, in order."""
    return tuple(_name(line, start, stop) for start, stop in syntax.renumbered(line))


def _name(line: str, start: int, stop: int) -> Name:
    sigil = line[start - 1] if start and line[start - 1] in _SIGIL else ""
    if not sigil:  # a label of LLVM IR
        return Name(f"%{line[start:stop]}", True)
    text = sigil + line[start:stop]
    rest = line[stop:]
    defined = bool(_ASSIGNED.match(rest))
    if sigil == "^":
        defined = not line[: start - 1].strip()
    elif sigil == "%":
        defined = defined or bool(_ARGUMENT.match(rest)) or bool(_DEFINE.match(line))
    elif sigil == "$":
        defined = rest.startswith(":")
    found = _RESULT.fullmatch(text)
    return Name(found[1], defined, int(found[3])) if found and found[2] == ":" and sigil == "%" else Name(text, defined)


class _Side:
    """The names of one text: what they are in the other, and which have been defined so far."""

    def __init__(self) -> None:
        self.other: dict[str, str] = {}
        self.defined: set[str] = set()
        self.ahead: set[str] = set()
        """Referred to before they are defined, as labels are."""

    def forget_values(self) -> None:
        """A function begins: names of values, blocks and labels begin anew, those of attributes and metadata stay."""
        self.other = {name: other for name, other in self.other.items() if name[0] in "#!"}
        self.defined = {name for name in self.defined if name[0] in "#!"}
        self.ahead = {name for name in self.ahead if name[0] in "#!"}


class Renaming:
    """Which name of one text is which of the other, as its lines are gone through from the first to the last."""

    def __init__(self) -> None:
        self._old, self._new = _Side(), _Side()

    def take(self, old: str | None, new: str | None) -> bool:
        """Whether two lines that are equal without their names can be one, and take note of the names.

        A line that only one text has is taken note of, too: the names that it defines are others than before.
        """
        if any(line is not None and syntax.symbol(line) for line in (old, new)):
            self._old.forget_values()
            self._new.forget_values()
        if old is None or new is None:
            for name in names(old or new or ""):
                if name.defined:
                    for text in name.values:
                        self._alone(text, old is None)
            return True
        paired = [
            self._pair(a, b) for a, b in zip(names(old), names(new), strict=True)
        ]  # each of them is taken note of
        return all(paired)

    def _alone(self, name: str, new: bool) -> None:
        """A name is defined on a line that only one text has."""
        here, there = (self._new, self._old) if new else (self._old, self._new)
        if name not in here.ahead:
            there.other.pop(here.other.pop(name, ""), None)
        here.defined.add(name)

    def _pair(self, old: Name, new: Name) -> bool:
        if old.defined != new.defined or old.results != new.results:
            return False
        if not old.defined:
            return self._use(old.text, new.text)
        defined = [self._define(a, b) for a, b in zip(old.values, new.values, strict=True)]
        return all(defined)

    def _define(self, old: str, new: str) -> bool:
        promised = old in self._old.ahead or new in self._new.ahead
        for here, there, name in ((self._old, self._new, old), (self._new, self._old, new)):
            if not promised:
                there.other.pop(here.other.pop(name, ""), None)
            here.defined.add(name)
            here.ahead.discard(name)
        return self._bind(old, new)

    def _use(self, old: str, new: str) -> bool:
        if old not in self._old.defined and new not in self._new.defined:
            self._old.ahead.add(old)
            self._new.ahead.add(new)
        return self._bind(old, new)

    def _bind(self, old: str, new: str) -> bool:
        if old not in self._old.other and new not in self._new.other:
            self._old.other[old], self._new.other[new] = new, old
        return self._old.other.get(old) == new


def differing(pairs: Iterable[Pair]) -> list[int]:
    """The numbers of the pairs, of lines that are equal without their names, that no renaming makes equal.

    Pairs come in the order of the texts; a line that only one of them has has None beside it.
    """
    renaming = Renaming()
    return [number for number, (old, new) in enumerate(pairs) if not renaming.take(old, new)]


def equal(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether two texts are the same apart from the names that passes renumber."""
    if len(old) != len(new):
        return False
    if any(syntax.blank(a) != syntax.blank(b) for a, b in zip(old, new, strict=True)):
        return False
    return not differing(zip(old, new, strict=True))
