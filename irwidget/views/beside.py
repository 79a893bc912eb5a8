"""The diff of two lowerings after the first pass after which they differ. Needs no widgets."""

from __future__ import annotations

from irwidget.experiments.comparison import Comparison
from irwidget.trace import Trace
from irwidget.views.analysis import Analysis
from irwidget.views.fallbacks import unified


def difference(comparison: Comparison) -> list[str]:
    """The lines of a unified diff of both after the first pass after which they differ, renumbering apart."""
    first = comparison.first
    if first is None or first.left is None or first.right is None:
        return []
    old, new = comparison.left.trace.dumps[first.left], comparison.right.trace.dumps[first.right]
    if old.language != new.language:
        return []
    both = Analysis(Trace("", (old, new)))
    return list(unified(both.lines(0), both.lines(1), both.hunks(0, 1, ignore_renumbering=True)))
