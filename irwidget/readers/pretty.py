"""MLIR's pretty debug information, `a.py:3:8` and `[unknown]` for `loc("a.py":3:8)` and `loc(unknown)`.

It is what `--mlir-pretty-debuginfo` prints; no parser of MLIR reads it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from irwidget.trace import lines_of

_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_FILE = r'[^\s\[\]()",:][^\s\[\]()",]*:\d+:\d+'
_CALLERS = "{0,99}+"
"""At most: a line of nothing but callers is otherwise read again from each."""
_ONE = rf"#loc\d*\b|\[unknown\]|{_FILE}"


def _nested(depth: int) -> str:
    place = rf"(?:{_ONE})"
    for _ in range(depth):
        called = rf"{place}(?: at {place}){_CALLERS}"
        place = rf"(?:{_ONE}|\[{called}(?:, {called})*+\]|{_STRING}\({called}\))"
    return rf"{place}(?: at {place}){_CALLERS}"


@functools.cache
def _at_end() -> re.Pattern[str]:
    """The location at the end of a line; it takes half a second to compile."""
    return re.compile(rf" ({_nested(4)})$")


@functools.cache
def _of_argument() -> re.Pattern[str]:
    return re.compile(rf"{_STRING}| ({_nested(2)})(?=[,)])")


_ALIAS = re.compile(r"^(#loc\d*) = (?!loc\()(.*)$")
_CALLER = " at "
_NAMED = re.compile(r'(^|[\[(]|, | at )([^"\[\]()\n#][^"\n]*?):(\d+):(\d+)(?=$|[\])]|, | at )')


def is_pretty(text: str) -> bool:
    """Whether a text has locations of this form: each line that ends an outer region or defines a name."""
    lines = lines_of(text.partition("{-#")[0])
    named = [line for line in lines if line.startswith("#loc")]
    closing = [line for line in lines if line.startswith(("}", "  }")) and not line.endswith("{")]
    return bool(named or closing) and all(map(_ALIAS.match, named)) and all(map(_ends_in_a_place, closing))


def _ends_in_a_place(line: str) -> bool:
    return " " in line.strip() and _at_end().search(line) is not None


def spelt_out(text: str) -> str:
    """The text with locations in their usual form."""
    return "\n".join(map(_spelt_out, _joined(text))) + ("\n" if text.endswith("\n") else "")


def _joined(text: str) -> Iterator[str]:
    """The lines; a caller, which stands on a line of its own, with what it calls."""
    held: str | None = None
    for line in lines_of(text):
        if held is not None and line.startswith(_CALLER):
            held += line
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _spelt_out(line: str) -> str:
    if alias := _ALIAS.match(line):
        return f"{alias[1]} = loc({_usual(alias[2])})"
    line = _at_end().sub(lambda found: f" loc({_usual(found[1])})", line)
    return _of_argument().sub(lambda found: f" loc({_usual(found[1])})" if found[1] else found[0], line)


def _usual(place: str) -> str:
    return _NAMED.sub(r'\1"\2":\3:\4', place.replace("[unknown]", "unknown"))
