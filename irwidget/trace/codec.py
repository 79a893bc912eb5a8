"""How lines of IR and their numbers are written in few bytes.

IR repeats itself: most lines are lines seen before with other numbers in them, and most numbers are one more than in
the line before of the same shape. So a line is stored as its shape, the text with a byte 255 for each number (UTF-8
has none), and each number as the difference from the same number of the line before with that shape. `decode.py` and
js/src/codec.ts read it back; docs/format.md says it byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_Ints = np.ndarray[Any, np.dtype[Any]]

_DIGITS = 9
"""Longer numbers are text, and so are those with leading zeros."""
_NUMBER = 255


def varints(values: _Ints) -> bytes:
    """Unsigned numbers below 2**32 in seven bits a byte, the lowest first; the top bit says that more follow."""
    rest = np.asarray(values, dtype=np.uint32)
    if not len(rest):
        return b""
    lengths = np.ones(len(rest), dtype=np.int8)
    for bits in (7, 14, 21, 28):
        lengths += rest >= (1 << bits)
    starts = np.cumsum(lengths) - lengths
    out = np.zeros(starts[-1] + lengths[-1], dtype=np.uint8)
    for k in range(int(lengths.max())):
        there = lengths > k
        more = np.where(lengths[there] > k + 1, 128, 0)
        out[starts[there] + k] = ((rest[there] >> (7 * k)) & 127) | more
    return out.tobytes()


def zigzag(values: _Ints) -> _Ints:
    """Signed numbers as unsigned ones, small for small: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return ((values << 1) ^ (values >> (8 * values.itemsize - 1))).astype(np.uint32)


def lines(texts: Sequence[str]) -> tuple[bytes, bytes, bytes]:
    """Lines as shapes joined by newlines, the shape of each line, and numbers shape by shape."""
    if not texts:
        return b"", b"", b""
    # A lone surrogate is what invalid UTF-8 became: it is kept, as the three bytes that UTF-8 would have for it.
    data = np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    starts, ends = _numbers(data)
    ids: dict[bytes, int] = {}
    shape = np.fromiter(
        (ids.setdefault(one, len(ids)) for one in _blanked(data, starts, ends).split(b"\n")), np.int32, len(texts)
    )
    counts = np.fromiter((one.count(_NUMBER) for one in ids), np.int32, len(ids))
    return b"\n".join(ids), varints(shape), varints(zigzag(_by_shape(_values(data, starts, ends), shape, counts)))


def _numbers(data: _Ints) -> tuple[_Ints, _Ints]:
    """Where the numbers of a text start and end."""
    digit = np.zeros(len(data) + 2, dtype=np.int8)
    digit[1:-1] = (data >= ord("0")) & (data <= ord("9"))
    steps = np.diff(digit)
    starts, ends = (np.flatnonzero(steps == step).astype(np.int32) for step in (1, -1))
    length = ends - starts
    plain = (length <= _DIGITS) & ((length == 1) | (data[starts] != ord("0")))
    return starts[plain], ends[plain]


def _blanked(data: _Ints, starts: _Ints, ends: _Ints) -> bytes:
    """The text with one byte in place of each number."""
    marked = data.copy()
    marked[starts] = _NUMBER
    inside = np.zeros(len(data) + 1, dtype=np.int8)
    inside[starts + 1] += 1
    inside[ends] -= 1
    return marked[np.cumsum(inside[:-1], dtype=np.int8) == 0].tobytes()


def _values(data: _Ints, starts: _Ints, ends: _Ints) -> _Ints:
    values = np.zeros(len(starts), dtype=np.int32)
    length = ends - starts
    for k in range(int(length.max(initial=0))):
        there = length > k
        values[there] = values[there] * 10 + data[starts[there] + k] - ord("0")
    return values


def _by_shape(values: _Ints, shape: _Ints, counts: _Ints) -> _Ints:
    """The numbers of the lines of shape 0, then of shape 1 ..., each less the one in the line before of its shape."""
    count = counts[shape]
    first = np.cumsum(count, dtype=np.int32) - count
    order = np.argsort(shape, kind="stable")
    width = count[order]
    ahead = np.cumsum(width, dtype=np.int32) - width
    at = np.arange(len(values), dtype=np.int32)
    sorted_values = values[np.repeat(first[order] - ahead, width) + at]
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = shape[order][1:] != shape[order][:-1]
    back = sorted_values[at - np.repeat(width, width)]
    back[np.repeat(opens, width)] = 0
    return sorted_values - back


def sequence(numbers: _Ints, known: int) -> bytes:
    """Line numbers of dumps, one after the other; `known` lines were numbered before.

    0 is what followed the line before when it last occurred (the next number when it has not), 1 is the first number
    not seen yet, and the rest are differences from the line before.
    """
    if not len(numbers):
        return b""
    ids = np.asarray(numbers, dtype=np.int32)  # Half as long as numpy's own: these are most of a chunk's memory.
    before = np.concatenate((np.array([-1], dtype=np.int32), ids[:-1]))
    expected = before + 1
    order = np.argsort(before, kind="stable").astype(np.int32)
    again = np.flatnonzero(before[order[1:]] == before[order[:-1]])
    expected[order[again + 1]] = ids[order[again]]
    del order, again
    found = zigzag(ids - before)
    found += 2
    found[ids == np.maximum(np.maximum.accumulate(before) + 1, known)] = 1
    found[ids == expected] = 0
    return varints(found)


def columns(rows: Sequence[Sequence[int]], width: int) -> bytes:
    """Rows of unsigned numbers below 2**32, one column after the other, each as differences that wrap around."""
    if not rows:
        return b""
    table = np.asarray(rows, dtype=np.int64).reshape(len(rows), width)
    steps = np.diff(table, axis=0, prepend=0)
    wrapped = (steps + 2**31) % 2**32 - 2**31
    return varints(zigzag(wrapped.T.reshape(-1)))
