"""The container of an .irtrace file: a head, then chunks of named sections; docs/format.md says it byte for byte.

    8 bytes                 MAGIC
    u32                     VERSION
    u32, bytes              length, then a chunk, gzipped; any number of chunks

What comes later only adds: a file that is cut off can be read up to its last whole chunk. A chunk, unzipped, is

    u8, bytes, u32, bytes   length and letters of a section's name, length of its bytes, its bytes; any number

and who reads it passes over the names that it does not know.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from irwidget.errors import UsageError
from irwidget.trace.decode import Meter, damaged

MAGIC = b"\x89IRT\r\n\x1a\n"
"""As PNG's: shows what a transfer as text, or to seven bits, did to it."""
VERSION = 3
HEAD = MAGIC + struct.pack("<I", VERSION)
_LARGE = 16_000_000
"""Bytes of a chunk from which on it is packed fast rather than small: only the heads of very many dumps are as long."""
_GZIP = 31
"""What zlib calls a gzip file, without a time."""
_PIECES = 1000
"""So many are packed at once."""


Pieces = Sequence[bytes]
"""Bytes that follow each other; what is the same of many is in memory once."""


def pack(sections: Mapping[str, bytes | Pieces]) -> bytes:
    """A chunk with its length; sections without bytes are left out."""
    parts: list[bytes] = []
    for name, data in sections.items():
        pieces = (data,) if isinstance(data, bytes) else data
        if length := sum(map(len, pieces)):
            parts += [struct.pack("<B", len(name)), name.encode("ascii"), struct.pack("<I", length), *pieces]
    packed = zlib.compressobj(6 if sum(map(len, parts)) < _LARGE else 1, wbits=_GZIP)
    body = b"".join([*(packed.compress(b"".join(some)) for some in _batched(parts, _PIECES)), packed.flush()])
    return struct.pack("<I", len(body)) + body


def _batched(parts: Sequence[bytes], count: int) -> Iterator[Sequence[bytes]]:
    return (parts[at : at + count] for at in range(0, len(parts), count))


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_json(data: Any) -> bytes:
    """JSON in few bytes; a lone surrogate is the three bytes that UTF-8 would have for it."""
    return _JSON.encode(data).encode("utf-8", "surrogatepass")


def object_of(members: Mapping[str, Pieces]) -> list[bytes]:
    """A JSON object of members that are JSON already, so that those of a large log are not all in memory before."""
    return _joined(b"{", ([to_json(name), b":", *value] for name, value in members.items()), b"}")


def array_of(items: Iterable[Pieces]) -> list[bytes]:
    """A JSON array of items that are JSON already."""
    return _joined(b"[", items, b"]")


def _joined(opens: bytes, items: Iterable[Pieces], closes: bytes) -> list[bytes]:
    found = [opens]
    for pieces in items:
        found += pieces
        found.append(b",")
    if len(found) > 1:
        found.pop()
    return [*found, closes]


def from_json(data: bytes, meter: Meter) -> Any:
    """What `to_json` wrote. Raises Damaged."""
    meter.take(40 * len(data))
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise damaged("a description is no JSON") from None


def starts(data: bytes) -> bool:
    """Whether these bytes are of this format, whatever the version."""
    return data[: len(MAGIC)] == MAGIC


def check_head(data: bytes) -> None:
    """Raises UsageError unless these bytes begin a file that this version reads."""
    if not starts(data):
        raise UsageError("It is no .irtrace file, which low.save('x.irtrace') writes; IR is lowered with to='raw_ir'")
    if len(data) < len(HEAD):
        raise UsageError("The file ends before it says anything: its writer was stopped at once")
    (version,) = struct.unpack_from("<I", data, len(MAGIC))
    if version > VERSION:
        raise UsageError(
            f"The file has format {version}, and this irwidget reads up to {VERSION}: a newer irwidget wrote it, "
            "and reads it (pip install --upgrade irwidget)"
        )
    if version < VERSION:
        raise damaged(f"there never was a format {version}")


def frames(data: bytes) -> Iterator[memoryview]:
    """The chunks of a file that has been checked, as they were packed; one that is cut off is not given."""
    view = memoryview(data)
    at = len(HEAD)
    while at + 4 <= len(view):
        (length,) = struct.unpack_from("<I", view, at)
        at += 4
        if at + length > len(view):
            return
        yield view[at : at + length]
        at += length


def outermost(file: BinaryIO) -> tuple[memoryview, memoryview] | None:
    """The first and the last whole chunk of a file, of which nothing else is read but lengths; None when it has none.

    Raises UsageError as `check_head` does.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    check_head(file.read(len(HEAD)))
    first: memoryview | None = None
    last = at = len(HEAD)
    while at + 4 <= size:
        file.seek(at)
        (length,) = struct.unpack("<I", file.read(4))
        if at + 4 + length > size:
            break
        first = memoryview(file.read(length)) if first is None else first
        last, at = at, at + 4 + length
    if first is None:
        return None
    file.seek(last)
    (length,) = struct.unpack("<I", file.read(4))
    return first, memoryview(file.read(length))


def sections(frame: memoryview, meter: Meter) -> dict[str, bytes]:
    """The sections of a chunk by name. Raises Damaged, and UsageError for more than the file may take."""
    body = _unzipped(frame, meter)
    found: dict[str, bytes] = {}
    at = 0
    while at < len(body):
        length = body[at]
        name = body[at + 1 : at + 1 + length].decode("ascii", "replace")
        at += 1 + length
        if at + 4 > len(body):
            raise damaged("a section is cut off")
        (size,) = struct.unpack_from("<I", body, at)
        at += 4
        if at + size > len(body) or name in found:
            raise damaged(f"the section {name!r} is cut off, or there twice")
        found[name] = body[at : at + size]
        at += size
    return found


def _unzipped(frame: memoryview, meter: Meter) -> bytes:
    """gzip says at its end how long its text is: it is made only when there is room for it, and only as long."""
    if len(frame) < 18:
        raise damaged("a chunk is too short")
    (size,) = struct.unpack_from("<I", frame, len(frame) - 4)
    meter.take(2 * size)
    inflate = zlib.decompressobj(wbits=_GZIP)
    try:
        body = inflate.decompress(frame, size + 1)
    except zlib.error as error:
        raise damaged(f"a chunk cannot be unzipped ({error})") from None
    if len(body) != size or not inflate.eof or inflate.unused_data:
        raise damaged("a chunk is not as long as it says")
    return body
