"""A lowering with other releases, seen from this process: what is asked goes there, what is made comes back."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

from irwidget import phases
from irwidget.errors import IRWidgetError, LoweringInterrupted
from irwidget.frontends.base import Given
from irwidget.options import NAMES, LowerOptions
from irwidget.result import Lowering
from irwidget.toolchain import budget
from irwidget.toolchains import carry, environments, process
from irwidget.toolchains.environments import Environment
from irwidget.toolchains.work import Answer, Work
from irwidget.trace import reading

_HERE = frozenset({"toolchain", "progress", "timeout"})
"""Options that are this process's business."""


def lower(
    environment: Environment, given: Given, to: str | Sequence[str], asked: LowerOptions
) -> Lowering | dict[str, Lowering]:
    """Lower in a process of the environment; `to` is an IR type, or several.

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
    made = _made(answer, environment)
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


def _made(answer: Answer, environment: Environment) -> dict[str, Lowering]:
    if not answer.file:
        return {}
    found: dict[str, Lowering] = {}
    with_what = environment.name.rstrip("/").rpartition("/")[2]
    for name, trace in zip(answer.names, reading.unpacked(answer.file).traces, strict=True):
        found[name] = Lowering(replace(trace, name=f"{trace.name}, {with_what}"))  # beside another of the same name
        found[name].toolchain = environment.name
    return found


def find(toolchain: str) -> Environment | None:
    """The environment of a toolchain, made where it is not there yet; None where this process has its releases.

    Raises as `environments.find`.
    """
    with budget.uncounted(f"making {toolchain}"):
        found = environments.find(toolchain, phases.entering)
    return found if found.folders else None
