"""Source lines that texts name: Triton's MLIR, LLVM IR, machine IR, assembly and SASS.

Each function gives a Location per line of a text. Frames in installed
packages (`tl.sum` and friends) are dropped in favour of the user's line that called them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from irwidget.toolchain import locations
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location, lines_of

Lines = tuple[Location | None, ...]


def _user(frames: Sequence[Location]) -> Location | None:
    """The innermost user frame (frames come innermost first), linked to the user frames that called it."""
    found: Location | None = None
    for frame in reversed(frames):
        repeated = found is not None and (found.file, found.line) == (frame.file, frame.line)
        if frame.line and is_user_file(frame.file) and not repeated:
            found = Location(frame.file, frame.line, frame.column, found)
    return found


_END = " loc(#loc"


def mlir(asm: str) -> tuple[str, Lines]:
    """IR printed with locations, as plain IR and a location per line: what `locations.strip` does.

    Nearly every line of Triton's IR ends in one alias; these are cut without a regular
    expression, which matters on the megabytes that the LLVM dialect has.
    """
    lines = lines_of(asm)
    aliases = {
        name: place[4:-1]
        for name, separator, place in (line.partition(" = ") for line in lines if line.startswith("#loc"))
        if separator and place.startswith("loc(")
    }
    known: dict[str, Location | None] = {}
    text: list[str] = []
    found: list[Location | None] = []
    rest: list[int] = []
    for line in lines:
        if line.startswith("#loc"):
            continue
        head, separator, alias = line.rpartition(_END)
        if not separator and " loc(" not in line:
            text.append(line)
            found.append(None)
        elif separator and " loc(" not in head and alias[:-1].isdigit():
            if alias not in known:
                known[alias] = locations.user_location(f"#loc{alias[:-1]}", aliases)
            text.append(head)
            found.append(known[alias])
        else:
            rest.append(len(text))
            text.append(line)
            found.append(None)
    if rest:
        definitions = [f"{name} = loc({place})" for name, place in aliases.items()]
        cut, places = locations.strip("\n".join([text[i] for i in rest] + definitions))
        for i, line, place in zip(rest, cut.split("\n"), places, strict=False):
            text[i], found[i] = line, place
    return "\n".join(text) + "\n", locations.with_openings(text, found)


_METADATA = re.compile(r"^!(\d+) = (?:distinct )?!(DILocation|DISubprogram|DILexicalBlock\w*|DIFile)\((.*)\)$", re.M)
_FIELD = re.compile(r'(?<!\w)(\w+): (?:"((?:[^"\\]|\\.)*)"|!?([\w.]+))')
_DBG = re.compile(r"!dbg !(\d+)")
_DEEPEST = 40
"""Calls that were inlined into one another of which more are not told."""
_DIGITS = 10
"""Letters that no number of a line or column has."""


def _number(said: str) -> int:
    """A line or column; 0 for what is none."""
    return int(said) if said.isdecimal() and len(said) < _DIGITS else 0


def llvm(text: str) -> Lines:
    """Lines of LLVM IR by their `!dbg` metadata, inlining resolved."""
    nodes: dict[str, tuple[str, dict[str, str]]] = {
        number: (kind, {name: quoted or bare for name, quoted, bare in _FIELD.findall(body)})
        for number, kind, body in _METADATA.findall(text)
    }

    def file_of(number: str) -> str:
        seen: set[str] = set()
        while number in nodes and number not in seen:
            seen.add(number)
            kind, fields = nodes[number]
            if kind == "DIFile":
                name = fields.get("filename", "")
                return name if name.startswith("<") else os.path.join(fields.get("directory", ""), name)
            number = fields.get("file", fields.get("scope", ""))
        return ""

    def frames(number: str) -> Iterable[Location]:
        seen: set[str] = set()
        while number in nodes and number not in seen and len(seen) < _DEEPEST:
            seen.add(number)
            _, fields = nodes[number]
            line, column = (_number(fields.get(name, "")) for name in ("line", "column"))
            yield Location(file_of(number), line, column)
            number = fields.get("inlinedAt", "")

    known: dict[str, Location | None] = {}
    found: list[Location | None] = []
    for line in lines_of(text):
        match = None if line.startswith("!") else _DBG.search(line)
        if match and match[1] not in known:
            known[match[1]] = _user(list(frames(match[1])))
        found.append(known[match[1]] if match else None)
    return tuple(found)


COMMENT = re.compile(r"; ([^;\n]*?):(\d+)(?::(\d+))?((?: @\[.*\])?)(?: line no:\d+)?$")
"""Where an instruction of LLVM's machine IR is from, behind it: `; a.c:3:5 @[ b.c:9:1 ]`.

Of a variable it says the line besides."""


_MOST = 4000
"""Letters that no place is longer than."""


def machine(text: str) -> Lines:
    """Lines of LLVM's machine IR, as passes print it, by the comments behind its instructions."""
    return tuple(map(machine_line, lines_of(text)))


def machine_line(line: str) -> Location | None:
    """Where one instruction of machine IR is from."""
    at = line.rfind("debug-location ")
    said = COMMENT.search(line, at) if at >= 0 and len(line) - at < _MOST else None
    if said is None:
        return None
    inner = Location(said[1], _number(said[2]), _number(said[3] or ""))
    return _user(
        [inner, *(Location(name, _number(row), _number(column)) for name, row, column in _CALLER.findall(said[4]))]
    )


_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(.*)")
_INLINED = re.compile(r"inlined_at (\d+) (\d+) (\d+)")
_CALLER = re.compile(r"@\[ (\S+?):(\d+):(\d+)")
_NO_CODE = re.compile(r"^\s*(?:$|//|;|#|\.|\$?L?[\w$.]+:)")


_Position = tuple[str | Any, ...]
"""File, line and column of a `.loc`, as it writes them."""


def _place(files: dict[str, str], at: _Position) -> Location:
    return Location(files.get(at[0], ""), _number(at[1]), _number(at[2]))


def _callers(lines: Sequence[str]) -> dict[_Position, _Position]:
    """Where each position of PTX that is inlined is inlined at first."""
    found: dict[_Position, _Position] = {}
    for match in filter(None, map(_LOC.match, lines)):
        if inlined := _INLINED.search(match[4]):
            found.setdefault(match.group(1, 2, 3), inlined.group(1, 2, 3))
    return found


def assembly(text: str) -> Lines:
    """Lines of PTX, AMDGCN or x86 by their `.file` and `.loc` directives; directives and labels have none.

    PTX names only the next caller of what is inlined; the caller's own is the one that was last said of its position.
    """
    lines = lines_of(text)
    callers = _callers(lines)
    files = {m[1]: os.path.join(m[2], m[3]) if m[3] else m[2] for m in map(_FILE.match, lines) if m}
    by_name = {os.path.basename(path): path for path in files.values()}
    found: list[Location | None] = []
    current: Location | None = None
    for line in lines:
        if match := _LOC.match(line):
            stack = [_place(files, match.group(1, 2, 3))]
            if inlined := _INLINED.search(match[4]):
                callers[match.group(1, 2, 3)] = at = inlined.group(1, 2, 3)
                seen: set[_Position] = set()
                while at not in seen and len(seen) < _DEEPEST:
                    seen.add(at)
                    stack.append(_place(files, at))
                    at = callers.get(at, at)
            else:
                stack += [
                    Location(by_name.get(os.path.basename(name), name), _number(row), _number(column))
                    for name, row, column in _CALLER.findall(match[4])
                ]
            current = _user(stack)
            found.append(current)
        elif line.lstrip().startswith((".section", ".Lfunc_end", "$L__func_end", "}")):
            current = None
            found.append(None)
        else:
            found.append(None if _NO_CODE.match(line) else current)
    return tuple(found)


_NAMED: dict[str, tuple[str, Callable[[str], Lines]]] = {
    "llvm": ("!DILocation(", llvm),
    "mir": ("debug-location ", machine),
    **dict.fromkeys(("ptx", "amdgcn", "x86asm"), (".loc", assembly)),
}
"""For each language what a text has that names lines, and what reads them."""


def lines(language: str, text: str) -> Lines:
    """The user's line of each line of a text in LLVM's languages; nothing where it names none."""
    sign, read = _NAMED.get(language, ("", None))
    found = read(text) if read and sign in text else ()
    return found if any(found) else ()


_SASS_LINE = re.compile(r'"([^"]+)", line (\d+)')
_SASS_MARK = "\t//## File "


def sass(listing: str) -> tuple[str, Lines]:
    """nvdisasm's listing with line marks (`-gi`), as the listing without them and a location per line."""
    text: list[str] = []
    found: list[Location | None] = []
    marks: list[str] = []
    current: Location | None = None
    for line in listing.splitlines():
        if line.startswith(_SASS_MARK):
            marks.append(line)
            continue
        if marks:
            # the first mark is the innermost frame with what it is inlined at; the callers follow
            frames = [frame for mark in marks for frame in _SASS_LINE.findall(mark)]
            current = _user([Location(file, int(row)) for file, row in frames])
            marks = []
        text.append(line)
        found.append(current if line.lstrip().startswith("/*") else None)
    return "\n".join(text) + "\n", tuple(found)
