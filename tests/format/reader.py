"""A reader of .irtrace files, written from docs/format.md alone: no numpy, nothing of irwidget's."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any


def chunks(data: bytes) -> Iterator[dict[str, bytes]]:
    """The sections of each whole chunk by name."""
    assert data[:8] == b"\x89IRT\r\n\x1a\n"
    assert struct.unpack_from("<I", data, 8) == (3,)
    at = 12
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        if at + 4 + length > len(data):
            return
        yield sections(gzip.decompress(data[at + 4 : at + 4 + length]))
        at += 4 + length


def sections(body: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    while body:
        name, body = body[1 : 1 + body[0]].decode(), body[1 + body[0] :]
        (length,) = struct.unpack_from("<I", body)
        found[name], body = body[4 : 4 + length], body[4 + length :]
    return found


def varints(data: bytes) -> list[int]:
    values: list[int] = []
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def unzigzag(value: int) -> int:
    return -(value + 1) // 2 if value & 1 else value // 2


def lines(shapes: bytes, shape_of: bytes, numbers: bytes) -> list[str]:
    shape, text = varints(shape_of), shapes.split(b"\n")
    coded = iter(map(unzigzag, varints(numbers)))
    values: dict[int, Iterator[list[int]]] = {}
    for i in sorted(set(shape)):
        width = text[i].count(255)
        rows = [[next(coded) for _ in range(width)] for _ in range(shape.count(i))]
        values[i] = iter(list(accumulate(rows, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])))
    made: list[str] = []
    for i in shape:
        pieces = text[i].split(b"\xff")
        row = [str(value).encode() for value in next(values[i])] + [b""]
        line = b"".join(x for pair in zip(pieces, row, strict=True) for x in pair)
        made.append(line.decode("utf-8", "surrogatepass"))
    return made


def sequence(data: bytes, known: int) -> list[int]:
    after: dict[int, int] = {}
    found: list[int] = []
    before, fresh = -1, known
    for code in varints(data):
        number = after.get(before, before + 1) if code == 0 else fresh if code == 1 else before + unzigzag(code - 2)
        if before >= 0:
            after[before] = number
        fresh = max(fresh, number + 1)
        found.append(number)
        before = number
    return found


def places(data: bytes) -> list[tuple[int, ...]]:
    steps = list(map(unzigzag, varints(data)))
    height = len(steps) // 5
    columns = [accumulate(steps[k * height : (k + 1) * height]) for k in range(5)]
    return [tuple(value % 2**32 for value in row) for row in zip(*columns, strict=True)]


def read(data: bytes) -> dict[str, Any]:
    """The first chunk's description, in which every dump has `text` (None while it is missing), `changed` and `at`.

    `at` is a place for each line: None, or (file, line, column, the caller's place, name).
    """
    whole: dict[str, Any] = {"end": False, "lost": []}
    table: list[str] = []
    files: list[str] = []
    names: list[str] = []
    known: list[Any] = []
    for found in chunks(data):
        meta = json.loads(found["meta"].decode("utf-8", "surrogatepass"))
        if "traces" in meta:
            whole |= meta
            for trace in whole["traces"]:
                trace["bytes"] = [b""] * len(trace["attachments"])
                trace["dumps"] = [{**dump, "text": None, "lines": None} for dump in trace["dumps"]]
        before = len(table)
        if "shape-of" in found:
            table += lines(found.get("shapes", b""), found["shape-of"], found.get("numbers", b""))
        files += meta.get("files", [])
        names += meta.get("names", [])
        for file, line, column, caller, name in places(found.get("places", b"")):
            called_from = known[caller - 1] if caller else None
            known.append((files[file], line, column, called_from, names[name - 1] if name else ""))
        numbers = iter(sequence(found.get("sequence", b""), before))
        where = map(unzigzag, varints(found.get("place-of", b"")))
        for one in meta.get("dumps", []):
            trace, index = one["at"]
            dump = whole["traces"][trace]["dumps"][index]
            if one["like"]:
                dump["lines"] = whole["traces"][one["like"][0]]["dumps"][one["like"][1]]["lines"]
            else:
                dump["lines"] = [table[number] for number in islice(numbers, one["lines"])]
            dump["text"] = "\n".join(dump["lines"]) + ("\n" if one["end"] else "")
            dump["changed"] = one["changed"]
            dump["at"] = [known[i] if i >= 0 else None for i in accumulate(islice(where, one["places"]))]
        assert next(numbers, None) is None
        assert next(where, None) is None
        rest = found.get("attachments", b"")
        for trace, attachment, length in meta.get("pieces", []):
            whole["traces"][trace]["bytes"][attachment] += rest[:length]
            rest = rest[length:]
        whole["lost"] += meta.get("lost", [])
        whole["end"] = meta.get("end", False)
    return whole
