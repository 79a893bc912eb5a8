"""What compressed logs are packed of, in pieces: gzip, xz, bzip2 and zstd."""

from __future__ import annotations

import bz2
import importlib
import lzma
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol

from irwidget.errors import UsageError

_AT_ONCE = 1 << 22
_WINDOW = 1 << 18
_MEMORY = 1 << 28
"""Bytes that xz may take; `xz -9` needs a quarter."""
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_BZIP2 = tuple(b"BZh%d1AY&SY" % level for level in range(1, 10))


class Damaged(Exception):
    """What is packed ends early, or is not what it says it is; what came before is good."""


class Packed(Protocol):
    """A log that is compressed."""

    name: str
    size: int

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` up to `stop`."""
        ...

    def rewound(self) -> IO[bytes]:
        """The file, at its beginning."""
        ...


@dataclass(frozen=True, slots=True)
class Packer:
    """A way of packing."""

    signs: tuple[bytes, ...]
    """With which of these all that is packed so begins."""
    best: int
    """How many times smaller it makes a log at best: bombs are packed better."""
    pieces: Callable[[Packed], Iterator[bytes]]


def packer(head: bytes) -> Packer | None:
    """How a file is packed that begins so; None for one that is not."""
    return next((one for one in _PACKERS if head.startswith(one.signs)), None)


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class _Gzip:
    """zlib's, with the same methods as the others."""

    def __init__(self) -> None:
        self._packed = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._packed.eof

    @property
    def unused_data(self) -> bytes:
        return self._packed.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._packed.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        return self._packed.decompress(self._packed.unconsumed_tail + data, max_length)


def _members(log: Packed, sign: bytes, make: Callable[[], _Inflater]) -> Iterator[bytes]:
    """Member by member. Raises Damaged where one is damaged or ends early."""
    packed, fresh = make(), True
    for start in range(0, log.size, _WINDOW):
        data = log.read(start, min(start + _WINDOW, log.size))
        while data or not (fresh or packed.needs_input):
            if fresh and not data.startswith(sign[: len(data)]):
                return  # what fills up the last block, say
            fresh = False
            try:
                yield packed.decompress(data, _AT_ONCE)
            except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError) as error:
                raise Damaged(str(error)) from None
            data = b""
            if packed.eof:  # another member may follow
                data, packed, fresh = packed.unused_data, make(), True
    if not fresh:
        raise Damaged("it ends early")


def _zstd(log: Packed) -> Iterator[bytes]:
    """By Python's own library, from 3.14 on, or by the program. Raises UsageError where neither is there."""
    try:
        library: Any = importlib.import_module("compression.zstd")
    except ImportError:
        pass
    else:
        yield from _members(log, _ZSTD, library.ZstdDecompressor)
        return
    program = shutil.which("zstd")
    if program is None:
        raise UsageError(f"{log.name} is packed by zstd, and there is no program zstd here: unpack it first")
    with subprocess.Popen(
        [program, "-dcq"], stdin=log.rewound(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:  # fmt: skip
        assert running.stdout
        assert running.stderr
        try:
            while part := running.stdout.read(_AT_ONCE):
                yield part
            said = running.stderr.read().decode(errors="replace").strip().rpartition(": ")[2]
            if running.wait():
                raise Damaged(said or "it ends early")
        finally:
            running.kill()


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY)


_PACKERS = (
    Packer((_GZIP,), 500, lambda log: _members(log, _GZIP, _Gzip)),
    Packer((_XZ,), 3000, lambda log: _members(log, _XZ, _xz)),
    Packer(_BZIP2, 3000, lambda log: _members(log, b"BZh", bz2.BZ2Decompressor)),
    Packer((_ZSTD,), 3000, _zstd),
)  # fmt: skip
