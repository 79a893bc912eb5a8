"""MLIR locations: read them, and take them out of printed IR.

`loc(callsite("linear.py":134:0 at "cell.py":8:0))` names a call stack, innermost
frame first. The user cares for the frames in their own files; frames of
installed packages are dropped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from irwidget.trace import Location, lines_of

_STRING = r'"(?:[^"\\]|\\.)*+(?:"|$)'
"""One that does not end, in a text that is cut, goes to the end of its line: else all of it is read again for each."""


def _nested(depth: int) -> str:
    inner = rf'[^()"]|{_STRING}'
    for _ in range(depth):
        inner = rf"[^()\"]|{_STRING}|\((?:{inner})*\)"
    return rf"\((?:{inner})*\)"


_LOC = re.compile(rf"(?P<string>{_STRING})| loc(?P<loc>{_nested(12)})")
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_TOKEN = re.compile(rf"(?P<string>{_STRING})|(?P<number>\d+)|(?P<alias>#loc\d*)|(?P<colon>:)|\s+|.")


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NOT_THE_USERS = ("site-packages", "dist-packages", "/lib/python3", "<frozen ", "<eval_with_key>", _PACKAGE)


_TORCH = ("torch/fx/", "torch/_")
"""How torch names its own files in what it puts into a graph by itself."""


INSTALLED = "IRWIDGET_INSTALLED"
"""Environment variable of our own processes: more folders of packages, those of a toolchain."""


_OPAQUE = "LLVMLITE_ENABLE_OPAQUE_POINTERS"
"""Without it llvmlite 0.44 reads no `ptr`, as all IR of today has."""


def of_toolchain(folders: Sequence[str]) -> dict[str, str]:
    """Environment variables of our own processes that import from these folders first; what the user says holds."""
    return {INSTALLED: os.pathsep.join(folders), _OPAQUE: os.environ.get(_OPAQUE, "1")}


def toolchain_folders() -> list[str]:
    """The folders of the toolchain that this process is of; none in the kernel."""
    return [one for one in os.environ.get(INSTALLED, "").split(os.pathsep) if one]


def is_installed(name: str) -> bool:
    """Whether a file is an installed package's, or Python's own."""
    return name.startswith((*_TORCH, *toolchain_folders())) or any(part in name for part in _NOT_THE_USERS)


def is_user_file(name: str) -> bool:
    """Whether a file is the user's rather than an installed package's or unnamed."""
    return name not in ("-", "<string>", "<stdin>", "") and not is_installed(name)


def frames(text: str, aliases: dict[str, str] | None = None, name: str = "") -> Iterator[Location]:
    """The stack of a location's text (with or without `loc(...)` around it), innermost first.

    A frame has the name of the named location that is directly around it; `name` is that of the first.
    """
    items = [(m.lastgroup, m.group()) for m in _TOKEN.finditer(text) if m.lastgroup]
    for i, (kind, value) in enumerate(items):
        if kind == "alias" and aliases and value in aliases:
            yield from frames(aliases[value], aliases, name)
            name = ""
        elif kind == "string" and i + 2 < len(items) and items[i + 1][1] == ":" and items[i + 2][0] == "number":
            more = items[i + 3 : i + 5]
            column = int(more[1][1]) if [kind for kind, _ in more] == ["colon", "number"] else 0
            yield Location(value[1:-1], int(items[i + 2][1]), column, name=name)
            name = ""
        elif kind == "string":
            name = value[1:-1]


def user_location(text: str, aliases: dict[str, str] | None = None) -> Location | None:
    """The innermost user frame of a location, linked to the user frames that called it."""
    found: Location | None = None
    for frame in reversed(list(frames(text, aliases))):
        if is_user_file(frame.file) and not (found and (found.file, found.line) == (frame.file, frame.line)):
            found = Location(frame.file, frame.line, frame.column, found, frame.name)
    return found


def strip(asm: str) -> tuple[str, tuple[Location | None, ...]]:
    """Split IR printed with debug information into plain IR and a location per line.

    The text equals what MLIR prints without debug information. The location of a line is that of the last operation
    that ends on it; of one that opens a region, that of its operation, where it is known.
    """
    aliases: dict[str, str] = {}
    body: list[str] = []
    for line in lines_of(asm):
        if line.startswith("#loc") and (match := _ALIAS.match(line)):
            aliases[match[1]] = match[2]
        else:
            body.append(line)
    known: dict[str, Location | None] = {}
    text: list[str] = []
    places: list[Location | None] = []
    for line in body:
        last = ""
        if " loc(" in line:

            def cut(match: re.Match[str]) -> str:
                nonlocal last
                if match["loc"]:
                    last = match["loc"]
                    return ""
                return match["string"]

            line = _LOC.sub(cut, line)
        if last not in known:
            known[last] = user_location(last, aliases) if last else None
        text.append(line)
        places.append(known[last])
    ending = "\n" if asm.endswith("\n") else ""
    return "\n".join(text) + ending, with_openings(text, places)


def with_openings(lines: Sequence[str], places: Sequence[Location | None]) -> tuple[Location | None, ...]:
    """Locations per line; that of an operation with regions is printed after these, and holds where they open, too."""
    found = list(places)
    open_lines: list[list[int]] = []
    for i, line in enumerate(lines):
        closes = line.lstrip().startswith("}")
        opening = open_lines.pop() if closes and open_lines else []
        if line.endswith("{"):
            open_lines.append([*opening, i])
        elif closes and places[i] is not None:
            for opened in opening:
                found[opened] = places[i]
    return tuple(found)
