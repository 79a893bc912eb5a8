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

from irwidget.readers import enveloped, returned
from irwidget.readers.log import WINDOW, Copy, Log

_BANNER = re.compile(
    rb"^(?P<before>[^\n]{0,200}?)(?:// -----// |(?:[;#] ?)?\*\*\* )IR (?:Dump|Pass|Deleted) "
    rb"[^\n]{0,1000}?(?://-----|\*\*\*)",
    re.M,
)
_NEEDLE = b" IR Dump "
_COLOUR = re.compile(rb"\x1b\[[\d;:?]*[A-Za-z]")
_VARYING = re.compile(rb"( *\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,})\b|(?: +(?=\d))?\d+)")
"""A number, with the blanks that it may be filled up with, or one in hexadecimal."""
_JOINED = re.compile(rb"[.:]|.*[A-Za-z_]\.[A-Za-z]\w*:", re.S)
"""What stands before a number that is a part of another, or a line of a file."""
_SIGNS = tuple(bytes((one,)) for one in b" \t:|>]})\x07")
"""What a prefix ends with."""
_LONGEST = 200
"""Letters of a prefix at most."""
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
    log = returned.without(enveloped.without(log))
    sample = _sample(log)
    bare = _COLOUR.sub(b"", sample)
    prefix, coloured = _prefix(bare), bare != sample or (not sample and _is_coloured(log.head))
    if prefix is None and not coloured:
        return log
    return _Bare(log, prefix or re.compile(b""), coloured, _source(bare, prefix) if prefix else None)


def without_common(log: Log) -> Log:
    """The log without what all of its lines begin with but for numbers; itself where that is nothing.

    It is for logs that nobody knows as they are, of other compilers than MLIR's and LLVM's.
    """
    sample = log.read(0, min(log.size, _SAMPLE))
    sample = sample[: sample.rfind(b"\n") + 1]
    lines = [line for line in sample.splitlines() if line.strip()]
    common = _common(lines) if len(lines) > 1 else b""
    if not common:
        return log
    prefix = re.compile(_pattern(common))
    return _Bare(log, prefix, False, _source(sample, prefix))


def _pattern(before: bytes) -> bytes:
    return _general(before) or _blanks(before)


def _common(lines: Sequence[bytes]) -> bytes:
    """What these lines begin with but for numbers, up to a sign: a word that all begin with may be their own."""
    before = b""
    for i, words in enumerate(zip(*(_VARYING.split(line[:_LONGEST]) for line in lines), strict=False)):
        same = words[0] if i % 2 else _shared(min(words), max(words))
        before += same
        if not i % 2 and any(word != same for word in words):
            break
    found = [*map(re.compile(_pattern(before)).match, lines)]
    rest = [line[one.end() :] for one, line in zip(found, lines, strict=True) if one]
    while any(rest) and all(one[:1] in b" " for one in rest):  # blanks before a number are counted to it
        before += b" "
        rest = [one[1:] for one in rest]
    return before[: max(before.rfind(sign) for sign in _SIGNS) + 1]


def _shared(one: bytes, other: bytes) -> bytes:
    """What both begin with."""
    return one[: next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))]


def _blanks(before: bytes) -> bytes:
    """A regular expression for blanks, which may be missing at the end of a line; empty for none."""
    return b"%b|[ \t]*(?=\r?$)" % re.escape(before) if before else b""


def _is_coloured(head: bytes) -> bool:
    """Whether these are the first bytes of a text with colours."""
    return b"\0" not in head and _COLOUR.search(head) is not None


def _sample(log: Log) -> bytes:
    """The first banner and what follows it, and the end of the log, in whole lines; empty where no banner is."""
    for at, data in log.windows(0, min(log.size, _FAR)):
        if (hit := data.find(_NEEDLE)) >= 0:
            start = at + data.rfind(b"\n", 0, hit) + 1
            found = log.read(start, min(log.size, start + _SAMPLE))
            if len(found) < _SAMPLE:
                return found
            last = log.read(max(log.size - _SAMPLE, start + _SAMPLE), log.size)
            return found[: found.rfind(b"\n") + 1] + last[last.find(b"\n") + 1 :]
    return b""


class _Bare(Copy):
    """A copy of a log without what stands before its lines."""

    def __init__(self, log: Log, prefix: re.Pattern[bytes], coloured: bool, source: int | None) -> None:
        lines = _matched(log, prefix, coloured)
        file, numbers = _copied(lines) if source is None else _apart(lines, source)
        super().__init__(log, file, numbers)


def _prefix(sample: bytes) -> re.Pattern[bytes] | None:
    """What most lines begin with, where banners do; numbers in it may be others."""
    lines = sample.splitlines()
    before = [match["before"] for line in lines if b" IR " in line and (match := _BANNER.match(line))]
    found = Counter(map(_general, before))
    if not found:
        return None
    (general, count), *_ = found.most_common(1)
    rare = count < _MOST * found.total()
    known = [form for form, times in found.most_common(_WORDS) if rare or form == general or (form and times > 1)]
    if b"" in known:
        return _indented({*before}, lines)
    if len(known) > 1:
        general = b"(?:%b)" % b"|".join(form.replace(b"(\\d", b"(?:\\d") for form in known)
    prefix = re.compile(general)
    return prefix if sum(map(bool, map(prefix.match, lines))) >= _MOST * len(lines) else None


def _indented(blanks: set[bytes], lines: Sequence[bytes]) -> re.Pattern[bytes] | None:
    """The blanks before all lines, where these are as many as before banners: IR has them before most of its own."""
    indent = blanks.pop()
    if blanks or not indent or not all(line.startswith(indent) for line in lines if line.strip()):
        return None
    return re.compile(_blanks(indent))


def _general(before: bytes) -> bytes:
    """A regular expression for what stands before a banner, with any number for each number; one group for each.

    Empty for blanks alone. Where a line has nothing else, blanks at its end may be missing.
    """
    bare = before.rstrip()
    found = _VARYING.split(bare)
    parts = [
        _varied(part, apart=i == 1 or not _JOINED.fullmatch(found[i - 1])) if i % 2 else re.escape(part)
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
    return Copy(log, file)
