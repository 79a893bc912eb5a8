"""Reads .irtrace files, whoever wrote them: see docs/format.md.

The bytes are unpacked and checked at once; texts are joined from their lines when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from irwidget.errors import ToolError, UsageError
from irwidget.trace import chunks, decode, plain
from irwidget.trace.data import Diagnostic, Trace
from irwidget.trace.decode import Meter, damaged
from irwidget.trace.location import Location
from irwidget.trace.texts import Content

MOST = 2**31
"""Bytes of memory that a file may take at most, unless its reader is told another limit."""

_Ints = Any
_PLACE = 200
"""Bytes of memory that a location takes."""


@dataclass(frozen=True)
class File:
    """What a file holds."""

    traces: tuple[Trace, ...]
    complete: bool
    """Whether its writer came to the end of it."""


def read(path: str | Path, most: int = MOST) -> File:
    """The traces of a file.

    Raises UsageError when it is none, or damaged, or takes more than `most` bytes of memory.
    """
    path = Path(path)
    meter = Meter(most)
    try:
        if not path.is_file():
            raise UsageError(f"There is no file {path}" if not path.exists() else f"{path} is no file")
        meter.take(path.stat().st_size)
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        return unpacked(data, meter=meter)
    except UsageError as error:
        raise type(error)(f"{path}: {error}") from None


def glance(path: Path) -> tuple[list[tuple[str, str]], bool]:
    """Name and target of each lowering of a file, and whether it is complete, without its texts. Raises UsageError."""
    try:
        with open(path, "rb") as file:
            frames = chunks.outermost(file)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    if frames is None:
        raise UsageError(f"{path} ends before its first chunk: its writer was stopped at once")
    meter = Meter(MOST)
    first, last = (chunks.from_json(chunks.sections(one, meter).get("meta", b"{}"), meter) for one in frames)
    try:
        names = [(plain.typed(one["name"], str), plain.typed(one["target"], str)) for one in first["traces"]]
        return names, last.get("end", False) is True
    except (AttributeError, LookupError, TypeError) as error:
        raise damaged(f"its first or last chunk cannot be understood ({error})") from None


def _meta(sections: dict[str, bytes], meter: Meter) -> dict[str, Any]:
    return plain.typed(chunks.from_json(sections.get("meta", b"{}"), meter), dict)


def unpacked(data: bytes, *, meter: Meter | None = None) -> File:
    """The traces in the bytes of a file. Raises UsageError as `read` does."""
    chunks.check_head(data)
    reader = _Reader(meter or Meter(MOST))
    for number, frame in enumerate(chunks.frames(data)):
        if reader.ended:
            raise damaged("it goes on after its end")
        try:
            reader.take(chunks.sections(frame, reader.meter))
        except UsageError:
            raise
        except (AttributeError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise damaged(f"chunk {number} cannot be understood ({type(error).__name__}: {error})") from None
    return reader.file()


@dataclass
class _Entry:
    """A dump as the file has it: its lines in the table, or whose text it shares."""

    lines: _Ints
    end: bool
    changed: bool
    places: _Ints | None


class Stored:
    """The texts of a trace's dumps, as a file has them."""

    def __init__(self, table: Sequence[str], places: Sequence[Location | None], count: int) -> None:
        self._table = table
        self._places = places
        self.entries: list[_Entry | None] = [None] * count
        self.lost: dict[int, tuple[str, str]] = {}
        self._contents: dict[int, Content] = {}
        self._texts: dict[tuple[int, bool], str] = {}

    def ready(self, index: int) -> bool:
        """Whether the file has this text."""
        return self.entries[index] is not None

    def content(self, index: int) -> Content:
        """The text of dump `index`. Raises ToolError when the file has none, with what the file says of it."""
        entry = self.entries[index]
        if entry is None:
            message, tool = self.lost.get(index, ("The text of this dump is missing: its file ends before it", ""))
            raise ToolError(message, tool=tool)
        if index not in self._contents:
            places = () if entry.places is None else tuple(map(self._places.__getitem__, entry.places.tolist()))
            self._contents[index] = Content(self._text(entry), entry.changed, places)
        return self._contents[index]

    def text(self, index: int) -> str:
        """The text alone. Raises as `content`."""
        return self.content(index).text

    def arrived(self, index: int) -> str | None:
        """The text; None when the file has none."""
        return self.text(index) if self.ready(index) else None

    def _text(self, entry: _Entry) -> str:
        """Equal texts are one object, as they are in a lowering that was not stored."""
        key = id(entry.lines), entry.end
        if key not in self._texts:
            lines = map(self._table.__getitem__, entry.lines.tolist())
            self._texts[key] = "\n".join(lines) + ("\n" if entry.end else "")
        return self._texts[key]


@dataclass
class _Reader:
    """Takes up chunk by chunk."""

    meter: Meter
    ended: bool = False
    table: list[str] = field(default_factory=list[str])
    traces: list[Trace] = field(default_factory=list[Trace])
    stored: list[Stored] = field(default_factory=list[Stored])
    _lengths: list[_Ints] = field(default_factory=list[Any])
    _files: list[str] = field(default_factory=list[str])
    _names: list[str] = field(default_factory=list[str])
    _places: list[Location | None] = field(default_factory=lambda: [None])
    """The last one is None, which is what -1 finds."""
    _depths: list[int] = field(default_factory=list[int])
    _attachments: list[list[tuple[str, int, bytearray]]] = field(default_factory=list[Any])

    def take(self, sections: dict[str, bytes]) -> None:
        """Raises Damaged, and errors of Python's own where the descriptions make no sense."""
        meta = _meta(sections, self.meter)
        if not self.stored:
            self._begin(meta)
        known = len(self.table)
        shapes, shape_of, coded = (sections.get(name, b"") for name in ("shapes", "shape-of", "numbers"))
        lines = decode.lines(shapes, shape_of, coded, self.meter)
        self.table += lines
        self._lengths.append(np.fromiter(map(len, lines), np.int64, len(lines)))
        self._files += [plain.typed(one, str) for one in meta.get("files", ())]
        self._names += [plain.typed(one, str) for one in meta.get("names", ())]
        self._add_places(decode.columns(sections.get("places", b""), 5, self.meter))
        numbers = decode.sequence(sections.get("sequence", b""), known, len(self.table), self.meter)
        where = decode.unzigzag(decode.varints(sections.get("place-of", b""), self.meter))
        self._add_dumps(meta.get("dumps", ()), numbers, where)
        self._add_pieces(meta.get("pieces", ()), sections.get("attachments", b""))
        for trace, dump, why, tool in meta.get("lost", ()):
            stored = self._stored(trace)
            message = plain.typed(why, str), plain.typed(tool, str)
            stored.lost[plain.natural(dump, len(stored.entries))] = message
        self.ended = meta.get("end", False) is True

    def _begin(self, meta: dict[str, Any]) -> None:
        sources = [(plain.typed(file, str), plain.typed(text, str)) for file, text in plain.listed(meta, "sources")]
        for data in plain.listed(meta, "traces"):
            described = plain.listed(data, "dumps")
            stored = Stored(self.table, self._places, len(described))
            named = {plain.typed(name, str): plain.natural(size, 2**63) for name, size in data["attachments"]}
            self.traces.append(
                Trace(
                    **plain.frame_of(data),
                    dumps=tuple(plain.dump_of(one, stored, i) for i, one in enumerate(described)),
                    sources=dict(sources[plain.natural(i, len(sources))] for i in plain.listed(data, "sources")),
                )
            )
            self.stored.append(stored)
            self._attachments.append([(name, size, bytearray()) for name, size in named.items()])
        if not self.traces:
            raise damaged("it holds no lowering")

    def _stored(self, number: Any) -> Stored:
        return self.stored[plain.natural(number, len(self.stored))]

    def _add_places(self, rows: _Ints) -> None:
        self.meter.take(_PLACE * len(rows))
        places = self._places
        places.pop()
        for file, line, column, caller, name in rows.tolist():
            depth = self._depths[caller - 1] + 1 if caller else 0
            if depth > plain.MOST_CALLERS:
                raise damaged("a place has too many callers")
            called_from = places[caller - 1] if caller else None
            places.append(Location(self._files[file], line, column, called_from, self._names[name - 1] if name else ""))
            self._depths.append(depth)
        places.append(None)

    def _add_dumps(self, described: Sequence[Any], numbers: _Ints, where: _Ints) -> None:
        lengths = np.concatenate(self._lengths)
        line = place = 0
        for data in described:
            trace, index = data["at"]
            stored = self._stored(trace)
            if stored.entries[plain.natural(index, len(stored.entries))] is not None:
                raise damaged("a dump is there twice")
            count, located = plain.natural(data["lines"], 2**32), plain.natural(data["places"], 2**32)
            lines = numbers[line : line + count]
            if data["like"] is None:
                line += count
            else:
                like, other = data["like"]
                found = self._stored(like).entries[plain.natural(other, len(self._stored(like).entries))]
                lines = numbers[:0] if found is None else found.lines
            if not count or len(lines) != count:
                raise damaged("a dump has more or fewer lines than it says")
            self.meter.take(int(lengths[lines].sum()) + count)
            places = None
            if located:
                self.meter.take(16 * located)
                places = np.cumsum(where[place : place + located])
                place += located
                if len(places) != located or int(places.min()) < -1 or int(places.max()) >= len(self._places) - 1:
                    raise damaged("a line has a place that is not there")
            end, changed = plain.typed(data["end"], bool), plain.typed(data["changed"], bool)
            stored.entries[index] = _Entry(lines, end, changed, places)
        if line != len(numbers) or place != len(where):
            raise damaged("there are lines or places of no dump")

    def _add_pieces(self, pieces: Sequence[Any], data: bytes) -> None:
        at = 0
        for trace, number, size in pieces:
            attachments = self._attachments[plain.natural(trace, len(self._attachments))]
            _, whole, found = attachments[plain.natural(number, len(attachments))]
            found += data[at : at + plain.natural(size, len(data) - at + 1)]
            at += size
            if len(found) > whole:
                raise damaged("an attachment is longer than it says")

    def file(self) -> File:
        """What has been read so far."""
        if not self.traces:
            raise UsageError("The file ends before its first chunk: its writer was stopped at once")
        traces: list[Trace] = []
        for trace, stored, attachments in zip(self.traces, self.stored, self._attachments, strict=True):
            whole = {name: bytes(found) for name, size, found in attachments if len(found) == size}
            absent = [name for name, size, found in attachments if len(found) != size]
            said = list(trace.diagnostics)
            if not self.ended:
                missing = sum(not stored.ready(i) and i not in stored.lost for i in range(len(trace.dumps)))
                ends = "The file ends early: its writer was stopped"
                said.append(Diagnostic("warning", f"{ends}. {missing} of {len(trace.dumps)} texts are missing"))
            if absent:
                said.append(Diagnostic("warning", f"Attachments that the file does not have: {', '.join(absent)}"))
            traces.append(replace(trace, diagnostics=tuple(said), attachments=whole))
        return File(tuple(traces), self.ended)
