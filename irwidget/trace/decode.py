"""Reads what `codec` writes, from whoever wrote it: nothing is taken on trust.

Every function takes a `Meter`, which counts the memory that a file asks for before it is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irwidget.errors import UsageError

_Ints = np.ndarray[Any, np.dtype[Any]]

_NUMBER = 255
_LARGEST = 10**9
"""Numbers of more digits are text."""
_LINE = 64
"""Bytes of memory that a line takes besides its letters."""


class Damaged(UsageError):
    """The bytes are not what a writer of this format makes."""


class Meter:
    """How much memory a file may still take."""

    def __init__(self, most: int) -> None:
        self.most = self._left = most

    def take(self, count: int) -> None:
        """Pay for `count` bytes. Raises UsageError when that is more than the file may take."""
        self._left -= count
        if self._left < 0:
            raise UsageError(
                f"The file takes more than {self.most / 2**30:.3g} GiB of memory, which is what it may: it is damaged, "
                "or not to be trusted. irwidget.load(path, most=BYTES) sets another limit"
            )


def damaged(what: str) -> Damaged:
    """The error for bytes that no writer made."""
    return Damaged(f"The file is damaged: {what}. Save the lowering again, or take another copy")


def varints(data: bytes, meter: Meter) -> _Ints:
    """Unsigned numbers below 2**32, as int64. Raises Damaged."""
    found = np.frombuffer(data, dtype=np.uint8)
    if not len(found):
        return np.zeros(0, dtype=np.int64)
    count = int(np.count_nonzero(found < 128))
    meter.take(48 * count)
    ends = np.flatnonzero(found < 128)
    if found[-1] > 127:
        raise damaged("a number does not end")
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > 5:
        raise damaged("a number has too many bytes")
    values = np.zeros(count, dtype=np.int64)
    for k in range(longest):
        there = slice(None) if k == 0 else lengths > k
        values[there] |= (found[starts[there] + k].astype(np.int64) & 127) << (7 * k)
    if longest == 5 and int(values.max()) >= 2**32:
        raise damaged("a number is too large")
    return values


def unzigzag(values: _Ints) -> _Ints:
    """0, 1, 2, 3 stand for 0, -1, 1, -2."""
    return (values >> 1) ^ -(values & 1)


def lines(shapes: bytes, shape_of: bytes, numbers: bytes, meter: Meter) -> list[str]:
    """The lines of a chunk, in order. Raises Damaged."""
    which = varints(shape_of, meter)
    coded = unzigzag(varints(numbers, meter))
    if not len(which):
        if shapes or len(coded):
            raise damaged("there are shapes without lines")
        return []
    meter.take(_LINE * shapes.count(b"\n"))
    texts = shapes.split(b"\n")
    if int(which.max()) >= len(texts):
        raise damaged("a line has a shape that is not there")
    uses = np.bincount(which, minlength=len(texts))
    widths = np.fromiter((text.count(_NUMBER) for text in texts), np.int64, len(texts))
    if int((uses * widths).sum()) != len(coded):
        raise damaged("its lines have more or fewer numbers than there are")
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    meter.take(int((uses * (sizes + 10 * widths + _LINE)).sum()))
    made: list[str] = []
    at = 0
    for text, count, width in zip(texts, uses.tolist(), widths.tolist(), strict=True):
        made += _of_shape(text, coded[at : at + count * width].reshape(count, width))
        at += count * width
    found = [""] * len(which)
    for place, line in zip(np.argsort(which, kind="stable").tolist(), made, strict=True):
        found[place] = line
    return found


def _of_shape(shape: bytes, coded: _Ints) -> list[str]:
    """The lines of one shape: a row of numbers each, as differences from the row before."""
    count, width = coded.shape
    try:
        text = shape.replace(b"%", b"%%").replace(b"\xff", b"%d").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise damaged("a line is not UTF-8") from None
    if not width:
        return [text.replace("%%", "%")] * count
    rows = coded.cumsum(axis=0) if count > 1 else coded
    if count and (int(rows.min()) < 0 or int(rows.max()) >= _LARGEST):
        raise damaged("a number in a line is out of range")
    return [text % tuple(row) for row in rows.tolist()]


def sequence(data: bytes, known: int, total: int, meter: Meter) -> _Ints:
    """Line numbers below `total` of dumps, one after the other; `known` lines were numbered before. Raises Damaged."""
    codes = varints(data, meter)
    if not len(codes):
        return codes
    meter.take(8 * total + 40 * len(codes))
    after = [-1] * total
    found: list[int] = []
    before, fresh = -1, known
    try:
        for code in codes.tolist():
            if code == 0:
                number = after[before] if before >= 0 else -1
                if number < 0:
                    number = before + 1
            elif code == 1:
                number = fresh
            else:
                code -= 2
                number = before + ((code >> 1) ^ -(code & 1))
            if before >= 0:
                after[before] = number
            if number >= fresh:
                fresh = number + 1
            found.append(number)
            before = number
    except IndexError:
        raise damaged("a dump has a line that is not there") from None
    numbers = np.array(found, dtype=np.int64)
    if int(numbers.min()) < 0 or int(numbers.max()) >= total:
        raise damaged("a dump has a line that is not there")
    return numbers.astype(np.int32)


def columns(data: bytes, width: int, meter: Meter) -> _Ints:
    """Rows of unsigned numbers below 2**32, which the bytes have column by column as differences. Raises Damaged."""
    steps = unzigzag(varints(data, meter))
    if len(steps) % width:
        raise damaged("a column is shorter than the others")
    return (steps.reshape(width, -1).cumsum(axis=1) % 2**32).T
