"""The bytes of a log, at rest: a file, or what was read from a stream. Nothing here knows what they mean."""

from __future__ import annotations

import bisect
import contextlib
import os
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from irwidget.errors import ToolError, UsageError
from irwidget.readers import inflating

MOST = 2**31
"""Bytes that a compressed log may unpack to, unless its reader is told another limit."""
_SUSPECT = 2**26
"""Bytes from which on what is packed better than any log is refused."""
_SIGN = 16
"""Bytes by which what is packed is known."""
WINDOW = 1 << 18
"""Bytes that are read at once."""
_SMALL = 1 << 14
_BLOCK = 1 << 14
_HEAD = 1 << 18


class Log:
    """Bytes that can be read anywhere, and may grow. They are read from the disk each time: nothing is mapped."""

    def __init__(self, file: IO[bytes], name: str, path: Path | None = None) -> None:
        self._file = file
        self.name = name
        """What messages call it."""
        self.path = path
        """Where it is; None for what was given as text or as a stream."""
        self.size = os.fstat(file.fileno()).st_size
        self.damage = ""
        """Why this is not all that was written, where that is known."""
        self._last = 0, b""
        """The window that was read last, and where: what it has is looked at more than once."""
        self._lines = [0]
        """The line breaks before each block of `_BLOCK` bytes, as far as anybody has asked."""

    def refresh(self) -> bool:
        """Look how long it is now; whether it has grown. Raises ToolError when it has become shorter."""
        before, self.size = self.size, os.fstat(self._file.fileno()).st_size
        if self.size < before:
            raise ToolError(f"{self.name} has become shorter since it was opened: open it again", tool="")
        return self.size > before

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` up to `stop`. Raises ToolError when the file has been cut since it was opened."""
        at, window = self._last
        if at <= start and stop <= at + len(window):
            return window[start - at : stop - at]
        parts: list[bytes] = []
        try:
            while start < stop:
                part = os.pread(self._file.fileno(), min(stop - start, 1 << 30), start)
                if not part:
                    raise ToolError(f"{self.name} has become shorter since it was opened: open it again", tool="")
                parts.append(part)
                start += len(part)
        except OSError as error:
            raise ToolError(f"{self.name} cannot be read any more: {error.strerror or error}", tool="") from None
        return b"".join(parts)

    def rewound(self) -> IO[bytes]:
        """The file, at its beginning, for a program to read."""
        self._file.seek(0)
        return self._file

    @property
    def head(self) -> bytes:
        """Its first bytes, a quarter of a MB at most: enough to tell most formats."""
        return self.read(0, min(self.size, _HEAD))

    def windows(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
        """All of it in pieces that end with a line, as far as lines are shorter than a piece: (where, bytes)."""
        end = self.size if stop is None else stop
        while start < end:
            data = self.read(start, min(start + WINDOW, end))
            if start + len(data) < end and (last := data.rfind(b"\n")) >= 0:
                data = data[: last + 1]
            if len(data) > _SMALL:
                self._last = start, data
            yield start, data
            start += len(data)

    def line(self, at: int) -> int:
        """The number of the line that byte `at` is on, from 1."""
        block = at // _BLOCK
        while len(self._lines) <= block:
            begin = (len(self._lines) - 1) * _BLOCK
            self._lines.append(self._lines[-1] + self.read(begin, begin + _BLOCK).count(b"\n"))
        return 1 + self._lines[block] + self.read(block * _BLOCK, at).count(b"\n")

    def place(self, at: int) -> tuple[str, int]:
        """The file that byte `at` is in, or what messages call it, and the line there, from 1."""
        return str(self.path or self.name), self.line(at)

    def has(self, what: bytes) -> bool:
        """Whether these bytes occur anywhere on a line."""
        return any(what in data for _, data in self.windows())


class Copy(Log):
    """A log made of another's lines, which it has in another form, or in another order."""

    def __init__(self, log: Log, file: IO[bytes], numbers: Sequence[int] = ()) -> None:
        """`numbers` are those of the lines in the original, where they are not the same."""
        super().__init__(file, log.name, log.path)
        self.damage = log.damage
        self._numbers = numbers
        self._original = log if isinstance(log, Copy) else None

    def line(self, at: int) -> int:
        """The number of the line that byte `at` is on, from 1, in the original."""
        return self._original_of(super().line(at))

    def _original_of(self, number: int) -> int:
        if self._numbers and number <= len(self._numbers):
            number = self._numbers[number - 1]
        return number if self._original is None else self._original._original_of(number)


class Joined(Log):
    """The files of a folder as one log, end to end."""

    def __init__(self, paths: Sequence[Path], name: str, folder: Path) -> None:
        self.name, self.path, self.damage = name, folder, ""
        self._last, self._lines = (0, b""), [0]
        self.spans: list[tuple[int, int]] = []
        """Where each file begins and ends."""
        self._paths = list(paths)
        self._starts: list[int] = []
        self.size = 0
        for path in paths:
            size = path.stat().st_size
            self._starts.append(self.size)
            self.spans.append((self.size, self.size + size))
            self.size += size

    def refresh(self) -> bool:
        """Folders are read once: False."""
        return False

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` up to `stop`. Raises ToolError when a file has been cut since it was opened."""
        parts: list[bytes] = []
        at = max(bisect.bisect_right(self._starts, start) - 1, 0)
        while start < stop:
            begin, end = self.spans[at]
            if start < end:
                parts.append(self._part(self._paths[at], start - begin, min(stop, end) - begin))
                start = min(stop, end)
            at += 1
        return b"".join(parts)

    def place(self, at: int) -> tuple[str, int]:
        """The file that byte `at` is in, and the line there, from 1."""
        number = max(bisect.bisect_right(self._starts, at) - 1, 0)
        begin = self._starts[number]
        return str(self._paths[number]), 1 + self.read(begin, at).count(b"\n")

    def _part(self, path: Path, start: int, stop: int) -> bytes:
        try:
            with open(path, "rb") as file:
                file.seek(start)
                data = file.read(stop - start)
        except OSError as error:
            raise ToolError(f"{path} cannot be read any more: {error.strerror or error}", tool="") from None
        if len(data) != stop - start:
            raise ToolError(f"{path} has become shorter since it was opened: open it again", tool="")
        return data


def of_bytes(data: bytes, name: str, most: int = MOST) -> Log:
    """A log of what is given. Raises UsageError for a bomb."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the log
    file.write(data)
    file.flush()
    return _unpacked(Log(file, name), most)


def of_file(path: Path, most: int = MOST) -> Log:
    """A log that is a file. Raises UsageError when it cannot be read, and for a bomb."""
    try:
        file = open(path, "rb")  # noqa: SIM115  # it stays open as long as the log
        return _unpacked(Log(file, str(path), path), most)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def of_stream(stream: Any, name: str, most: int = MOST) -> Log:
    """A log of all that a stream gives, text or bytes. Raises UsageError when it gives something else."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the log
    while part := stream.read(1 << 20):
        if not isinstance(part, str | bytes):
            raise UsageError(f"{name} gives {type(part).__name__}, neither text nor bytes")
        file.write(part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part)
    file.flush()
    return _unpacked(Log(file, name), most)


def _unpacked(log: Log, most: int) -> Log:
    """The log itself, or what it is packed of."""
    packer = inflating.packer(log.read(0, min(log.size, _SIGN)))
    if packer is None:
        return log
    file = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the log
    made, damage = 0, ""
    try:
        for part in packer.pieces(log):
            file.write(part)
            made += len(part)
            if made > most or (made > _SUSPECT and made > packer.best * log.size):
                raise UsageError(
                    f"{log.name} unpacks to more than {made / 2**20:.0f} MB from {log.size / 2**20:.2g} MB: more than "
                    "a log may (most= is the limit, in bytes), or nothing that a compiler wrote. Unpack it yourself"
                )
    except inflating.Damaged as error:  # what came before is still a log
        damage = f"{log.name} is damaged after {made} bytes of what it is packed of, and shown up to there: {error}"
    file.flush()
    unpacked = Log(file, log.name)
    unpacked.path, unpacked.damage = log.path, damage
    return unpacked


def decoded(data: bytes) -> str:
    """Bytes as text; what is not UTF-8 stays what it is, in Python's way, and lines end with a newline alone."""
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return data.decode("utf-8", "surrogateescape")


@contextlib.contextmanager
def naming(path: Path) -> Generator[None]:
    """Errors of the system as ours, with the file's name."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def trimmed(data: bytes, stop: int) -> int:
    """The end without blank lines."""
    while stop > 0 and data[stop - 1 : stop] in b"\r\n \t":
        stop -= 1
    return data.find(b"\n", stop) + 1 or stop
