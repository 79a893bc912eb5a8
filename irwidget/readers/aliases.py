"""The names that MLIR gives attributes and types before a module, as it would print them once a part of it is another.

A function by itself is printed with what they stand for.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

_NAME = r"[#!][\w.$-]+"
_MEANING = r"[^\n]*(?:(?<=[\[({<,])[ \t\r]*\n(?:[ \t][^\n]*\n)*+[\])}>][^\n]*)?(?:\n at [^\n]*)*+"
DEFINITION = f"{_NAME} = {_MEANING}"
"""A pattern. What a name stands for goes on over more lines where a bracket is open at the end of its first, and where
MLIR's pretty debug information has callers: `#loc3 = #loc1`, ` at #loc2`.
"""
_ALIAS = re.compile(rf"^({_NAME}) = ({_MEANING})$", re.M)
_MAP = re.compile(r"#(?:map|set)\d*")
_STRING = r'"(?:[^"\\\n]|\\.)*+(?:"|$)'
_AFFINE = re.compile(rf"{_STRING}|\b(affine_(map|set)<[^\n]*?\)>)", re.M)
_KIND = re.compile(r"[#!][\w$.-]+(?=<)")
_BEGINNING = 24
"""Letters by which what aliases stand for is looked for first."""
_DEEPEST = 100
"""Names that stand for names, at most."""
_PRELUDE = re.compile(rf"(?:[ \t]*\n|{DEFINITION}\n)*")
_USE = re.compile(rf"{_STRING}|(?<![\w#!])([#!][A-Za-z_][\w$-]*)", re.M)


def apart(text: str) -> tuple[str, str]:
    """The aliases before an operation, and the operation."""
    found = _PRELUDE.match(text)
    at = found.end() if found else 0
    return text[:at], text[at:].rstrip("\n") + "\n"


def shared(whole: str, aliases: str, body: str) -> tuple[str, str]:
    """The part with the whole's names for what both have an alias for, and the aliases that the whole lacks."""
    head = _PRELUDE.match(whole)
    known, spelt = _known(whole[: head.end() if head else 0])
    for start, meanings in spelt:  # spelt out where a function has it once
        if start in body:
            for meaning, name in meanings:
                body = (
                    re.sub(rf"(?<![\w$.]){re.escape(meaning)}", name, body)
                    if meaning[0] == "<"
                    else body.replace(meaning, name)
                )
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

    if known:
        body = _AFFINE.sub(named, body)
    if not aliases.strip():
        return "".join(added), body
    names: dict[str, str] = {}

    def renamed(text: str) -> str:
        return _USE.sub(lambda found: names.get(found[1], found[0]) if found[1] else found[0], text)

    for found in _ALIAS.finditer(aliases):
        meaning = renamed(found[2])
        name = known.get(meaning)
        if name is None:
            name = _free(found[1], taken)
            taken.add(name)
            added.append(f"{name} = {meaning}\n")
        names[found[1]] = name
    return "".join(added), renamed(body)


@lru_cache(4)
def _known(aliases: str) -> tuple[dict[str, str], list[tuple[str, list[tuple[str, str]]]]]:
    """The aliases that a text begins with, by what they mean; and what may be spelt out, by how it begins.

    Where an operation's syntax says the kind of an attribute, it is spelt without: `layout(<bindings = [...]>)`.
    """
    known = {found[2]: found[1] for found in _ALIAS.finditer(aliases)}
    spellings: dict[str, str] = {}
    twice: set[str] = set()
    whole: dict[str, str] = {}
    for meaning, name in known.items():
        whole[name] = meaning = _USE.sub(lambda found: whole.get(found[1], found[0]) if found[1] else found[0], meaning)
        found = _KIND.match(meaning)
        bare = meaning[found.end() :] if found else ""
        for one in (meaning, bare if len(bare) >= _BEGINNING else ""):
            if spellings.setdefault(one, name) != name:
                twice.add(one)
    spelt: dict[str, list[tuple[str, str]]] = {}
    for meaning in sorted(spellings, key=len, reverse=True):
        if meaning.endswith((">", "}", ")")) and meaning not in twice and not _AFFINE.match(meaning):
            spelt.setdefault(meaning[:_BEGINNING], []).append((meaning, spellings[meaning]))
    return known, list(spelt.items())


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
