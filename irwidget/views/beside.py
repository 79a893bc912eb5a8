"""What is shown of two lowerings side by side: where they differ, and what both come to. Needs no widgets."""

from __future__ import annotations

from irwidget.experiments import outcome as outcomes
from irwidget.experiments.comparison import Comparison, PassPair
from irwidget.trace import Trace, Verdict
from irwidget.views.analysis import Analysis
from irwidget.views.fallbacks import unified
from irwidget.views.schema import experiments as schema


def difference(comparison: Comparison, at: PassPair | None) -> list[str]:
    """The lines of a unified diff of both after a pass of both, renumbering apart."""
    if at is None or at.left is None or at.right is None:
        return []
    old, new = comparison.left.trace.dumps[at.left], comparison.right.trace.dumps[at.right]
    if old.language != new.language:
        return []
    both = Analysis(Trace("", (old, new)))
    return list(unified(both.lines(0), both.lines(1), both.hunks(0, 1, ignore_renumbering=True)))


def differences(comparison: Comparison) -> dict[str, PassPair]:
    """The passes after which a diff tells something: the first, and where they were the same again, the last."""
    first, last = comparison.first, comparison.last
    if first is None:
        return {}
    return {"first": first, **({"last": last} if last and comparison.again else {})}


def outcome(comparison: Comparison, checks: tuple[Verdict | None, Verdict | None]) -> schema.ComparisonOutcome:
    """Both as a view shows them; `checks` are their verdicts."""
    return {
        "told": list(comparison.told),
        "summary": comparison.summary,
        "passes": [_compared(one) for one in comparison.passes],
        "facts": outcomes.facts(comparison, checks),
    }


def _compared(pair: PassPair) -> schema.ComparedPass:
    left, right = (-1 if number is None else number for number in (pair.left, pair.right))
    return {"name": pair.label, "left": left, "right": right, "state": pair.state}
