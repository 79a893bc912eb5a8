"""The user's lines that texts of IR name: MLIR's `loc(...)`, HLO's metadata, debug information."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from irwidget.readers import pretty
from irwidget.toolchain import debug_lines, locations
from irwidget.trace import Location, lines_of

Places = tuple[Location | None, ...]

_TOO_LONG = 50_000
"""Letters of a line from which on nothing is looked for in a text."""
_LOC = re.compile(r"\bloc\(")
_ENTRY = re.compile(r"^(\d+) (?:\"((?:[^\"\\]|\\.)*)\"|\{([^}\n]*)\})$")
_FIELD = re.compile(r"(\w+)=(\d+)")
_METADATA = re.compile(r"metadata=\{([^{}\n]{0,4000})\}")
_FILE = re.compile(r'source_file="((?:[^"\\]|\\.)*+)"')
_MOST_FRAMES = 40


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text with the places of its lines, of which there may be none."""

    text: str
    places: Places = ()


def placed(language: str, text: str) -> tuple[str, Places]:
    """The text to show, and for each of its lines the user's line that it came from; none where it names none."""
    if language == "mlir" and max(map(len, text.split("\n"))) < _TOO_LONG and (usual := _usual(text)):
        try:
            return locations.strip(usual)
        except (RecursionError, ValueError):  # aliases that name one another, numbers of thousands of digits
            return text, ()
    sign, found = _NAMED.get(language, ("", None))
    places = found(text) if found and sign in text else debug_lines.lines(language, text)
    return text, places if any(places) else ()


def _usual(text: str) -> str:
    """The text with its locations as `loc(...)`; nothing where it has none."""
    return text if "loc(" in text and _LOC.search(text) else pretty.spelt_out(text) if pretty.is_pretty(text) else ""


def _hlo(text: str) -> tuple[Location | None, ...]:
    """The lines of HLO: `source_file` and `source_line`, or `stack_frame_id` of the tables that it begins with."""
    tables: dict[str, dict[int, str]] = {}
    table: dict[int, str] | None = None
    found: list[Location | None] = []
    frames = _Frames(tables)
    for line in lines_of(text):
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            table = tables.setdefault(line, {})
        elif table is not None and (entry := _ENTRY.match(line)):
            table[int(entry[1][:9])] = entry[2] if entry[2] is not None else entry[3]
        elif line.strip():
            table = None
        metadata = _METADATA.search(line) if len(line) < _TOO_LONG else None
        found.append(_of_metadata(metadata[1], frames) if metadata else None)
    return tuple(found)


def _of_metadata(words: str, frames: _Frames) -> Location | None:
    numbers = _numbers(words)
    file = _FILE.search(words)
    if file and "source_line" in numbers:
        return Location(file[1], numbers["source_line"], numbers.get("source_column", 0))
    return frames.location(numbers.get("stack_frame_id", 0))


def _numbers(words: str) -> dict[str, int]:
    return {name: int(value[:9]) for name, value in _FIELD.findall(words)}


class _Frames:
    """The stack frames in the tables of a module, each read once."""

    def __init__(self, tables: dict[str, dict[int, str]]) -> None:
        self._tables = tables
        self._read: dict[int, tuple[str, int, int, int]] = {}
        """File (empty where it is not the user's), line, column, and the frame that called it."""
        self._users: dict[int, int] = {}
        """For each frame the first that is the user's, itself or one that called it; 0 for none."""
        self._made: dict[int, Location | None] = {}

    def location(self, number: int) -> Location | None:
        """A frame with those that called it, each the user's own, outermost last."""
        if number in self._made:
            return self._made[number]
        chain: list[tuple[str, int, int]] = []
        at = self._user(number)
        while at and len(chain) < _MOST_FRAMES:
            file, line, column, caller = self._read[at]
            chain.append((file, line, column))
            at = self._user(caller)
        found: Location | None = None
        for file, line, column in reversed(chain):
            found = Location(file, line, column, found)
        self._made[number] = found
        return found

    def _user(self, number: int) -> int:
        passed: list[int] = []
        frames = self._tables.get("StackFrames", {})
        while number not in self._users:
            passed.append(number)
            self._users[number] = 0  # a frame that is its own caller ends there
            if number not in frames:
                break
            file, _, _, caller = self._read[number] = self._parsed(frames[number])
            if file:
                self._users[number] = number
                break
            number = caller
        answer = self._users[number]
        for one in passed:
            self._users[one] = answer
        return answer

    def _parsed(self, frame: str) -> tuple[str, int, int, int]:
        fields = _numbers(frame)
        place = _numbers(self._tables.get("FileLocations", {}).get(fields.get("file_location_id", 0), ""))
        file = self._tables.get("FileNames", {}).get(place.get("file_name_id", 0), "")
        caller = fields.get("parent_frame_id", 0) - 1  # it is counted from 1, with 1 for none
        shown = file if file and locations.is_user_file(file) else ""
        return shown, place.get("line", 0), place.get("column", 0), caller


_GIMPLE = re.compile(r"\[([^\s\[\]:][^\[\]:\n]*):(\d{1,9})(?::(\d{1,9}))?[^\[\]\n]*\]")
_RTL = re.compile(r'"((?:[^"\\\n]|\\.)+)":(\d{1,9})(?::(\d{1,9}))?')


def _gcc(pattern: re.Pattern[str], text: str) -> tuple[Location | None, ...]:
    """The first place on each line of what GCC prints with `-lineno`, or of its RTL."""
    marks = (pattern.search(line) for line in lines_of(text))
    users = (mark if mark and locations.is_user_file(mark[1]) else None for mark in marks)
    return tuple(Location(mark[1], int(mark[2]), int(mark[3] or 0)) if mark else None for mark in users)


_FX = re.compile(r"\s*#[^\n]*?\bFile: ([^\n]+?):(\d{1,9}) in ")


def _fx(text: str) -> tuple[Location | None, ...]:
    """What PyTorch writes above the nodes of a line, in a graph that it prints as code."""
    now: Location | None = None
    found: list[Location | None] = []
    for line in lines_of(text):
        if line.lstrip().startswith("#"):
            mark = _FX.match(line[:_TOO_LONG])
            now = Location(mark[1], int(mark[2])) if mark and locations.is_user_file(mark[1]) else None
        elif line.lstrip().startswith(("return ", "class ", "def ")):
            now = None
        found.append(now if line.strip() else None)
    return tuple(found)


_NAMED: dict[str, tuple[str, Callable[[str], tuple[Location | None, ...]]]] = {
    "hlo": ("metadata={", _hlo),
    "gimple": (":", partial(_gcc, _GIMPLE)),
    "rtl": ('":', partial(_gcc, _RTL)),
    "fx": ("File: ", _fx),
}
"""For each language that is not LLVM's what a text has that names lines, and what reads them."""
