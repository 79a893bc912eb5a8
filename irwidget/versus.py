"""`--versus`: the same program lowered in another way, or another program in the same way, beside the first."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget import arguments
from irwidget.commands import lower_all, targets_of
from irwidget.errors import IRWidgetError, LoweringInterrupted, UsageError
from irwidget.experiments.comparison import Comparison, compare
from irwidget.failures import first_of
from irwidget.frontends.cell import Candidate, variable
from irwidget.progress import ProgressLine
from irwidget.result import Lowering

_OF_BOTH = frozenset("--html --save --out --text --versus --interactive --help -h".split())
"""What says how the comparison is shown, so nothing of one side."""


def other(parsed: argparse.Namespace) -> argparse.Namespace:
    """The arguments of the other side: those of the line, with what `--versus` says instead.

    It says options (`--versus "--O 1 --arch sm_90"`), a toolchain (`--versus triton==3.6.0`, a path with a `/`), or the
    name of a variable that holds another model. Raises UsageError.
    """
    words: list[str] = arguments.words(parsed.versus, "--versus")
    if not words[0].startswith("-") and ("==" in parsed.versus or "/" in words[0]):
        words = ["--toolchain", parsed.versus]
    elif not words[0].startswith("-"):
        if len(words) > 1 or not words[0].isidentifier():
            raise UsageError(
                f"--versus takes options ('--O 1'), the name of another model, or a toolchain ('triton==3.6.0', the "
                f"path of an environment), not {parsed.versus!r}"
            )
        words = ["--model", *words]
    if refused := next((word for word in words if word.split("=")[0] in _OF_BOTH), None):
        raise UsageError(f"--versus takes options of a lowering, not {refused}")
    return arguments.parse(words, "--versus", objects=False, defaults={**vars(parsed), "versus": None})


def compared(
    candidates: Sequence[Candidate],
    wanted: Sequence[str],
    parsed: argparse.Namespace,
    progress: ProgressLine,
    *,
    namespace: Mapping[str, Any],
) -> tuple[Mapping[str, Lowering | Comparison], list[IRWidgetError | LoweringInterrupted]]:
    """Lower both sides, and hold them side by side; what went wrong is returned, as `lower_all` does: the first error
    with what the other side says.

    One side where the other gave nothing to show, where the cell was refused, and after an interrupt. `namespace` has
    the other model. Raises UsageError for more than one lowering on a side.
    """
    if any(one.refused for one in candidates):
        return lower_all(candidates, wanted, parsed, progress)
    asked = other(parsed)
    others = targets_of(asked)
    for count, of in ((len(candidates), "models"), (len(wanted), "IR types"), (len(others), "IR types")):
        if count > 1:
            raise UsageError(f"--versus compares two lowerings, not {count} {of}: choose with --model or --to")
    second = _model(candidates[0], asked.model, namespace)
    left, problems = lower_all(candidates, wanted, parsed, progress)
    if any(isinstance(one, LoweringInterrupted) for one in problems):
        return left, problems
    right, more = lower_all([second], others, asked, progress)
    names = (candidates[0].name, f"{second.name} (--versus {parsed.versus})")
    sides = ((left, problems), (right, more))
    failed = {name: one for name, (_, said) in zip(names, sides, strict=True) for one in said}
    if len(failed) > 1:
        first_of(failed, {name: low for name, (made, _) in zip(names, sides, strict=True) for low in made.values()})
    if left and right:
        (low,), (beside,) = left.values(), right.values()
        if (low.name, low.target) == (beside.name, beside.target):
            beside.trace = replace(beside.trace, name=f"{beside.name} ({parsed.versus})")
        return {f"{candidates[0].name} and {second.name}": compare(low, beside)}, [*problems, *more]
    return left or right, [*problems, *more]


def sides(shown: Sequence[Lowering | Comparison]) -> list[Lowering]:
    """The lowerings of what is shown, both of a comparison."""
    found: list[Any] = []
    for one in shown:
        found += [one.left, one.right] if isinstance(one, Comparison) else [one]
    return found


def with_passes(shown: Sequence[Lowering | Comparison]) -> list[Lowering | Comparison]:
    """Those of what is shown that have IR: the error says all there is of what a front end refused."""
    return [one for one in shown if isinstance(one, Comparison) or not one.trace.refused]


def _model(first: Candidate, name: str | None, namespace: Mapping[str, Any]) -> Candidate:
    """What the other side lowers: the same, or the model of that name with the same inputs."""
    if not name or name == first.name:
        return first
    return replace(first, name=name, model=variable(name, namespace))
