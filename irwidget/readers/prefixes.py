"""What stands before each line of a log that another program passed on: a time, a process, a quotation mark; colours.

CI, `docker compose`, `torchrun`, `mpirun`, pytest and mail clients write such logs of what a compiler prints, and some
shells in UTF-16. Nothing here knows more of IR than how a banner begins.
"""

from __future__ import annotations

import codecs
import itertools
import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO

from irwidget.readers.log import WINDOW, Log

_BANNER = re.compile(
    rb"^(?P<before>[^\n]{0,200}?)(?:// -----// |(?:[;#] ?)?\*\*\* )IR (?:Dump|Pass|Deleted) "
    rb"[^\n]{0,1000}?(?://-----|\*\*\*)",
    re.M,
)
_NEEDLE = b" IR Dump "
_COLOUR = re.compile(rb"\x1b\[[\d;:?]*[A-Za-z]")
_VARYING = re.compile(rb"( *\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,})\b|(?: +(?=\d))?\d+)")
"""A number, with the blanks that it may be filled up with, or one in hexadecimal."""
_WORDS = 8
"""Spellings of a prefix at most, with `INFO` and `DEBUG`, `AM` and `PM`, `Jan` and `Feb`."""
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_MOST = 0.8
"""Of the lines from the first banner on, how many begin with the same, so that it is not a part of them."""
_SOURCES = 64
"""Processes that are told apart by a number at most."""
_SAMPLE = 1 << 18
"""Bytes from the first banner on by which all is told."""
_FAR = 1 << 26
"""Bytes in which the first banner is looked for."""
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def without(log: Log) -> Log:
    """The log without what stands before each of its lines, colours and wide characters; itself where there is none.

    Lines of several processes that are told apart by a number, and come in turn, follow each other process by process;
    `line` says where in the original each is.
    """
    if log.head.startswith(_WIDE):
        log = _narrow(log, "utf-16")
    elif log.head.startswith(codecs.BOM_UTF8):
        log = _narrow(log, "utf-8-sig")
    sample = _sample(log)
    bare = _COLOUR.sub(b"", sample)
    prefix, coloured = _prefix(bare), bare != sample
    if prefix is None and not coloured:
        return log
    return _Bare(log, prefix or re.compile(b""), coloured, _source(bare, prefix) if prefix else None)


def _sample(log: Log) -> bytes:
    """The first banner and what follows it, in whole lines; empty where none is."""
    for at, data in log.windows(0, min(log.size, _FAR)):
        if (hit := data.find(_NEEDLE)) >= 0:
            start = at + data.rfind(b"\n", 0, hit) + 1
            found = log.read(start, min(log.size, start + _SAMPLE))
            return found if len(found) < _SAMPLE else found[: found.rfind(b"\n") + 1]
    return b""


class _Bare(Log):
    """A copy of a log without what stands before its lines."""

    def __init__(self, log: Log, prefix: re.Pattern[bytes], coloured: bool, source: int | None) -> None:
        lines = _matched(log, prefix, coloured)
        file, self._numbers = _copied(lines) if source is None else _apart(lines, source)
        super().__init__(file, log.name, log.path)
        self.damage = log.damage

    def line(self, at: int) -> int:
        """The number of the line that byte `at` is on, from 1, in the original."""
        number = super().line(at)
        return self._numbers[number - 1] if self._numbers and number <= len(self._numbers) else number


def _prefix(sample: bytes) -> re.Pattern[bytes] | None:
    """What most lines begin with, where banners do; numbers in it may be others."""
    found = Counter(_general(match["before"]) for match in _BANNER.finditer(sample))
    if not found:
        return None
    (general, count), *_ = found.most_common(1)
    if count < _MOST * found.total():
        known = [form for form, _ in found.most_common(_WORDS)]
        general = b"" if b"" in known else b"(?:%b)" % b"|".join(form.replace(b"(\\d", b"(?:\\d") for form in known)
    if not general:
        return None
    prefix = re.compile(general)
    lines = sample.splitlines()
    return prefix if sum(map(bool, map(prefix.match, lines))) >= _MOST * len(lines) else None


def _general(before: bytes) -> bytes:
    """A regular expression for what stands before a banner, with any number for each number; one group for each.

    Empty for blanks alone. Where a line has nothing else, blanks at its end may be missing.
    """
    bare = before.rstrip()
    found = _VARYING.split(bare)
    parts = [
        _varied(part, apart=i == 1 or found[i - 1] not in (b".", b":")) if i % 2 else re.escape(part)
        for i, part in enumerate(found)
    ]
    return b"%b(?:%b|[ \t]*(?=\r?$))" % (b"".join(parts), re.escape(before[len(bare) :])) if bare else b""


def _varied(number: bytes, *, apart: bool) -> bytes:
    """A regular expression for any number in the place of this one; a group, unless it is a part of the one before."""
    digits = number.lstrip(b" ")
    blanks = b" *" if len(digits) < len(number) else b""
    if not digits.isdigit():
        return blanks + rb"(?:0x)?[0-9a-f]{1,40}"
    return blanks + (rb"(\d{1,40})" if apart else rb"\d{1,40}")


def _source(sample: bytes, prefix: re.Pattern[bytes]) -> int | None:
    """Which number in the prefix tells processes apart whose lines come in turn: one that often goes back, of few."""
    rows = [match.groups() for match in map(prefix.match, sample.splitlines()) if match]
    for group, values in enumerate(zip(*rows, strict=True)):
        numbers = [int(value) for value in values]
        back = sum(a > b for a, b in itertools.pairwise(numbers))
        if len(set(numbers)) <= min(_SOURCES, back):
            return group
    return None


def _matched(log: Log, prefix: re.Pattern[bytes], coloured: bool) -> Iterator[tuple[bytes, re.Match[bytes] | None]]:
    for _, data in log.windows():
        for line in _LINE.findall(_COLOUR.sub(b"", data) if coloured else data):
            yield line, prefix.match(line)


def _copied(lines: Iterator[tuple[bytes, re.Match[bytes] | None]]) -> tuple[IO[bytes], Sequence[int]]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the log
    for line, match in lines:
        file.write(line[match.end() :] if match else line)
    file.flush()
    return file, ()


def _apart(lines: Iterator[tuple[bytes, re.Match[bytes] | None]], source: int) -> tuple[IO[bytes], Sequence[int]]:
    """Line by line to a file for each process, which are then joined, with the numbers that the lines had."""
    files: dict[bytes, tuple[IO[bytes], array[int]]] = {}
    last, number = b"", 1
    for line, match in lines:
        last = match.groups()[source] if match else last
        if last not in files:
            files[last] = tempfile.TemporaryFile(), array("Q")  # noqa: SIM115  # as long as the log
        file, numbers = files[last]
        file.write(line[match.end() :] if match else line)
        if line.endswith(b"\n"):
            numbers.append(number)
            number += 1
    joined, order = tempfile.TemporaryFile(), array("Q")  # noqa: SIM115  # as long as the log
    for _, (file, numbers) in sorted(files.items()):
        file.seek(0)
        while part := file.read(WINDOW):
            joined.write(part)
        file.close()
        order.extend(numbers)
    joined.flush()
    return joined, order


def _narrow(log: Log, encoding: str) -> Log:
    """A log that begins with a mark of its encoding as UTF-8 without."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the log
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for start in range(0, log.size, WINDOW):
        part = decoder.decode(log.read(start, min(start + WINDOW, log.size)))
        file.write(part.encode("utf-8", "surrogatepass"))
    file.flush()
    made = Log(file, log.name, log.path)
    made.damage = log.damage
    return made
