"""Traces as an .irtrace file, written chunk by chunk: see `chunks` for the container, docs/format.md for all of it.

A table holds every distinct line once, and each dump is a list of numbers into it, so that the browser gets transport,
comparison on integers and search through all dumps from the same thing. What is known is written at once and the texts
as they arrive: bytes that come later begin with those written before.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from irwidget import output
from irwidget.errors import IRWidgetError, ToolError, UsageError
from irwidget.garbage import uncollected
from irwidget.trace import chunks, codec, plain
from irwidget.trace.data import Dump, Trace
from irwidget.trace.location import Location
from irwidget.trace.texts import Content, lines_of

SUFFIX = ".irtrace"

CHUNK = 4_000_000
"""Letters of dumps, or bytes of attachments, after which a chunk ends, so that no reader works for long at once."""

Place = tuple[int, int]
"""A trace and one of its dumps."""

_U32 = 2**32 - 1


class Extra(Protocol):
    """What somebody else wants to find in the chunks; who reads a file for its traces passes over it."""

    def begin(self, traces: Sequence[Trace]) -> chunks.Pieces:
        """The JSON of the first chunk's `view`: what is known without texts."""
        ...

    def sections(self, shapes: bytes) -> Mapping[str, bytes]:
        """Sections by name for a chunk that adds lines of these shapes to the table; see `codec.lines`."""
        ...


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()


def packed(traces: Sequence[Trace]) -> bytes:
    """All of these traces as the bytes of a file; waits for texts that are still on their way."""
    writer = Writer(traces)
    for i, trace in enumerate(traces):
        for j in range(len(trace.dumps)):
            writer.wait((i, j))
    while writer.add():
        pass
    writer.finish()
    return writer.data


def write(traces: Sequence[Trace], path: str | Path) -> Path:
    """Write a file, which is there whole or not at all. Raises UsageError when it cannot be written."""
    path = Path(path)
    data = packed(traces)
    try:
        output.whole(path, data)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise UsageError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    return path


class Writer:
    """Packs traces bit by bit; what has been packed stays as it is.

    `attached` limits how many bytes of attachments are packed in all: what is larger is only named. `heard` gets each
    piece of the file as it is made, its head first.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        *,
        extra: Extra | None = None,
        attached: int | None = None,
        heard: Callable[[bytes], None] | None = None,
    ) -> None:
        self.traces = traces
        self.heard = heard
        self._extra = extra
        self._parts: list[bytes] = [chunks.HEAD]
        self._ended = False
        with uncollected():
            self._waiting: dict[Place, Dump] = {
                (i, j): dump for i, trace in enumerate(traces) for j, dump in enumerate(trace.dumps)
            }
        self._why: dict[Place, IRWidgetError] = {}
        self._same: dict[bytes, Place] = {}
        """By what stands for a text: the texts themselves would all stay in memory."""
        self._ids: defaultdict[str, int] = _counter()
        self._files: defaultdict[str, int] = _counter()
        self._names: defaultdict[str, int] = _counter()
        self._places: defaultdict[tuple[int, ...], int] = _counter()
        self._attachments = deque(_pieces(traces, attached))

    @property
    def data(self) -> bytes:
        """All of the file so far."""
        return b"".join(self._parts)

    @property
    def complete(self) -> bool:
        """Whether every dump is there, or said to be lost."""
        return not self._waiting

    def wait(self, place: Place) -> bool:
        """Wait for the text of a dump; False, and noted with the reason, when it will never come."""
        try:
            _ = self.traces[place[0]].dumps[place[1]].content
        except IRWidgetError as error:
            self._why[place] = error
        return place not in self._why

    def add(self, wanted: Iterable[Place] | None = None) -> bool:
        """Add a chunk with the dumps that are wanted, or as many as a chunk takes; False when none is ready."""
        asked = self._waiting if wanted is None else [at for at in dict.fromkeys(wanted) if at in self._waiting]
        return self._put(self._ready(asked, CHUNK if wanted is None else None))

    def _ready(self, asked: Iterable[Place], most: int | None) -> Iterator[tuple[Place, Content]]:
        """Those of these dumps that are here, one by one; with `most`, no more once they have as many letters."""
        size = 0
        for place in asked:
            if self._waiting[place].ready and self.wait(place):
                content = self._waiting[place].content
                yield place, content
                size += len(content.text)
                if most is not None and size > most:
                    break

    def finish(self, *, at_once: bool = False) -> None:
        """Say of the dumps that are not there that they will never come, and why; then the file is whole.

        A result that is known without its locations is given as it is, unless what cannot be packed is given up
        `at_once`.
        """
        if self._ended:
            return
        known: dict[Place, Content] = {}
        for place, dump in self._waiting.items():
            if not at_once and (text := _arrived(dump)) is not None:
                known[place] = Content(text)
        lost = [[*place, *_reason(self._why.get(place))] for place in self._waiting if place not in known]
        self._put(known.items())
        while self._attachments and not at_once:
            self._put((), empty=True)
        self._waiting.clear()
        self._append({"meta": chunks.to_json({"lost": lost, "end": True})})
        self._ended = True

    def _append(self, sections: Mapping[str, bytes | chunks.Pieces]) -> None:
        self._parts.append(chunks.pack(sections))
        if self.heard:
            self.heard(self._parts[-1])

    def _put(self, dumps: Iterable[tuple[Place, Content]], *, empty: bool = False) -> bool:
        """Add a chunk with these dumps, and with attachments where there is room; whether it has dumps.

        It is added whole or not at all: lines that were numbered for one that is never written would be missing. One
        without dumps is only added when it is the first, or where it may be `empty`.
        """
        rest = iter(dumps)
        first = list(islice(rest, 1))
        if not (first or empty) and len(self._parts) > 1:
            return False
        tables: Sequence[dict[Any, Any]] = (self._ids, self._files, self._names, self._places, self._same)
        lengths, attachments = [len(table) for table in tables], self._attachments.copy()
        try:
            chosen, sections = self._chunk(chain(first, rest))
            self._append(sections)
        except BaseException:
            self._attachments = attachments
            for table, length in zip(tables, lengths, strict=True):
                while len(table) > length:
                    table.popitem()
            raise
        for place in chosen:
            del self._waiting[place]
        return bool(chosen)

    def _chunk(self, dumps: Iterable[tuple[Place, Content]]) -> tuple[list[Place], dict[str, bytes | chunks.Pieces]]:
        """Which dumps a chunk has, and its sections. No two texts are in memory at once, but for their lines."""
        meta: dict[str, Any] = {}
        head: dict[str, chunks.Pieces] = {}
        if len(self._parts) == 1:
            with uncollected():
                head = _beginning(self.traces, self._extra)
            if self.heard:
                self.heard(chunks.HEAD)
        known, files, names, places = map(len, (self._ids, self._files, self._names, self._places))
        numbers: list[Any] = []
        where: list[bytes] = []
        chosen: list[Place] = []
        described: list[dict[str, Any]] = []
        room = CHUNK
        for place, content in dumps:
            chosen.append(place)
            described.append(self._dump(place, content, numbers, where))
            room -= len(content.text)
        meta["dumps"] = described
        meta["files"] = list(islice(self._files, files, None))
        meta["names"] = list(islice(self._names, names, None))
        meta["pieces"], attached = self._attached(room)
        lines = list(islice(self._ids, known, None))
        shapes, shape_of, coded = codec.lines(lines)
        del lines
        sequence = np.concatenate(numbers) if numbers else np.zeros(0, np.int32)
        numbers.clear()
        return chosen, {
            "meta": chunks.object_of(head | {name: [chunks.to_json(value)] for name, value in meta.items()}),
            "shapes": shapes, "shape-of": shape_of, "numbers": coded,
            "sequence": codec.sequence(sequence, known),
            "places": codec.columns(list(islice(self._places, places, None)), 5),
            "place-of": b"".join(where),
            "attachments": b"".join(attached),
            **(self._extra.sections(shapes) if self._extra else {}),
        }  # fmt: skip

    def _attached(self, room: int) -> tuple[list[tuple[int, int, int]], list[bytes]]:
        """The next pieces of attachments that fit: trace, attachment and length of each, and their bytes."""
        pieces: list[tuple[int, int, int]] = []
        found: list[bytes] = []
        while self._attachments and len(self._attachments[0][1]) <= room:
            place, data = self._attachments.popleft()
            pieces.append((*place, len(data)))
            found.append(data)
            room -= len(data)
        return pieces, found

    def _dump(self, place: Place, content: Content, numbers: list[Any], where: list[bytes]) -> dict[str, Any]:
        """What a chunk says of a dump; its numbers are appended, unless another dump has the same text."""
        like = self._same.setdefault(_digest(content.text), place)
        lines = lines_of(content.text)
        if like == place:
            ids = self._ids
            numbers.append(np.fromiter((ids[line] for line in lines), np.int32, len(lines)))
        if content.locations:
            where.append(codec.varints(codec.zigzag(np.diff(self._numbered(content.locations), prepend=0))))
        return {
            "at": place,
            "lines": len(lines),
            "end": content.text.endswith("\n"),
            "like": None if like == place else like,
            "changed": content.changed,
            "places": len(content.locations),
        }

    def _numbered(self, locations: Sequence[Location | None]) -> Any:
        """The numbers of these places in the table of all, -1 for none."""
        known: dict[int, int] = {id(None): -1}  # Most lines share the very objects; these live while we look.
        found: list[int] = []
        for one in locations:
            number = known.get(id(one))
            if number is None:
                assert one
                number = known[id(one)] = self._place(one)
            found.append(number)
        return np.asarray(found, dtype=np.int64)

    def _place(self, location: Location) -> int:
        caller = 0 if location.caller is None else self._place(location.caller) + 1
        line, column = (min(max(number, 0), _U32) for number in (location.line, location.column))
        name = self._names[location.name] + 1 if location.name else 0
        return self._places[self._files[location.file], line, column, caller, name]


def _beginning(traces: Sequence[Trace], extra: Extra | None) -> dict[str, chunks.Pieces]:
    """What the first chunk says, as JSON by name: all that is known without texts."""
    sources: defaultdict[tuple[str, str], int] = _counter()
    dumps_to_json = plain.DumpsToJson()
    described = (
        chunks.object_of(
            {
                **{name: [chunks.to_json(value)] for name, value in plain.frame_to_json(trace).items()},
                "dumps": dumps_to_json(trace.dumps),
                "sources": [chunks.to_json([sources[one] for one in trace.sources.items()])],
                "attachments": [chunks.to_json([[name, len(data)] for name, data in trace.attachments.items()])],
            }
        )
        for trace in traces
    )
    found: dict[str, chunks.Pieces] = {"traces": chunks.array_of(described), "sources": [chunks.to_json(list(sources))]}
    return found if extra is None else {**found, "view": extra.begin(traces)}


def _pieces(traces: Sequence[Trace], most: int | None) -> Iterable[tuple[Place, bytes]]:
    """The attachments, those cut up that are larger than a chunk; with `most`, those that fit into it, in order."""
    left = most
    for i, trace in enumerate(traces):
        for j, data in enumerate(trace.attachments.values()):
            if left is not None and len(data) > left:
                continue
            left = None if left is None else left - len(data)
            for at in range(0, len(data), CHUNK):
                yield (i, j), data[at : at + CHUNK]


def _reason(error: IRWidgetError | None) -> tuple[str, str]:
    """Why a dump never came, and which tool had it."""
    if error is None:
        return "The text of this dump is missing: it could not be printed or kept", ""
    return str(error) or type(error).__name__, error.tool if isinstance(error, ToolError) else ""


def _arrived(dump: Dump) -> str | None:
    """The text, if it is here."""
    try:
        return dump.arrived
    except IRWidgetError:
        return None


def _counter() -> defaultdict[Any, int]:
    """A dictionary that numbers its keys in the order in which they are first asked for."""
    ids: defaultdict[Any, int] = defaultdict()
    ids.default_factory = ids.__len__
    return ids
