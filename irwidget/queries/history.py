"""Which pass last changed a line, and what the line was before (as js/src/blame.ts for the page)."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from irwidget.trace import Trace
from irwidget.views.analysis import Analysis
from irwidget.views.diff import Hunk
from irwidget.views.packing import text_of


class Version(NamedTuple):
    """A line of a dump, both counted from 0."""

    dump: int
    line: int


class History:
    """The lines of a trace, followed back through the passes, renumbering apart."""

    def __init__(self, trace: Trace, analysis: Analysis) -> None:
        self._trace = trace
        self._analysis = analysis
        self._hunks = cache(self._differ)

    def _differ(self, left: int, right: int) -> list[Hunk]:
        return self._analysis.hunks(left, right, ignore_renumbering=True)

    def versions(self, dump: int, line: int) -> list[Version]:
        """Where a pass made the line what it is, then where one made the line that this replaced, and so on.

        Empty where a text that is not here would say the first; it ends where an earlier one cannot be told.
        """
        found: list[Version] = []
        at = self._made(Version(dump, line))
        while at is not None:
            found.append(at)
            replaced = self._replaced(at)
            at = None if replaced is None else self._made(replaced)
        return found

    def _before(self, dump: int) -> int | None:
        """The dump that one is compared with; None for an input, and where one of both cannot be compared."""
        old = self._analysis.before[dump]
        return old if old >= 0 and self._comparable(old, dump) else None

    def _comparable(self, old: int, new: int) -> bool:
        one, other = self._trace.dumps[old], self._trace.dumps[new]
        return one.language == other.language and text_of(one) is not None and text_of(other) is not None

    def _made(self, at: Version) -> Version | None:
        """The pass that last changed a line; None when a text that is not here would say which."""
        while True:
            old = self._analysis.before[at.dump]
            if old < 0 or self._trace.dumps[old].language != self._trace.dumps[at.dump].language:
                return at
            if not self._comparable(old, at.dump):
                return None
            line = _origin(self._hunks(old, at.dump), at.line)
            if line is None:
                return at
            at = Version(old, line)

    def _replaced(self, at: Version) -> Version | None:
        """The line that a pass replaced by this one: the only one of its hunk, else none, since it would be a guess."""
        old = self._before(at.dump)
        if old is None:
            return None
        hunk = next((one for one in self._hunks(old, at.dump) if one.b0 <= at.line < one.b1), None)
        if hunk is None or hunk.a1 - hunk.a0 != 1 or hunk.b1 - hunk.b0 != 1:
            return None
        return Version(old, hunk.a0)


def _origin(hunks: list[Hunk], line: int) -> int | None:
    """The line of the left side that a line of the right side is; None where it is new."""
    shift = 0
    for hunk in hunks:
        if line < hunk.b0:
            break
        if line < hunk.b1:
            return None
        shift = hunk.a1 - hunk.b1
    return line + shift
