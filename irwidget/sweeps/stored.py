"""The trace that a cell of a sweep keeps: the bytes of an .irtrace file, or what sweeps had before there was one."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from irwidget.errors import ToolError, UsageError
from irwidget.trace import Computed, Content, Dump, Location, Scope, Trace, chunks, plain, reading

VERSION = 2
"""Of the format that no version writes any more: gzipped JSON without attachments, nodes and names of locations."""


_ANCHOR = re.compile(r"any|builtin\.module|[a-z]\w*(?:\.[a-z]\w*)+")
"""An operation that a pass of MLIR runs on."""


def read(data: bytes) -> Trace:
    """The trace of a cell. Raises UsageError when the bytes are of neither format, or damaged."""
    if chunks.starts(data):
        return reading.unpacked(data).traces[0]
    try:
        found: dict[str, Any] = json.loads(gzip.decompress(data))
        if found["version"] != VERSION:
            raise UsageError(f"These dumps have format {found['version']}, this irwidget reads {VERSION}: sweep again")
        return _trace(found)
    except (AttributeError, EOFError, LookupError, OSError, TypeError, ValueError) as error:
        raise UsageError(f"The dumps of this cell are damaged ({error}): sweep again") from None


def _trace(found: Mapping[str, Any]) -> Trace:
    places = [_located(place) for place in found["places"]]
    names = [step["name"] or step["tool"] for step in found["steps"]]
    dumps: list[Dump] = []
    text = ""
    for entry in found["dumps"]:
        text = text if entry["text"] is None else entry["text"]
        where = tuple(None if number < 0 else places[number] for number in entry["places"])
        make = partial(_content, Content(text, entry["changed"], where), entry["lost"])
        step = _position(entry["step"], names)
        scope = asdict(_scope(entry["scope"], entry["language"]))
        dumps.append(plain.dump_of({**entry, "step": step, "scope": scope}, Computed(make), 0))
    failure = found["failure"] and {**found["failure"], "step": _position(found["failure"]["step"], names)}
    check = found["check"] and plain.verdict_of(_paired(found["check"]))
    frame: dict[str, Any] = plain.frame_of({**found, "failure": failure, "nodes": [], "facts": {}, "check": None})
    frame.update(facts=found["facts"], check=check or None)
    return Trace(**frame, dumps=tuple(dumps), sources=found["sources"])


def _content(content: Content, lost: str) -> Content:
    if lost:
        raise ToolError(lost, tool="worker")
    return content


def _position(name: str, names: Sequence[str]) -> int:
    """The step of this name, the first of several; -1 for the input."""
    return names.index(name) if name in names else -1


def _scope(text: str, language: str) -> Scope:
    """What a scope said when it was a text: `module`, `func.func`, `f`, `kernel: f`, `%loop in function f`."""
    if text == "module" or (language == "mlir" and _ANCHOR.fullmatch(text)):
        return Scope(anchor="" if text == "module" else text)
    kernel, colon, inner = text.rpartition(": ")
    loop, inside, function = inner.rpartition(" in function ")
    return Scope(kernel if colon else "", function, loop if inside else "")


def _located(place: Mapping[str, Any]) -> Location:
    caller = place["caller"] and _located(place["caller"])
    return Location(place["file"], place["line"], place["column"], caller or None)


def _paired(check: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict whose complex numbers were pairs."""
    element = check["element"] and {
        name: plain.exact(complex(*value)) if name in ("got", "want") and isinstance(value, list) else value
        for name, value in check["element"].items()
    }
    return {**check, "element": element, "each": [_paired(one) for one in check["each"]]}
