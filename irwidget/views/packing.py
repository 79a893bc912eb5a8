"""Traces as blocks of bytes for the browser.

A table holds every distinct line once, and each dump is a list of numbers into it, so that the browser gets
transport, comparison on integers and search through all dumps from the same thing. The bytes are

    u32                     version of this format
    u32, bytes              length, then a chunk, gzipped; any number of chunks, each with some of the dumps

so that what the reader looks at first can be painted while the rest is on its way: bytes that come later begin with
those sent before. A chunk is a list of sections, each a u32 length and its bytes:

    JSON                    traces and sources (in the first chunk); dumps and places that this chunk adds; dumps that
                            will never come
    shapes, lines, numbers  the lines that it adds to the table, see codec.py
    dumps                   line numbers of its dumps, one after the other
    places                  for each dump with locations: place numbers, -1 for none
    attachments             the bytes of files that the lowering left
"""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from irwidget.errors import IRWidgetError
from irwidget.trace import Content, Diagnostic, Dump, Failure, Location, Trace, predecessors
from irwidget.views import codec

VERSION = 2

CHUNK = 8_000_000
"""Letters of dumps after which a chunk ends, so that the browser never reads for long without a pause."""
ATTACHED = 4_000_000
"""Bytes of attachments that go to the browser at most, in all; what is larger is only named there."""

Place = tuple[int, int]
"""A trace and one of its dumps."""


def pack(traces: Sequence[Trace]) -> bytes:
    """Pack the dumps that are ready; the others are named, and said to be lost."""
    packer = Packer(traces)
    while packer.add():
        pass
    packer.give_up()
    return packer.data


class Packer:
    """Packs traces bit by bit; what has been packed stays as it is."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.traces = traces
        self._chunks: list[bytes] = []
        self._waiting: dict[Place, Dump] = {
            (i, j): dump for i, trace in enumerate(traces) for j, dump in enumerate(trace.dumps)
        }
        self._ids: defaultdict[str, int] = _counter()
        self._place_ids: defaultdict[Location, int] = _counter()
        self._same: dict[str, Place] = {}
        self._files: dict[str, int] = {}

    @property
    def data(self) -> bytes:
        """All chunks so far."""
        return struct.pack("<I", VERSION) + b"".join(_sections(self._chunks))

    @property
    def complete(self) -> bool:
        return not self._waiting

    def add(self, wanted: Iterable[Place] | None = None) -> bool:
        """Add a chunk with the dumps that are wanted, or as many as a chunk takes; False when none is ready."""
        asked = self._waiting if wanted is None else [place for place in wanted if place in self._waiting]
        chosen: dict[Place, Content] = {}
        size = 0
        for place in asked:
            if self._waiting[place].ready:
                chosen[place] = self._waiting[place].content
                size += len(chosen[place].text)
            if wanted is None and size > CHUNK:
                break
        if not chosen and self._chunks:
            return False
        self._append(chosen)
        return bool(chosen)

    def give_up(self, *, at_once: bool = False) -> None:
        """Say of the dumps that are not there that they will never come: who should print them is gone.

        A result that is known without its locations is given as it is, unless what cannot be packed is given up
        `at_once`.
        """
        if self._waiting:
            known = {
                place: Content(text)
                for place, dump in self._waiting.items()
                if not at_once and (text := dump.arrived) is not None
            }
            self._append(known, [place for place in self._waiting if place not in known])

    def _append(self, chosen: Mapping[Place, Content], lost: Sequence[Place] = ()) -> None:
        """Add a chunk, whole or not at all: lines that were numbered for one that is never sent would be missing."""
        numbered: Sequence[dict[Any, Any]] = (self._ids, self._place_ids, self._same)
        before = [len(one) for one in numbered]
        try:
            self._chunks.append(self._chunk(chosen, lost))
        except BaseException:
            for one, length in zip(numbered, before, strict=True):
                while len(one) > length:
                    one.popitem()
            raise
        for place in (*chosen, *lost):
            del self._waiting[place]

    def _chunk(self, chosen: Mapping[Place, Content], lost: Sequence[Place] = ()) -> bytes:
        meta: dict[str, Any] = {"lost": lost} if lost else {}
        attached: list[bytes] = []
        if not self._chunks:
            meta |= self._start(attached)
        known, known_places = len(self._ids), len(self._place_ids)
        numbers: list[Any] = []
        places: list[Any] = []
        meta["dumps"] = [self._dump(place, content, numbers, places) for place, content in chosen.items()]
        meta["places"] = [
            [self._files[place.file], place.line, place.column] for place in list(self._place_ids)[known_places:]
        ]
        sections = [
            json.dumps(meta, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace"),
            *codec.lines(list(self._ids)[known:]),
            codec.sequence(np.concatenate(numbers) if numbers else np.zeros(0), known),
            b"".join(codec.varints(codec.zigzag(np.diff(values, prepend=0))) for values in places),
            b"".join(attached),
        ]
        return gzip.compress(b"".join(_sections(sections)), compresslevel=6, mtime=0)

    def _start(self, attached: list[bytes]) -> dict[str, Any]:
        sources: list[dict[str, str]] = []
        for trace in self.traces:
            for file, text in trace.sources.items():
                if file not in self._files:
                    self._files[file] = len(sources)
                    sources.append({"file": file, "text": text})
        room = ATTACHED
        described: list[dict[str, Any]] = []
        for trace in self.traces:
            files: list[dict[str, Any]] = []
            for name, data in trace.attachments.items():
                sent = len(data) <= room
                if sent:
                    attached.append(data)
                    room -= len(data)
                files.append({"name": name, "bytes": len(data), "sent": sent})
            described.append(_described(trace) | {"attachments": files})
        return {"traces": described, "sources": sources}

    def _dump(self, place: Place, content: Content, numbers: list[Any], places: list[Any]) -> dict[str, Any]:
        """What a chunk says of a dump; its numbers are appended, unless another dump has the same text."""
        like = self._same.setdefault(content.text, place)
        lines = lines_of(content.text)
        if like == place:
            ids = self._ids
            numbers.append(np.fromiter((ids[line] for line in lines), np.int64, len(lines)))
        placed = any(one is not None and one.file in self._files for one in content.locations)
        if placed:
            known = [
                -1 if one is None or one.file not in self._files else self._place_ids[one]
                for one in content.locations[: len(lines)]
            ]
            places.append(np.asarray(known + [-1] * (len(lines) - len(known)), dtype=np.int64))
        return {"at": place, "lines": len(lines), "like": None if like == place else like, "places": placed}


def _described(trace: Trace) -> dict[str, Any]:
    """What is known of a trace without the text of its dumps."""
    before = predecessors(trace.dumps)
    checked = {} if trace.check is None else trace.check.by_dump
    return {
        "name": trace.name,
        "target": trace.target,
        "facts": facts_of(trace),
        "failure": failure_of(trace),
        "diagnostics": [str(diagnostic) for diagnostic in trace.diagnostics],
        "stages": [
            {
                "name": dump.name, "step": step_name(trace, dump), "language": dump.language, "options": dump.options,
                "seconds": round(dump.seconds, 7), "scope": str(dump.scope), "before": before[i],
                "check": checked.get(i, ""),
            }
            for i, dump in enumerate(trace.dumps)
        ],
    }  # fmt: skip


def _sections(parts: Iterable[bytes]) -> list[bytes]:
    return [part for data in parts for part in (struct.pack("<I", len(data)), data)]


def text_of(dump: Dump) -> str | None:
    """The text of a dump, waited for; None when it will never come, because the compiler that had it is gone."""
    try:
        return dump.text
    except IRWidgetError:
        return None


def lines_of(text: str) -> list[str]:
    """The lines of a dump; only newlines count, as in the tools that print dumps."""
    return text.removesuffix("\n").split("\n")


def facts_of(trace: Trace) -> list[tuple[str, str]]:
    """Facts as short labels and values, the verdict of a check first; nested ones are joined into one value."""
    check = [("check", trace.check.brief)] if trace.check else []
    return [*check, *((str(name), _value(value)) for name, value in trace.facts.items())]


def _value(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case None:
            return "none"
        case Mapping():
            return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items() if inner not in (None, ""))
        case list() | tuple():
            between = "; " if any(isinstance(inner, Mapping) for inner in value) else ", "
            return between.join(_value(inner) for inner in value)
        case _:
            return str(value)


def _counter() -> defaultdict[Any, int]:
    """A dictionary that numbers its keys in the order in which they are first asked for."""
    ids: defaultdict[Any, int] = defaultdict()
    ids.default_factory = ids.__len__
    return ids


def step_name(trace: Trace, made: Dump | Failure) -> str:
    """The step that a dump or a failure is of; empty for the input."""
    return str(trace.step_of(made) or "")


def failure_of(trace: Trace) -> dict[str, Any] | None:
    """A failure as the browser gets it."""
    failure = trace.failure
    if failure is None:
        return None
    said: Callable[[Diagnostic], str] = str
    return {
        "step": step_name(trace, failure),
        "pass": failure.pass_name,
        "message": failure.message,
        "diagnostics": [said(diagnostic) for diagnostic in failure.diagnostics],
        "reproducer": failure.reproducer,
    }


_RENUMBERED = re.compile(
    r"%[\w$.-]+(?:[:#]\d+)?|\^\w+|#(?:(?:map|set|loc)\d*|\d+)\b|!\d+|\$L__BB\d+_\d+|^\d+(?=:)", re.ASCII
)


def blank(line: str) -> str:
    """The line without the names that a pass may renumber; `blank` in js/src/ir.ts does the same."""
    return _RENUMBERED.sub(lambda name: "" if name[0][0].isdigit() else name[0][0], line)


def repeated(names: Sequence[str]) -> list[str]:
    """Number the names that occur more than once: canonicalize, canonicalize (2)."""
    seen: defaultdict[str, int] = defaultdict(int)
    labels: list[str] = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return labels


def last_change(trace: Trace) -> int:
    """The last stage whose text differs from the one before of its scope; the last stage when none does."""
    last = len(trace.dumps) - 1
    return next(_changes(trace, range(last, -1, -1)), last)


def _changes(trace: Trace, among: Iterable[int]) -> Iterator[int]:
    """Those stages whose text is here and differs from the one before of their scope."""
    texts = [dump.arrived for dump in trace.dumps]
    before = predecessors(trace.dumps)
    for i in among:
        old, new = texts[before[i]] if before[i] >= 0 else None, texts[i]
        if old is not None and new is not None and old != new:
            yield i


def has_graphs(traces: Sequence[Trace]) -> bool:
    """Whether a lowering has left graphs that the page can draw."""
    return any(name.endswith(".dot") for trace in traces for name in trace.attachments)


def opening(trace: Trace) -> tuple[int, int]:
    """The two stages that a view opens with: the last change, or the only stage twice.

    A Helion kernel's last change only names its values: it opens with the first that a pass made of its MLIR.
    """
    before = predecessors(trace.dumps)
    language = [dump.language for dump in trace.dumps]
    passes = [i for i, old in enumerate(before) if trace.nodes and language[old] == language[i] == "mlir"]
    right = next(_changes(trace, passes), None)
    right = last_change(trace) if right is None else right
    return max(before[right], 0), right
