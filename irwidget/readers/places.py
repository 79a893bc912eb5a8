"""The user's lines that texts of IR name: MLIR's `loc(...)`, HLO's metadata."""

from __future__ import annotations

import re

from irwidget.toolchain import locations
from irwidget.trace import Location

_TOO_LONG = 50_000
"""Letters of a line from which on nothing is looked for in a text."""
_ENTRY = re.compile(r"^(\d+) (?:\"((?:[^\"\\]|\\.)*)\"|\{([^}\n]*)\})$")
_FIELD = re.compile(r"(\w+)=(\d+)")
_METADATA = re.compile(r"metadata=\{([^{}\n]{0,4000})\}")
_FILE = re.compile(r'source_file="((?:[^"\\]|\\.)*+)"')
_MOST_FRAMES = 50


def placed(language: str, text: str) -> tuple[str, tuple[Location | None, ...]]:
    """The text to show, and for each of its lines the user's line that it came from; none where it names none."""
    if language == "mlir" and "loc(" in text and max(map(len, text.split("\n"))) < _TOO_LONG:
        try:
            return locations.strip(text)
        except (RecursionError, ValueError):  # aliases that name one another, numbers of thousands of digits
            return text, ()
    if language == "hlo" and "metadata={" in text:
        return text, _hlo(text)
    return text, ()


def _hlo(text: str) -> tuple[Location | None, ...]:
    """The lines of HLO: `source_file` and `source_line`, or `stack_frame_id` of the tables that it begins with."""
    tables: dict[str, dict[int, str]] = {}
    table: dict[int, str] | None = None
    found: list[Location | None] = []
    frames: dict[int, Location | None] = {}
    known: dict[int, tuple[str, int, int, int]] = {}
    for line in text.removesuffix("\n").split("\n"):
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            table = tables.setdefault(line, {})
        elif table is not None and (entry := _ENTRY.match(line)):
            table[int(entry[1][:9])] = entry[2] if entry[2] is not None else entry[3]
        elif line.strip():
            table = None
        metadata = _METADATA.search(line) if len(line) < _TOO_LONG else None
        found.append(_of_metadata(metadata[1], tables, frames, known) if metadata else None)
    return tuple(found) if any(found) else ()


def _of_metadata(
    words: str,
    tables: dict[str, dict[int, str]],
    frames: dict[int, Location | None],
    known: dict[int, tuple[str, int, int, int]],
) -> Location | None:
    numbers = {name: int(value[:9]) for name, value in _FIELD.findall(words)}
    file = _FILE.search(words)
    if file and "source_line" in numbers:
        return Location(file[1], numbers["source_line"], numbers.get("source_column", 0))
    frame = numbers.get("stack_frame_id", 0)
    if frame not in frames:
        frames[frame] = _frame(frame, tables, known)
    return frames[frame]


def _frame(
    number: int, tables: dict[str, dict[int, str]], known: dict[int, tuple[str, int, int, int]]
) -> Location | None:
    """A frame with those that called it, each the user's own, outermost last; `known` are the frames read so far."""
    chain: list[tuple[str, int, int]] = []
    seen: set[int] = set()
    while number in tables.get("StackFrames", {}) and number not in seen and len(seen) < _MOST_FRAMES:
        seen.add(number)
        if number not in known:
            known[number] = _read(tables["StackFrames"][number], tables)
        file, line, column, number = known[number]
        if file:
            chain.append((file, line, column))
    found: Location | None = None
    for file, line, column in reversed(chain):
        found = Location(file, line, column, found)
    return found


def _read(frame: str, tables: dict[str, dict[int, str]]) -> tuple[str, int, int, int]:
    """File (empty where it is not the user's), line, column, and the frame that called it."""
    fields = {name: int(value[:9]) for name, value in _FIELD.findall(frame)}
    place = tables.get("FileLocations", {}).get(fields.get("file_location_id", 0), "")
    at = {name: int(value[:9]) for name, value in _FIELD.findall(place)}
    file = tables.get("FileNames", {}).get(at.get("file_name_id", 0), "")
    caller = fields.get("parent_frame_id", 0) - 1  # it is counted from 1, with 1 for none
    return file if file and locations.is_user_file(file) else "", at.get("line", 0), at.get("column", 0), caller
