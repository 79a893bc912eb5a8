"""What `%%lower` and the command line share: from parsed arguments and models to lowerings."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from irwidget import arguments, following, pipelines, routes, running
from irwidget.errors import ExportError, IRWidgetError, LoweringInterrupted, UsageError
from irwidget.failures import error_of, first_of
from irwidget.frontends.cell import Candidate
from irwidget.lowering import Lowering, lower
from irwidget.opened import open as open_dumps
from irwidget.options import LowerOptions
from irwidget.planning import planned
from irwidget.progress import ProgressLine


def targets_of(parsed: argparse.Namespace) -> list[str]:
    """The IR types that the arguments ask for. Raises UsageError."""
    names = arguments.split(parsed.to)
    if parsed.all:
        names = [target.name for target in routes.targets().values() if target.source == "pytorch" and target.in_all]
    if not names:
        raise UsageError(f"Say what to lower to: --to {next(iter(routes.targets()))} (--targets lists the IR types)")
    targets, _ = planned(names, _asked(parsed), arguments.target_options(parsed, names))
    return [target.name for target in targets]


def _asked(parsed: argparse.Namespace) -> LowerOptions:
    return LowerOptions(**arguments.lower_options(parsed))


def opened(what: str, format: str | None) -> dict[str, Lowering]:
    """What a log, folder or file holds, by names that tell the lowerings apart. Raises UsageError."""
    return _by_name(open_dumps(what, format=format))


def followed(what: str, format: str | None) -> Iterator[dict[str, Lowering]]:
    """What a log or folder holds, by name, anew whenever it has grown. Raises UsageError."""
    return map(_by_name, following.followed(what, format=format))


def run(
    text: str,
    parsed: argparse.Namespace,
    progress: ProgressLine,
    came: Callable[[dict[str, Lowering]], None] | None = None,
) -> tuple[dict[str, Lowering], IRWidgetError | LoweringInterrupted | None]:
    """What a command line prints of its passes, and how it failed, if it did. Raises UsageError and ToolError.

    `came` is given what it has printed so far, while it runs.
    """
    problem: IRWidgetError | LoweringInterrupted | None = None
    try:
        found: Sequence[Lowering] = running.run(
            text, timeout=parsed.timeout, heard=progress.hear, came=came and (lambda found: came(_by_name(found)))
        )
    except LoweringInterrupted as stop:
        found, problem = list(stop.lowerings.values()), stop
    if problem is None and found and found[-1].failure:
        problem = error_of(found[-1])
    return _by_name(found), problem


def _by_name(found: Sequence[Lowering]) -> dict[str, Lowering]:
    names = [low.name or str(number) for number, low in enumerate(found)]
    return {
        name if names.count(name) == 1 else f"{name}:{i}": low
        for i, (name, low) in enumerate(zip(names, found, strict=True))
    }


def check_pipeline(parsed: argparse.Namespace) -> None:
    """Have the tools read the pipeline of an `--interactive` line. Raises UsageError and ToolError."""
    asked = _asked(parsed)
    if asked.pipeline:
        steps = pipelines.parse(asked.pipeline)
        pipelines.check([replace(step, program=asked.external) for step in steps], asked.run({}))


def lower_all(
    candidates: Sequence[Candidate], wanted: Sequence[str], parsed: argparse.Namespace, progress: ProgressLine
) -> tuple[dict[str, Lowering], list[IRWidgetError | LoweringInterrupted]]:
    """Lower each model to each IR type. One that fails does not cost the others: what went wrong is returned, the first
    error with all that was made and with what the others say.
    """
    done: dict[str, Lowering] = {}
    failed: dict[str, IRWidgetError | LoweringInterrupted] = {}
    for name, candidate in named(candidates).items():
        name = parsed.name if parsed.name and len(candidates) == 1 else name
        options = {**arguments.lower_options(parsed), **arguments.target_options(parsed, wanted)}
        options |= {"name": name, "progress": progress.report}
        make = cast("Callable[..., dict[str, Lowering]]", partial(lower, to=list(wanted), **options))
        progress.begin(name, (name, tuple(wanted), str(parsed)))
        try:
            made = first_that_fits(candidate, make)
            progress.finish()
        except (IRWidgetError, LoweringInterrupted) as error:
            progress.fail()
            failed[name] = error
            made = error.lowerings or ({error.lowering.target: error.lowering} if error.lowering else {})
        done.update({_key(name, target, candidates, wanted): low for target, low in made.items()})
        if isinstance(failed.get(name), LoweringInterrupted):
            break
    if failed:
        first_of(failed, done)
    return done, list(failed.values())


def named(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """The candidates by names that tell them apart: `plus`, `plus_2`."""
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        names = (candidate.name, *(f"{candidate.name}_{number}" for number in range(2, len(candidates) + 1)))
        found[next(name for name in names if name not in found)] = candidate
    return found


def _key(name: str, target: str, candidates: Sequence[Candidate], wanted: Sequence[str]) -> str:
    """How a result is called in the dict of several: by what tells them apart."""
    if len(candidates) > 1 and len(wanted) > 1:
        return f"{name}:{target}"
    return name if len(candidates) > 1 else target


def _ran(error: IRWidgetError) -> bool:
    """Whether passes ran before an error, so that it is none of a guess that does not fit."""
    begun = [*error.lowerings.values(), *([error.lowering] if error.lowering else [])]
    return any(not one.trace.refused for one in begun)


_Made = TypeVar("_Made")


def first_that_fits(candidate: Candidate, make: Callable[..., _Made]) -> _Made:
    """Make something of a model and the first of its calls that fits; a guess that does not makes room for the next.

    Raises what was refused before.
    """
    if candidate.refused:
        raise candidate.refused
    problem: IRWidgetError | None = None
    for call in candidate.calls:
        try:
            with call.modes():
                shapes = {} if call.dynamic_shapes is None else {"dynamic_shapes": call.dynamic_shapes}
                return make(candidate.model, *call.args, kwargs=call.kwargs, **shapes)
        except (UsageError, ExportError) as error:
            if call.told or _ran(error):
                raise
            problem = problem or error
    assert problem
    if len(candidate.calls) == 1:
        raise problem
    raise UsageError(
        f"No input in the cell fits {candidate.name}; the first that was tried: {problem}\n"
        "  Pair them with irwidget.explore(model, *inputs), or name them with --inputs."
    ) from problem
