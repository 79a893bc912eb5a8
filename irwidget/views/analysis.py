"""What the viewer computes from dumps, for the text and HTML that it is without a browser (js/src/analysis.ts)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import chain

from irwidget.trace import Trace, lines_of, predecessors, syntax
from irwidget.views import diff
from irwidget.views.diff import Hunk, Segment
from irwidget.views.packing import part_of, text_of

FOLLOWED = 10_000
"""Lines of both texts together, and letters of a line, up to which names are followed (as in js/src/analysis.ts)."""


class Analysis:
    """The dumps of one trace, line by line; waits for the texts that it is asked of."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._lines = cache(self._read)
        self._blank = cache(syntax.blank)
        self._symbol = cache(syntax.symbol)

    @cached_property
    def before(self) -> list[int]:
        """For each dump, the one that it is compared with, or -1."""
        return predecessors(self._trace.dumps)

    def _read(self, index: int) -> list[str]:
        return lines_of(text_of(self._trace.dumps[index]) or "")

    def lines(self, index: int) -> Sequence[str]:
        """The lines of a dump; one empty line where it will never come."""
        return self._lines(index)

    def blanked(self, index: int) -> list[str]:
        """The lines without the names that a pass may renumber."""
        return list(map(self._blank, self._lines(index)))

    def segments(self, index: int) -> list[Segment]:
        """The top-level symbols of a dump."""
        return diff.cut(list(map(self._symbol, self._lines(index))))

    def beside(self, left: int, right: int) -> tuple[int, int]:
        """The lines of a dump that another is compared with: of a module beside one of its functions, that function."""
        whole = 0, len(self._lines(left))
        part = part_of(self._trace.dumps[right])
        if not part or part_of(self._trace.dumps[left]) == part or self._lines(left) == self._lines(right):
            return whole
        shown = [segment.name for segment in self.segments(right) if segment.name]
        if len(shown) != 1:
            return whole
        return next(((one.start, one.stop) for one in self.segments(left) if one.name == shown[0]), whole)

    def delta(self, left: int, right: int) -> tuple[int, int]:
        """How many lines went and came, renumbering apart: those of the diff that is shown."""
        found = self.shown(left, right)
        return sum(one.a1 - one.a0 for one in found), sum(one.b1 - one.b0 for one in found)

    def hunks(self, left: int, right: int, *, ignore_renumbering: bool) -> list[Hunk]:
        """How two dumps differ, all of the left one taken."""
        of = self.blanked if ignore_renumbering else self._lines
        found = diff.by_symbol(of(left), of(right), self.segments(left), self.segments(right))
        both = self._lines(left), self._lines(right)
        if (
            ignore_renumbering
            and sum(map(len, both)) <= FOLLOWED
            and all(len(line) <= FOLLOWED for line in chain(*both))
        ):
            return diff.refined(found, *both)
        return found

    def shown(self, left: int, right: int) -> list[Hunk]:
        """How the part of the left dump that is shown differs from the right one, in a view that nobody has touched."""
        found = self.hunks(left, right, ignore_renumbering=True)
        start, stop = self.beside(left, right)
        if (start, stop) == (0, len(self._lines(left))):
            return found
        return diff.within(found, (start, stop), (0, len(self._lines(right))))
