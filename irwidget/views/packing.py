"""Traces as one block of bytes for the browser.

A table holds every distinct line once, and each dump is a list of numbers into it, so that the browser gets
transport, comparison on integers and search through all dumps from the same thing. After gunzip:

    u32                     version of this format
    u32, bytes              length, then JSON: traces, stages, sources, places
    u32, bytes              length, then the table: distinct lines joined by newlines, UTF-8
    i32[lines]              for each stage with a text of its own: line numbers
    i32[lines]              for each stage with locations: place numbers, -1 for none; follows the stage's lines

Integers are little endian, and each is stored as the difference from the one before: new lines get consecutive
numbers, so most differences are 1 and gzip makes nothing of them.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from irwidget.dumps import Content, Diagnostic, Dump, Failure, Location, Trace

VERSION = 1


def pack(traces: Sequence[Trace]) -> bytes:
    """Pack the dumps that are ready; the others are named, and have no lines yet."""
    packer = _Packer()
    meta = {"traces": [packer.trace(trace) for trace in traces], "sources": packer.sources, "places": packer.places}
    parts = [struct.pack("<I", VERSION)]
    for text in (json.dumps(meta, ensure_ascii=False, separators=(",", ":")), "\n".join(packer.table)):
        # A lone surrogate is what invalid UTF-8 became: show its escape rather than fail.
        encoded = text.encode("utf-8", "backslashreplace")
        parts += [struct.pack("<I", len(encoded)), encoded]
    return gzip.compress(b"".join(parts + packer.numbers), compresslevel=6, mtime=0)


def lines_of(text: str) -> list[str]:
    """The lines of a dump; only newlines count, as in the tools that print dumps."""
    return text.removesuffix("\n").split("\n")


def facts_of(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts as short labels and values; nested ones are joined into one value."""
    return [(str(name), _value(value)) for name, value in facts.items()]


def _value(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case Mapping():
            return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items())
        case list() | tuple():
            return ", ".join(_value(inner) for inner in value)
        case _:
            return str(value)


@dataclass
class _Packer:
    ids: defaultdict[str, int] = field(default_factory=lambda: _counter())
    place_ids: defaultdict[Location, int] = field(default_factory=lambda: _counter())
    sources: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    files: dict[str, int] = field(default_factory=dict[str, int])
    numbers: list[bytes] = field(default_factory=list[bytes])

    @property
    def table(self) -> list[str]:
        return list(self.ids)

    @property
    def places(self) -> list[list[int]]:
        return [[self.files[place.file], place.line, place.column] for place in self.place_ids]

    def trace(self, trace: Trace) -> dict[str, Any]:
        for file, text in trace.sources.items():
            if file not in self.files:
                self.files[file] = len(self.sources)
                self.sources.append({"file": file, "text": text})
        return {
            "name": trace.name,
            "target": trace.target,
            "facts": facts_of(trace.facts),
            "failure": failure_of(trace.failure),
            "diagnostics": [str(diagnostic) for diagnostic in trace.diagnostics],
            "stages": list(self._stages(trace.dumps)),
        }

    def _stages(self, dumps: Sequence[Dump]) -> Iterator[dict[str, Any]]:
        before: Content | None = None
        for dump in dumps:
            ready = dump.ready
            content = dump.load() if ready else None
            same = content is not None and before is not None and content.text == before.text
            lines = [] if content is None or same else lines_of(content.text)
            if not same:
                self._numbers([self.ids[line] for line in lines])
            places = content is not None and self._places(content)
            yield {
                "name": dump.name, "step": dump.step, "language": dump.language, "options": dump.options,
                "seconds": round(dump.seconds, 7), "scope": dump.scope, "ready": ready,
                "lines": -1 if same else len(lines), "places": places,
            }  # fmt: skip
            before = content

    def _places(self, content: Content) -> bool:
        """Append the places of a dump, one a line; False when it has none in a source that we have."""
        if not any(place is not None and place.file in self.files for place in content.locations):
            return False
        count = len(lines_of(content.text))
        places = [
            -1 if place is None or place.file not in self.files else self.place_ids[place]
            for place in content.locations[:count]
        ]
        self._numbers(places + [-1] * (count - len(places)))
        return True

    def _numbers(self, values: Sequence[int]) -> None:
        self.numbers.append(np.diff(np.asarray(values, dtype="<i4"), prepend=np.int32(0)).astype("<i4").tobytes())


def _counter() -> defaultdict[Any, int]:
    """A dictionary that numbers its keys in the order in which they are first asked for."""
    ids: defaultdict[Any, int] = defaultdict()
    ids.default_factory = ids.__len__
    return ids


def failure_of(failure: Failure | None) -> dict[str, Any] | None:
    """A failure as the browser gets it."""
    if failure is None:
        return None
    said: Callable[[Diagnostic], str] = str
    return {
        "step": failure.step,
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
    """The last stage whose text differs from that of the stage before; the last stage when none does."""
    texts = [dump.text if dump.ready else None for dump in trace.dumps]
    for i, (before, after) in reversed(list(enumerate(pairwise(texts), start=1))):
        if before is not None and after is not None and before != after:
            return i
    return len(texts) - 1
