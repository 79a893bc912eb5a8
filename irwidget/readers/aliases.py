"""The names that MLIR gives attributes and types before a module, as it would print them once a part of it is another.

A function by itself is printed with what they stand for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

_NAME = r"[#!][\w.$-]+"
_MEANING = r"[^\n]*(?:(?<=[\[({<,])[ \t\r]*\n(?:[ \t][^\n]*\n)*+[\])}>][^\n]*)?(?:\n at [^\n]*)*+"
DEFINITION = f"{_NAME} = {_MEANING}"
"""A pattern. What a name stands for goes on over more lines where a bracket is open at the end of its first, and where
MLIR's pretty debug information has callers: `#loc3 = #loc1`, ` at #loc2`.
"""
_ALIAS = re.compile(rf"^({_NAME}) = ({_MEANING})$", re.M)
_MAP = re.compile(r"#(?:map|set)\d*")
_STRING = r'"(?:[^"\\\n]|\\.)*+(?:"|$)'
_SPELT = re.compile(r"\baffine_(?:map|set)<")
_AFFINE = re.compile(rf"{_STRING}|\b(affine_(map|set)<[^\n]*?\)>)", re.M)
_MARK = re.compile("[#!]")
_KIND = re.compile(r"[#!][\w$.-]+(?=<)")
_BRACKET = re.compile(rf"{_STRING}|->|[<>]=|((?:[#!][\w$.-]+|[\w$.]+)?<)|(>)", re.M)
"""One that opens, with the kind of what is in it, or that closes; others are letters of something else."""
_BEGINNING = 24
"""Letters by which what aliases stand for is looked for first."""
_SHORT = 4
"""Names in what an alias stands for that may be spelt out with brackets of few letters only, at most."""
_DEEPEST = 100
"""Names that stand for names, at most."""
_PRELUDE = re.compile(rf"(?:[ \t]*\n|{DEFINITION}\n)*")
_BEFORE = r"(?:(?<![\w#!])|(?<=[\d?*\]]x))"
"""What is not before a name, but for the sizes of `tensor<4x!t>`."""
_USE = re.compile(rf"{_STRING}|{_BEFORE}([#!][A-Za-z_][\w$-]*)", re.M)
_PLAIN = re.compile(rf"{_STRING}|{_BEFORE}([#!][\w$-]+(?:\.[\w$-]+)+)(?![\w.$<-])", re.M)
"""What is spelt out without brackets: `!x.t`."""


def apart(text: str) -> tuple[str, str]:
    """The aliases before an operation, and the operation."""
    found = _PRELUDE.match(text)
    at = found.end() if found else 0
    return text[:at], text[at:].rstrip("\n") + "\n"


def shared(whole: str, aliases: str, body: str) -> tuple[str, str]:
    """The part with the whole's names for what both have an alias for, and the aliases that the whole lacks."""
    head = _PRELUDE.match(whole)
    stop = head.end() if head else 0
    spelt = _known(whole[:stop])
    known, groups = spelt.known, _but_for(spelt.groups, whole[stop:], body)
    for start, meanings in spelt.otherwise:  # spelt out where a function has it once
        if start in body:
            for meaning, name in meanings:
                body = body.replace(meaning, name)
    if spelt.plain:
        body = _PLAIN.sub(lambda found: known.get(found[1], found[1]) if found[1] else found[0], body)
    taken = set(known.values())
    added: list[str] = []
    maps: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        """The name of a map or a set; a module has one for each."""
        meaning, kind = found[1], found[2]
        if meaning and meaning not in known and meaning not in maps:
            maps[meaning] = _free(f"#{kind}", taken)
            taken.add(maps[meaning])
            added.append(f"{maps[meaning]} = {meaning}\n")
        return (known.get(meaning) or maps[meaning]) if meaning else found[0]

    if known or not _SPELT.search(whole):  # otherwise all of it is (--mlir-print-local-scope)
        body = _AFFINE.sub(named, body)
    names: dict[str, str] = {}

    def renamed(text: str) -> str:
        return _USE.sub(lambda found: names.get(found[1], found[0]) if found[1] else found[0], text) if names else text

    for found in _ALIAS.finditer(aliases):
        meaning = _folded(renamed(found[2]), groups, inside=True)
        name = known.get(meaning)
        if name is None:
            name = _free(found[1], taken)
            taken.add(name)
            added.append(f"{name} = {meaning}\n")
        names[found[1]] = name
    return "".join(added), _folded(renamed(body), groups)


def _folded(text: str, groups: _Groups, *, inside: bool = False) -> str:
    """The text with the names of what is spelt out in it in brackets, from the inside out: `#x.a<b = <...>>`.

    `inside` leaves all of it as it is, and looks at what is in it.
    """
    if not any(start in text for start in groups.starts):
        return text
    parts: list[str] = []
    opened: list[tuple[int, int]] = []
    """For each bracket that is open, which part it begins with, and how many letters there are before that."""
    at = length = 0
    for found in _BRACKET.finditer(text):
        if found[1]:  # it opens
            kind = found[1]
            parts += text[at : found.start()], kind
            length += found.start() - at
            opened.append((len(parts) - 1, length))
            length += len(kind)
        elif found[2]:
            parts.append(text[at : found.end()])
            length += found.end() - at
            first, before = opened.pop() if opened else (0, -groups.longest)
            if length - before <= groups.longest and len(opened) < _DEEPEST and (opened or not inside):
                group = "".join(parts[first:])
                parts[first:] = [groups.names.get(group, group)]
                length = before + len(parts[-1])
        else:
            continue
        at = found.end()
    return "".join(parts) + text[at:]


@dataclass(frozen=True, slots=True)
class _Groups:
    """What is spelt out in brackets, in which other names may be."""

    names: Mapping[str, str]
    longest: int
    starts: Sequence[str]
    """How they begin, up to the first name in them."""


def _but_for(groups: _Groups, whole: str, body: str) -> _Groups:
    """Those without what a module has spelt out itself: an operation may print `<...>` where others have a name."""
    bare = [one for one in groups.names if one.startswith("<") and _start(one) in body and one in whole]
    return _groups({one: name for one, name in groups.names.items() if one not in bare}) if bare else groups


@dataclass(frozen=True, slots=True)
class _Known:
    """The aliases that a text begins with."""

    known: Mapping[str, str]
    """By what they mean."""
    groups: _Groups
    otherwise: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    """What is spelt out otherwise, by how it begins."""
    plain: bool
    """Whether anything is without brackets."""


@lru_cache(4)
def _known(aliases: str) -> _Known:
    """The aliases that a text begins with.

    Where an operation's syntax says the kind of an attribute, it is spelt without: `layout(<bindings = [...]>)`.
    """
    known = {found[2]: found[1] for found in _ALIAS.finditer(aliases)}
    groups: dict[str, str] = {}
    otherwise: dict[str, list[tuple[str, str]]] = {}
    twice: set[str] = set()
    short: dict[str, str] = {}
    whole: dict[str, str] = {}
    for meaning, name in known.items():
        spelling = _USE.sub(lambda found: whole.get(found[1], found[0]) if found[1] else found[0], meaning)
        whole[name] = spelling
        if (found := _KIND.match(meaning)) and _folded(meaning, _groups({meaning: name})) == name:
            bare = meaning[found.end() :]
            if len(bare) < _BEGINNING:
                short[name] = bare
            for one in _spellings(meaning, found.end(), short):
                if groups.setdefault(one, name) != name:
                    twice.add(one)
        elif spelling.endswith((">", "}", ")")) and not _AFFINE.match(spelling):
            otherwise.setdefault(spelling[:_BEGINNING], []).append((spelling, name))
    for meanings in otherwise.values():
        meanings.sort(key=lambda one: len(one[0]), reverse=True)
    kept = _groups({one: name for one, name in groups.items() if one not in twice})
    return _Known(known, kept, list(otherwise.items()), any(map(_PLAIN.fullmatch, known)))


def _spellings(meaning: str, kind: int, short: Mapping[str, str]) -> Iterator[str]:
    """How brackets may be spelt of which the kind takes so many letters: with it and without, and what is named in them
    with its `short` brackets, too, which stand for it nowhere else: `key = <>`.
    """
    inside = [name for name in dict.fromkeys(found[1] for found in _USE.finditer(meaning)) if name in short]
    for count in range(1 + min(len(inside), _SHORT)):
        for names in combinations(inside[:_SHORT], count):
            spelt = _USE.sub(lambda found, names=names: short[found[1]] if found[1] in names else found[0], meaning)
            yield spelt
            if len(meaning) - kind >= _BEGINNING:
                yield spelt[kind:]


def _groups(names: Mapping[str, str]) -> _Groups:
    starts = dict.fromkeys(map(_start, names))
    return _Groups(names, max(map(len, names), default=0), list(starts))


def _start(spelling: str) -> str:
    """How something begins that is spelt out, up to the first name in it."""
    return _MARK.split(spelling[1:], maxsplit=1)[0]


def _free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    stem = name.rstrip("0123456789")
    return next(one for i in range(1, len(taken) + 2) if (one := f"{stem}{i}") not in taken)


def used(text: str) -> list[str]:
    """The names of aliases in a text, in the order in which they come first."""
    lines = "\n".join(line for line in text.split("\n") if "#" in line or "!" in line)
    return list(dict.fromkeys(filter(None, _USE.findall(lines))))


def arranged(text: str) -> str:
    """A module with those of its aliases that something names, in MLIR's order.

    What names others comes after them, then the names count; maps and sets are numbered by where they are used first.
    """
    head = _PRELUDE.match(text)
    stop = head.end() if head else 0
    body = text[stop:]
    defined = {found[1]: (found.start(), found[2]) for found in _ALIAS.finditer(text, 0, stop)}
    depth: dict[str, int] = {}

    def visit(name: str, deep: int = 0) -> int:
        """Note a use, and those in what it stands for; how many names there are behind the name."""
        if name not in depth and deep < _DEEPEST:
            depth[name] = 0  # in logs that are damaged, names may go round in a circle
            inner = [found[1] for found in _USE.finditer(defined[name][1]) if found[1] in defined]
            depth[name] = 1 + max((visit(one, deep + 1) for one in inner), default=-1)
        return depth.get(name, 0)

    for name in used(body):
        if name in defined:
            visit(name)
    kept = sorted(depth, key=lambda name: (depth[name], _stem(name), 0 if _MAP.fullmatch(name) else defined[name][0]))
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    for name in kept:
        if _MAP.fullmatch(name):
            number = counts[_stem(name)]
            counts[_stem(name)] += 1
            names[name] = f"{_stem(name)}{number or ''}"
    text = "".join(f"{name} = {defined[name][1]}\n" for name in kept) + body
    if all(name == new for name, new in names.items()):
        return text
    return _USE.sub(lambda found: names.get(found[1], found[0]) if found[1] else found[0], text)


def _stem(name: str) -> str:
    return name.rstrip("0123456789")
