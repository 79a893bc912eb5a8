"""A trace as bytes and back, for the file of a sweep: exact, and with each unchanged text once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from irwidget.errors import IRWidgetError, ToolError, UsageError
from irwidget.trace import Computed, Content, Diagnostic, Dump, Failure, Location, Scope, Step, Trace, verdicts

VERSION = 3


def write(trace: Trace) -> bytes:
    """Every dump with its locations, the diagnostics, the failure, the sources; waits for texts still on their way."""
    places: dict[Location, int] = {}
    dumps: list[dict[str, Any]] = []
    before = None
    for dump in trace.dumps:
        content, why = _content(dump)
        numbers = [-1 if place is None else places.setdefault(place, len(places)) for place in content.locations]
        dumps.append({
            "name": dump.name, "step": dump.step, "language": dump.language, "options": dump.options,
            "seconds": dump.seconds, "scope": asdict(dump.scope), "pipeline": dump.pipeline, "changed": content.changed,
            "text": None if content.text == before else content.text, "places": numbers, "lost": why,
        })  # fmt: skip
        before = content.text
    data = {
        "version": VERSION, "target": trace.target, "name": trace.name, "tools": dict(trace.tools),
        "sources": dict(trace.sources), "steps": [asdict(step) for step in trace.steps],
        "diagnostics": [asdict(diagnostic) for diagnostic in trace.diagnostics],
        "failure": asdict(trace.failure) if trace.failure else None,
        "facts": json.loads(json.dumps(dict(trace.facts), default=str)),
        "check": verdicts.to_json(trace.check) if trace.check else None,
        "places": [asdict(place) for place in places], "dumps": dumps,
    }  # fmt: skip
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), compresslevel=6, mtime=0)


def _content(dump: Dump) -> tuple[Content, str]:
    """What a dump holds; or, where its text cannot be had, nothing, and why."""
    try:
        return dump.content, ""
    except IRWidgetError as error:
        return Content(""), str(error) or type(error).__name__


def read(data: bytes) -> Trace:
    """What `write` wrote. Raises UsageError when an irwidget with another format did."""
    found: dict[str, Any] = json.loads(gzip.decompress(data))
    if found["version"] != VERSION:
        raise UsageError(f"These dumps have format {found['version']}, this irwidget reads {VERSION}: sweep again")
    places = [_location(place) for place in found["places"]]
    dumps: list[Dump] = []
    text = ""
    for entry in found["dumps"]:
        text = text if entry["text"] is None else entry["text"]
        where = tuple(None if number < 0 else places[number] for number in entry["places"])
        content = Content(text, entry["changed"], where)
        dumps.append(_dump(entry, content))
    return Trace(
        found["target"],
        tuple(dumps),
        tuple(Step(**step) for step in found["steps"]),
        tuple(map(_diagnostic, found["diagnostics"])),
        found["tools"],
        _failure(found["failure"]),
        found["name"],
        found["sources"],
        facts=found["facts"],
        check=verdicts.from_json(found["check"]) if found["check"] else None,
    )


def _dump(entry: Mapping[str, Any], content: Content) -> Dump:
    def make() -> Content:
        if entry["lost"]:
            raise ToolError(entry["lost"], tool="worker")
        return content

    return Dump(
        entry["name"],
        entry["step"],
        entry["language"],
        Computed(make),
        0,
        entry["options"],
        entry["seconds"],
        Scope(**entry["scope"]),
        entry["pipeline"],
    )


def _location(entry: Mapping[str, Any] | None) -> Location:
    assert entry
    caller = _location(entry["caller"]) if entry["caller"] else None
    return Location(entry["file"], entry["line"], entry["column"], caller)


def _diagnostic(entry: Mapping[str, Any]) -> Diagnostic:
    location = _location(entry["location"]) if entry["location"] else None
    return Diagnostic(entry["severity"], entry["message"], location, tuple(map(_diagnostic, entry["notes"])))


def _failure(entry: Mapping[str, Any] | None) -> Failure | None:
    if entry is None:
        return None
    rest: dict[str, Any] = {**entry, "diagnostics": tuple(map(_diagnostic, entry["diagnostics"]))}
    return Failure(**rest)
