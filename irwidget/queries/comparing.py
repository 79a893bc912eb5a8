"""What is said of two lowerings side by side: for `--json`, for agents, and for whoever looks for a release."""

from __future__ import annotations

from typing import Any

from irwidget.experiments.comparison import Comparison, PassPair
from irwidget.queries import bounds
from irwidget.views.beside import difference, differences

Answer = dict[str, Any]
"""JSON-able data."""


def answer(found: Comparison, most: int = bounds.MOST) -> Answer:
    """Where two lowerings differ, in about `most` characters: the first pass, the last, diffs, costs, tools, passes."""
    shown = differences(found)
    rows = [_row(pair) for pair in found.passes if pair.state != "same" or pair.renamed]
    return {
        "summary": found.summary,
        "first_difference": None,
        **{
            f"{which}_difference": _row(at) | {"diff": bounds.part(difference(found, at), most=most // 2 // len(shown))}
            for which, at in shown.items()
        },
        "ends_the_same": found.ends_the_same,
        "costs": {name: list(both) for name, both in found.costs.items()},
        "ms": [round(seconds * 1000, 2) for seconds in found.seconds],
        "tools": {name: list(both) for name, both in found.tools.items()},
        "not_the_same": bounds.part(rows, most=most // 4),
    }


def _row(pair: PassPair) -> Answer:
    row: Answer = {"pass": pair.name, "left": pair.left, "right": pair.right, "state": pair.state}
    return {**row, "renamed": pair.renamed} if pair.renamed else row
