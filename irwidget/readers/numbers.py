"""Numbers of LLVM's metadata and attributes in a function that was printed alone, as its module has them.

LLVM numbers what a function refers to as it prints it: `!dbg !48` is another place than the `!48` of the module, and
the same instruction has another number as soon as one before it is gone. So numbers go over by the lines that are the
same without them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from irwidget.readers.places import PlacedText

_NUMBER = re.compile(r'"[^"\n]*"|(?<![\w.$-])([!#]\d+)\b')
_RENUMBERED = re.compile(r'"[^"\n]*"|(?<![\w.$-])[!#]\d+\b|%[\w.$-]+|^[\w.$-]+:|;[^\n]*')
_DEFINITION = re.compile(r"(?:attributes )?([!#]\d+) = ")
_MOST_LINES = 20_000
"""Of functions of more lines, those that changed are not compared line by line."""


def as_before(part: str, before: str, free: int) -> str:
    """A function, or blocks of it, with the numbers that its text before has.

    What no line tells has a number of its own, `free` or a higher one that the text before has not.
    """
    own = list(dict.fromkeys(_numbers(part)))
    if not own:
        return part
    names = _known(part, before)
    free = max([free, *(int(name[1:]) + 1 for name in _numbers(before))])
    lost = (name for name in own if name not in names)
    names |= {name: f"{name[0]}{free + i}" for i, name in enumerate(lost)}
    return _NUMBER.sub(lambda found: names[found[1]] if found[1] else found[0], part)


def free(module: str, start: int) -> int:
    """A number from which on a function that begins at a letter of its module may number what the module has not.

    Another function's are others, as each is longer than what it names.
    """
    last = _DEFINITION.match(module, module.rfind("\n!") + 1)
    return 1 + start + int(last[1][1:] if last else 0)


def used(whole: PlacedText) -> PlacedText:
    """A module without what explains numbers that are in it no more; LLVM prints none of it."""
    lines = whole.text.split("\n")
    explained = {found[1]: i for i, line in enumerate(lines) if (found := _DEFINITION.match(line))}
    waiting = list(_numbers("\n".join(line for line in lines if not _DEFINITION.match(line))))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _numbers(lines[explained[name]]) if name in explained else ()
    gone = {i for name, i in explained.items() if name not in seen}
    if not gone:
        return whole
    text = "\n".join(line for i, line in enumerate(lines) if i not in gone)
    return PlacedText(text, tuple(place for i, place in enumerate(whole.places) if i not in gone))


def _numbers(text: str) -> Iterator[str]:
    return (found[1] for found in _NUMBER.finditer(text) if found[1])


def _known(part: str, before: str) -> dict[str, str]:
    """The numbers of a part for which its lines say one of the text before it, and no other."""
    others: defaultdict[str, set[str]] = defaultdict(set)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for new, old in _pairs(part.split("\n"), before.split("\n")):
        for name, other in zip(_numbers(new), _numbers(old), strict=False):
            others[name].add(other)
            owners[other].add(name)
    return {name: min(found) for name, found in others.items() if len(found) == len(owners[min(found)]) == 1}


def _pairs(new: list[str], old: list[str]) -> Iterable[tuple[str, str]]:
    """The lines that are the same apart from numbers."""
    bare, other = ([_RENUMBERED.sub(_without, line) for line in lines] for lines in (new, old))
    if bare == other:
        return zip(new, old, strict=True)
    if len(new) + len(old) > _MOST_LINES:
        return ()
    blocks = SequenceMatcher(None, other, bare, autojunk=False).get_matching_blocks()
    same = [(new[block.b + i], old[block.a + i]) for block in blocks for i in range(block.size)]
    return [*same, *_heads(new, old)]


def _heads(new: list[str], old: list[str]) -> list[tuple[str, str]]:
    """The lines that the functions begin with, of which a pass may have changed what else they say."""
    heads = [next((line for line in lines if line.startswith("define ")), "") for lines in (new, old)]
    signs = [[name[0] for name in _numbers(head)] for head in heads]
    return [(heads[0], heads[1])] if signs[0] == signs[1] else []


def _without(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else found[0][:1]
