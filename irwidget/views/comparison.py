"""Two lowerings side by side: the pass diff opened at the first difference, and the aligned passes as text and HTML."""

from __future__ import annotations

from typing import Any

from irwidget.experiments.comparison import Comparison, PassPair
from irwidget.views import base, offline
from irwidget.views.beside import difference, differences, outcome
from irwidget.views.markup import aligned, folded, table, tag
from irwidget.views.widget import PassDiff

_STATES = {"same": "same", "differs": "DIFFERS", "not compared": "not compared"}


class ComparisonDiff(PassDiff):
    """The pass diff of two lowerings, opened at the first pass after which they differ."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        super().__init__(_traces(comparison), keep=True, **_state(comparison))

    def fallbacks(self) -> tuple[str, str]:
        """What differs, as HTML and as text."""
        return html(self.comparison), text(self.comparison)


def show(comparison: Comparison, key: str | None) -> Any:
    """The pass diff of both: the left side is of the left lowering, at the first pass after which they differ."""
    return base.replace(key, ComparisonDiff(comparison))


def page(comparison: Comparison, title: str) -> str:
    """The same as one offline page."""
    traces = _traces(comparison)
    shown = offline.view(offline.state_of(traces) | _state(comparison), html(comparison))
    return offline.document("\n".join([tag("h1", title), shown]), title, ["viewer"])


def text(comparison: Comparison) -> str:
    """What differs, in a sentence, a table of the passes, and what the results cost."""
    left, right = comparison.left.trace, comparison.right.trace
    lines = ["\n  ".join(comparison.found)] if comparison.found else []
    lines += [f"{left.name} ({left.target}) and {right.name} ({right.target}): {comparison.summary}"]
    lines += aligned([("left", "right", "pass", ""), *map(_row, comparison.passes)])
    lines += [f"{name}: {old} and {new}" for name, (old, new) in (comparison.costs | comparison.tools).items()]
    for at in differences(comparison).values():
        if shown := _shown(comparison, at):
            lines += ["", f"after {at.label}:", *shown]
    return "\n".join(lines)


MOST = 40
"""Lines of a difference that text and HTML show."""


def _shown(comparison: Comparison, at: PassPair) -> list[str]:
    lines = difference(comparison, at)
    return [*lines[:MOST], f"... {len(lines) - MOST} more lines"] if len(lines) > MOST else lines


def html(comparison: Comparison) -> str:
    """The same as HTML that reads well without styles and scripts."""
    both = {**comparison.costs, **comparison.tools}
    first, *rest = comparison.told
    return tag(
        "div",
        tag("p", tag("strong", first)),
        *(tag("p", said) for said in rest),
        table(("", "left", "right"), [(name, str(old), str(new)) for name, (old, new) in both.items()]) if both else "",
        *(
            folded(f"{which.title()} difference", tag("pre", "\n".join(shown)))
            for which, at in differences(comparison).items()
            if (shown := _shown(comparison, at))
        ),
        folded("Passes", table(("left", "right", "pass", ""), list(map(_row, comparison.passes)))),
    )


def _traces(comparison: Comparison) -> list[Any]:
    return [comparison.right.trace, comparison.left.trace]


def _state(comparison: Comparison) -> dict[str, Any]:
    at = comparison.first
    left, right = (at.left, at.right) if at else (None, None)
    ends = len(comparison.left.trace.dumps) - 1, len(comparison.right.trace.dumps) - 1
    checks = comparison.left.trace.check, comparison.right.trace.check
    return {"trace": 0, "against": 1, "compared": outcome(comparison, checks)} | dict(
        zip(
            ("left", "right"),
            (left if left is not None else ends[0], right if right is not None else ends[1]),
            strict=True,
        )
    )


def _row(pair: PassPair) -> tuple[str, ...]:
    left, right = ("" if number is None else str(number) for number in (pair.left, pair.right))
    return left, right, pair.label, _STATES.get(pair.state, pair.state)
