"""Numbers of LLVM's metadata and attributes in a function that was printed alone, as its module has them.

LLVM numbers what a function refers to as it prints it: `!dbg !48` is another place than the `!48` of the module, and
the same instruction has another number as soon as one before it is gone. So do the calls that have attributes (`#5`).
So numbers go over by the lines that are the same without them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import compress

from irwidget.readers.places import PlacedText

_NUMBER = re.compile(r'"[^"\n]*"|(?<![\w.$-])([!#]\d{1,9})\b')
_RENUMBERED = re.compile(r'"[^"\n]*"|(?<![\w.$-])[!#]\d+\b|%[\w.$-]+|^[\w.$-]+:|;[^\n]*')
_DEFINITION = re.compile(r"(?:attributes (?=#))?([!#]\d{1,9}) = ")
_ATTRIBUTES = re.compile(r"^attributes #(\d{1,9}) = ", re.M)
_OWN = re.compile(r"#\d{1,9}\b")
"""The attributes of a function, on the line that it begins with."""
_SIGNS = "!#"
_LABEL = re.compile(r'(?:[\w.$-]+|"[^"\n]*"):')
_Line = tuple[str, str]
_MOST_LINES = 20_000
"""Of functions of more lines, those that changed are not compared line by line."""


@dataclass(frozen=True, slots=True)
class Free:
    """The numbers that nothing in a module has, of metadata or of attributes."""

    first: int
    """The first after those that the module explains."""
    own: int
    """One from which on they are a function's own: another's are others, as each is longer than what it names."""


def free(module: str, start: int) -> Mapping[str, Free]:
    """Those for a function that begins at a letter of its module: of metadata, `!`, and of attributes, `#`."""
    last = _DEFINITION.match(module, module.rfind("\n!") + 1)
    first = {
        "!": 1 + int(last[1][1:]) if last else 0,
        "#": max((1 + int(found[1]) for found in _ATTRIBUTES.finditer(module)), default=0),
    }
    return {sign: Free(number, number + start) for sign, number in first.items()}


def as_before(part: str, before: str, spare: Mapping[str, Free]) -> str:
    """A function, or blocks of it, with the numbers that its text before has.

    What no line tells has its own number where the module explains none like it, else one that is free.
    """
    own = _numbers(part)
    if not own:
        return part
    names = _known(part, before)
    taken = {*_numbers(before), *names.values()}
    lost = [name for name in own if name not in names]
    names |= {name: name for name in lost if int(name[1:]) >= spare[name[0]].first and name not in taken}
    for sign in _SIGNS:
        others = (int(name[1:]) + 1 for name in (*taken, *own) if name[0] == sign)
        number = max([spare[sign].own, *others])
        rest = (name for name in lost if name not in names and name[0] == sign)
        names |= {name: f"{sign}{number + i}" for i, name in enumerate(rest)}
    return _NUMBER.sub(lambda found: names[found[1]] if found[1] else found[0], part)


def used(whole: PlacedText) -> PlacedText:
    """A module without what explains numbers that are in it no more; LLVM prints none of it."""
    lines = whole.text.split("\n")
    marked = [(found[1] if (found := _DEFINITION.match(line)) else "") for line in lines]
    explained = {name: i for i, name in enumerate(marked) if name}
    waiting = _numbers("\n".join(line for line, name in zip(lines, marked, strict=True) if not name))
    seen: set[str] = set()
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting += _numbers_of_line(lines[explained[name]]) if name in explained else ()
    kept = [not name or name in seen for name in marked]
    if all(kept):
        return whole
    return PlacedText("\n".join(compress(lines, kept)), tuple(compress(whole.places, kept)))


def _each(text: str) -> list[str]:
    """The numbers in a text, as often as it has them."""
    return [name for name in _NUMBER.findall(text) if name]


def _numbers(text: str) -> list[str]:
    """The numbers in a text, each once, in the order in which they come first."""
    return list(dict.fromkeys(_each(text)))


@lru_cache(1 << 14)
def _numbers_of_line(line: str) -> Sequence[str]:
    return _numbers(line)


def _known(part: str, before: str) -> dict[str, str]:
    """The numbers of a part for which its lines say one of the text before it, and no other."""
    others: defaultdict[str, set[str]] = defaultdict(set)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for new, old in _pairs(part.split("\n"), before.split("\n")):
        for name, other in zip(_each(new), _each(old), strict=True):
            others[name].add(other)
            owners[other].add(name)
    return {name: min(found) for name, found in others.items() if len(found) == len(owners[min(found)]) == 1}


def _pairs(new: list[str], old: list[str]) -> Iterable[tuple[str, str]]:
    """The lines that are the same apart from numbers; a function's own attributes where they are the same, too."""
    if _own_attributes(new) != _own_attributes(old):
        new, old = ([_OWN.sub("", one) if one.startswith("define ") else one for one in lines] for lines in (new, old))
    bare, other = ([_RENUMBERED.sub(_without, line) for line in lines] for lines in (new, old))
    if bare == other:
        return zip(new, old, strict=True)
    if len(new) + len(old) > _MOST_LINES:
        return ()
    now, then = [*_labelled(new, bare)], [*_labelled(old, other)]
    blocks = SequenceMatcher(None, then, now).get_matching_blocks()
    same = [(block.b + i, block.a + i) for block in blocks for i in range(block.size)]
    same += _moved(now, then, same)
    return [*((new[i], old[j]) for i, j in same), *_heads(new, old)]


def _moved(new: Sequence[_Line], old: Sequence[_Line], same: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines that are elsewhere, which no others are like, or none in their block: the exits of a loop are printed
    after its last block.
    """
    places: list[defaultdict[_Line, list[int]]] = [defaultdict(list), defaultdict(list)]
    for side, lines in enumerate((new, old)):
        gone = {pair[side] for pair in same}
        for i, (label, line) in enumerate(lines):
            if i not in gone and ("!" in line or "#" in line):
                places[side]["", line].append(i)
                places[side][f"{label}:", line].append(i)
    once = ((here, places[1].get(line, [])) for line, here in places[0].items())
    return [*{(here[0], there[0]) for here, there in once if len(here) == len(there) == 1}]


def _labelled(lines: Sequence[str], bare: Sequence[str]) -> Iterator[_Line]:
    """Lines without numbers, each with the label of its block where that is no number."""
    label = ""
    for line, other in zip(lines, bare, strict=True):
        if found := _LABEL.match(line):
            label = "" if found[0][:-1].isdecimal() else found[0]
        yield label, other


def _own_attributes(lines: list[str]) -> str:
    """The line above a function that has its attributes, but for those that are strings."""
    return next((line for line in lines[:2] if line.startswith("; Function Attrs:")), "")


def _heads(new: list[str], old: list[str]) -> list[tuple[str, str]]:
    """The lines that the functions begin with, of which a pass may have changed what else they say."""
    heads = [next((line for line in lines if line.startswith("define ")), "") for lines in (new, old)]
    signs = [[name[0] for name in _each(head)] for head in heads]
    return [(heads[0], heads[1])] if signs[0] == signs[1] else []


def _without(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else found[0][:1]
