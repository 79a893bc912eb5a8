"""The line diff of the viewer, for the text and HTML that it is where there is no browser.

js/src/diff.ts has the same, step by step, because the browser compares pairs that nobody knows before, and Python
shows one where no browser is; tests/views/test_diff.py holds the two to the same hunks. Myers' O(ND) in linear space
("An O(ND) Difference Algorithm and Its Variations", 1986), with the two shortcuts that git's xdiff takes: lines that
the other side lacks are set aside first, and beyond `cap` edits the furthest-reaching path is taken for good.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

from irwidget.trace.renaming import Renaming

_LONG = 3000
_CAP = 256
"""Segments of more than `_LONG` lines are diffed with this cap."""
_FAR = 0x7FFFFFFF

Line = TypeVar("Line", bound=Hashable)


class Hunk(NamedTuple):
    """Lines [a0, a1) of the left became lines [b0, b1) of the right."""

    a0: int
    a1: int
    b0: int
    b1: int


class Segment(NamedTuple):
    """A top-level symbol, and the lines [start, stop) that belong to it."""

    name: str
    start: int
    stop: int


def cut(symbols: Sequence[str]) -> list[Segment]:
    """Cut a dump at the lines that define symbols; what comes before the first is the segment "".

    `symbols` has for each line the symbol that it defines, or "".
    """
    found: list[Segment] = []
    name, start = "", 0
    for i, symbol in enumerate(symbols):
        if symbol:
            if i > start:
                found.append(Segment(name, start, i))
            name, start = symbol, i
    return [*found, Segment(name, start, len(symbols))]


class Differ:
    """One run of the diff; `mark(side, start, stop)` is told of lines that have changed, side 0 or 1."""

    def __init__(
        self, a: Sequence[Hashable], b: Sequence[Hashable], cap: int, mark: Callable[[int, int, int], None]
    ) -> None:
        self._a, self._b, self._cap, self._mark = a, b, cap, mark
        self._origin = len(b) + 2
        self._forward = [0] * (len(a) + len(b) + 5)
        self._backward = [0] * (len(a) + len(b) + 5)

    def run(self, a0: int, a1: int, b0: int, b1: int) -> None:
        """Diff lines [a0, a1) with lines [b0, b1)."""
        a, b = self._a, self._b
        while True:
            while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
                a0, b0 = a0 + 1, b0 + 1
            while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
                a1, b1 = a1 - 1, b1 - 1
            if a0 == a1 or b0 == b1:
                break
            x, y = self._split(a0, a1, b0, b1)
            if (x, y) in ((a0, b0), (a1, b1)):
                break
            self.run(a0, x, b0, y)
            a0, b0 = x, y
        if a0 < a1:
            self._mark(0, a0, a1)
        if b0 < b1:
            self._mark(1, b0, b1)

    def _split(self, a0: int, a1: int, b0: int, b1: int) -> tuple[int, int]:
        """A point on a shortest path (on a good one, beyond the cap). Diagonals are numbered x - y."""
        forward, backward, origin = self._forward, self._backward, self._origin
        low, high, start, end = a0 - b1, a1 - b0, a0 - b0, a1 - b1
        odd = (start - end) % 2 != 0
        fmin = fmax = start
        bmin = bmax = end
        forward[origin + start], backward[origin + end] = a0, a1
        for cost in range(1, _FAR):
            fmin, fmax = self._widened(forward, fmin, fmax, low, high, -1)
            if found := self._ahead((fmin, fmax), (bmin, bmax) if odd else (1, 0), a1, b1):
                return found
            bmin, bmax = self._widened(backward, bmin, bmax, low, high, _FAR)
            if found := self._behind((bmin, bmax), (1, 0) if odd else (fmin, fmax), a0, b0):
                return found
            if cost >= self._cap:
                return self._furthest((a0, a1, b0, b1), (fmin, fmax), (bmin, bmax))
        raise AssertionError("two lists have a difference of finite length")

    def _widened(self, paths: list[int], least: int, most: int, low: int, high: int, edge: int) -> tuple[int, int]:
        """One diagonal more at each end, or one less where there is none."""
        if least > low:
            least -= 1
            paths[self._origin + least - 1] = edge
        else:
            least += 1
        if most < high:
            most += 1
            paths[self._origin + most + 1] = edge
        else:
            most -= 1
        return least, most

    def _ahead(self, over: tuple[int, int], met: tuple[int, int], a1: int, b1: int) -> tuple[int, int] | None:
        """One edit further from the start; the point where a path meets one from the end, whose diagonals are `met`."""
        a, b, forward, backward, origin = self._a, self._b, self._forward, self._backward, self._origin
        for d in range(over[1], over[0] - 1, -2):
            k = origin + d
            below, above = forward[k - 1], forward[k + 1]
            x = below + 1 if below >= above else above
            y = x - d
            while x < a1 and y < b1 and a[x] == b[y]:
                x += 1
                y += 1
            forward[k] = x
            if met[0] <= d <= met[1] and backward[k] <= x:
                return x, y
        return None

    def _behind(self, over: tuple[int, int], met: tuple[int, int], a0: int, b0: int) -> tuple[int, int] | None:
        """One edit further from the end."""
        a, b, forward, backward, origin = self._a, self._b, self._forward, self._backward, self._origin
        for d in range(over[1], over[0] - 1, -2):
            k = origin + d
            below, above = backward[k - 1], backward[k + 1]
            x = below if below < above else above - 1
            y = x - d
            while x > a0 and y > b0 and a[x - 1] == b[y - 1]:
                x -= 1
                y -= 1
            backward[k] = x
            if met[0] <= d <= met[1] and x <= forward[k]:
                return x, y
        return None

    def _furthest(
        self, area: tuple[int, int, int, int], over: tuple[int, int], under: tuple[int, int]
    ) -> tuple[int, int]:
        a0, a1, b0, b1 = area
        ahead = behind = -1
        best, last = (a0, b0), (a1, b1)
        for d in range(over[1], over[0] - 1, -2):
            x = min(self._forward[self._origin + d], a1, b1 + d)
            if x - a0 + (x - d) - b0 > ahead:
                ahead, best = x - a0 + (x - d) - b0, (x, x - d)
        for d in range(under[1], under[0] - 1, -2):
            x = max(self._backward[self._origin + d], a0, b0 + d)
            if a1 - x + b1 - (x - d) > behind:
                behind, last = a1 - x + b1 - (x - d), (x, x - d)
        return best if ahead >= behind else last


def _segment(a: Sequence[Line], b: Sequence[Line], cap: int) -> tuple[list[int], list[int]]:
    """The numbers of the lines of each side that have changed."""
    head, tail_a, tail_b = 0, len(a), len(b)
    while head < tail_a and head < tail_b and a[head] == b[head]:
        head += 1
    while tail_a > head and tail_b > head and a[tail_a - 1] == b[tail_b - 1]:
        tail_a, tail_b = tail_a - 1, tail_b - 1
    there = (set(a[head:tail_a]), set(b[head:tail_b]))
    kept: tuple[list[int], list[int]] = ([], [])
    changed: tuple[list[int], list[int]] = ([], [])
    for side, lines, tail in ((0, a, tail_a), (1, b, tail_b)):
        for i in range(head, tail):
            (kept if lines[i] in there[1 - side] else changed)[side].append(i)

    def mark(side: int, start: int, stop: int) -> None:
        changed[side].extend(kept[side][start:stop])

    # Lines that the other side lacks are set aside: they are changed in any case.
    differ = Differ([a[i] for i in kept[0]], [b[i] for i in kept[1]], cap, mark)
    differ.run(0, len(kept[0]), 0, len(kept[1]))
    return changed


def _hunks(changed_a: bytearray, changed_b: bytearray) -> list[Hunk]:
    found: list[Hunk] = []
    i = j = 0
    while i < len(changed_a) or j < len(changed_b):
        a0, b0 = i, j
        while i < len(changed_a) and changed_a[i]:
            i += 1
        while j < len(changed_b) and changed_b[j]:
            j += 1
        if i > a0 or j > b0:
            found.append(Hunk(a0, i, b0, j))
        while i < len(changed_a) and j < len(changed_b) and not changed_a[i] and not changed_b[j]:
            i, j = i + 1, j + 1
    return found


def by_line(a: Sequence[Line], b: Sequence[Line], cap: int = _FAR) -> list[Hunk]:
    """Diff two lists of lines. `cap` bounds the edits looked for; without it the result is minimal."""
    marks = bytearray(len(a)), bytearray(len(b))
    for side, changed in enumerate(_segment(a, b, cap)):
        for i in changed:
            marks[side][i] = 1
    return _hunks(*marks)


def by_symbol(a: Sequence[Line], b: Sequence[Line], cut_a: Sequence[Segment], cut_b: Sequence[Segment]) -> list[Hunk]:
    """Pair the segments of the two sides by name, in order, and diff each pair by itself."""
    marks = bytearray(len(a)), bytearray(len(b))

    def pair(left: Segment | None, right: Segment | None) -> None:
        starts = left.start if left else 0, right.start if right else 0
        one, other = a[left.start : left.stop] if left else (), b[right.start : right.stop] if right else ()
        cap = _CAP if max(len(one), len(other)) > _LONG else _FAR
        for side, changed in enumerate(_segment(one, other, cap)):
            for i in changed:
                marks[side][starts[side] + i] = 1

    i = j = 0
    names = [segment.name for segment in cut_a], [segment.name for segment in cut_b]
    for a0, a1, b0, b1 in [*by_line(*names), Hunk(len(cut_a), len(cut_a), len(cut_b), len(cut_b))]:
        for left, right in zip(cut_a[i:a0], cut_b[j:b0], strict=True):
            pair(left, right)
        if a1 - a0 == b1 - b0 == 1:  # One symbol in the place of one other: it was probably renamed.
            pair(cut_a[a0], cut_b[b0])
        else:
            for left in cut_a[a0:a1]:
                pair(left, None)
            for right in cut_b[b0:b1]:
                pair(None, right)
        i, j = a1, b1
    # What closes the module belongs to no symbol, though it stands in the last one's segment.
    i, j = len(a) - 1, len(b) - 1
    while i >= 0 and j >= 0 and marks[0][i] and marks[1][j] and a[i] == b[j]:
        marks[0][i] = marks[1][j] = 0
        i, j = i - 1, j - 1
    return _hunks(*marks)


def refined(found: Sequence[Hunk], old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """The hunks of two texts without their names, and those lines between them that no renumbering makes equal."""
    left, right = bytearray(len(old)), bytearray(len(new))
    follow = Renaming()
    i = j = 0
    for hunk in [*found, Hunk(len(old), len(old), len(new), len(new))]:
        for a, b in zip(range(i, hunk.a0), range(j, hunk.b0), strict=True):
            left[a] = right[b] = not follow.take(old[a], new[b])
        for a in range(hunk.a0, hunk.a1):
            left[a] = follow.take(old[a], None)
        for b in range(hunk.b0, hunk.b1):
            right[b] = follow.take(None, new[b])
        i, j = hunk.a1, hunk.b1
    return _hunks(left, right)


def within(hunks: Sequence[Hunk], left: tuple[int, int], right: tuple[int, int]) -> list[Hunk]:
    """What of the hunks is in lines [start, stop) of the two sides, counted from the first of these."""

    def clamped(line: int, side: tuple[int, int]) -> int:
        return min(max(line, side[0]), side[1]) - side[0]

    cut_to = [
        Hunk(clamped(one.a0, left), clamped(one.a1, left), clamped(one.b0, right), clamped(one.b1, right))
        for one in hunks
    ]
    return [one for one in cut_to if one.a1 > one.a0 or one.b1 > one.b0]
