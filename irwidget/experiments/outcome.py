"""An experiment and its original in numbers, as plain data: per pass, at the end, verdicts and facts of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irwidget.experiments.comparison import Comparison
from irwidget.trace import Trace, Verdict

NOT_COMPUTED = "not computed"
_COSTS = ("registers", "shared_memory", "spill_stores", "spill_loads", "stack_frame")
"""Facts that are told though they are the same."""


def facts(comparison: Comparison, checks: tuple[Verdict | None, Verdict | None]) -> list[tuple[str, str, str]]:
    """Name and both values: the verdicts, what texts count up to, and the facts that are costs or differ."""
    left, right = comparison.left.trace, comparison.right.trace
    old, new = (NOT_COMPUTED if verdict is None else verdict.brief for verdict in checks)
    found = [("check", old, new)]
    found += [(name, str(old), str(new)) for name, (old, new) in comparison.costs.items() if name not in left.facts]
    names = dict.fromkeys([*_COSTS, *left.facts, *right.facts])
    for name in names:
        values = [trace.facts.get(name) for trace in (left, right)]
        plain = any(isinstance(value, int | float | str) for value in values)
        if plain and (name in _COSTS or values[0] != values[1]) and name not in _ABOUT:
            found.append((name, _told(left, name), _told(right, name)))
    for stage in dict.fromkeys([*_stages(left), *_stages(right)]):
        name = f"{stage} instructions" if stage in _MACHINE else f"{stage} operations"
        found.append((name, _counted(left, stage), _counted(right, stage)))
    return found


_ABOUT = ("specialization", "launched_at", "grid")
"""Facts that are of a launch, not of its code."""
_MACHINE = ("ptx", "amdgcn", "sass")


def _told(trace: Trace, name: str) -> str:
    return str(trace.facts[name]) if name in trace.facts else NOT_COMPUTED


def _stages(trace: Trace) -> Mapping[str, Mapping[str, int]]:
    """How many of which operation each stage of a Triton kernel has."""
    counts: Any = trace.facts.get("operations")
    return counts if isinstance(counts, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _counted(trace: Trace, stage: str) -> str:
    counts = _stages(trace).get(stage)
    return NOT_COMPUTED if counts is None else str(sum(counts.values()))
