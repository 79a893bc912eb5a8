"""A lowering with other releases, seen from this process: what is asked goes there, what is made comes back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from irwidget import phases
from irwidget.errors import IRWidgetError, LoweringInterrupted
from irwidget.frontends.base import Given
from irwidget.options import NAMES, LowerOptions
from irwidget.result import Lowering, Origin
from irwidget.toolchain import budget
from irwidget.toolchain.run import Options
from irwidget.toolchain.triton_layouts import Answer as Layout
from irwidget.toolchain.triton_layouts import Question
from irwidget.toolchains import carry, environments, process
from irwidget.toolchains.environments import Environment
from irwidget.toolchains.inside import Inside
from irwidget.toolchains.work import Answer, Questions, Work
from irwidget.trace import reading

_HERE = frozenset({"toolchain", "progress", "timeout"})
"""Options that are this process's business."""


Onward = Callable[[str, Options], Origin]
"""How what is made for an IR type goes on, here, with such options."""


def lower(
    environment: Environment, given: Given, to: str | Sequence[str], asked: LowerOptions, onward: Onward
) -> Lowering | dict[str, Lowering]:
    """Lower in a process of the environment; `to` is an IR type, or several.

    What goes on from a result runs in a worker that imports from the environment, too; `onward` says how.
    Raises what `irwidget.lower` raises there; the errors hold what was made.
    """
    options = {name: getattr(asked, name) for name in NAMES if name not in _HERE}
    options |= {"kwargs": given.kwargs, "name": given.name, **given.options}
    parcel = carry.packed((given.obj, tuple(given.inputs), options))
    whole = budget.current()
    left = whole.left() if whole else None
    packages = tuple(environment.versions())
    work = Work(parcel, to if isinstance(to, str) else list(to), environment.name, environment.folders, packages, left)
    answer = process.run(environment, work, asked.progress)
    made = _made(answer, environment, lambda name: onward(name, _options(environment, given, asked)))
    if answer.interrupted:
        stop = LoweringInterrupted(answer.interrupted)
        stop.lowering, stop.lowerings = made.get(answer.failed), made
        raise stop
    if answer.error:
        error: IRWidgetError = pickle.loads(answer.error)
        error.lowering, error.lowerings = made.get(answer.failed), {} if isinstance(to, str) else made
        error.add_note(f"The toolchain is {environment.name}")
        raise error
    return (
        made[to] if isinstance(to, str) and to in made else next(iter(made.values())) if isinstance(to, str) else made
    )


def _options(environment: Environment, given: Given, asked: LowerOptions) -> Options:
    """How passes run that go on from a result."""
    own = asked.run(given.options)
    return replace(own, isolate=True, progress=None, stop=None, folders=environment.folders)


def _made(answer: Answer, environment: Environment, onward: Callable[[str], Origin]) -> dict[str, Lowering]:
    if not answer.file:
        return {}
    found: dict[str, Lowering] = {}
    with_what = environment.name.rstrip("/").rpartition("/")[2]
    for name, trace in zip(answer.names, reading.unpacked(answer.file).traces, strict=True):
        named = replace(trace, name=f"{trace.name}, {with_what}")  # beside another of the same name
        origin = replace(onward(name), ask=partial(_layouts, environment))
        found[name] = Lowering(replace(named, inside=Inside(named, origin.options)))
        found[name].toolchain, found[name].origin = environment.name, origin
    return found


def require(environment: Environment) -> None:
    """Raises UnsupportedError where irwidget does not work with the releases of an environment."""
    _ = _answered(environment, ())


def _layouts(environment: Environment, questions: Sequence[Question]) -> list[Layout]:
    """Ask the Triton of an environment about layouts. Raises as `lower`."""
    return list(_answered(environment, questions).layouts) if questions else []


def _answered(environment: Environment, questions: Sequence[Question]) -> Answer:
    answer = process.run(environment, Questions(tuple(questions), environment.name, tuple(environment.versions())))
    if answer.interrupted:
        raise KeyboardInterrupt
    if answer.error:
        raise pickle.loads(answer.error)
    return answer


def find(toolchain: str) -> Environment | None:
    """The environment of a toolchain, made where it is not there yet; None where this process has its releases.

    Raises as `environments.find`.
    """
    with budget.uncounted(f"making {toolchain}"):
        found = environments.find(toolchain, phases.entering)
    return found if found.folders else None
