"""A lowering that ended before its first pass: what the front end refused, as its source, and why."""

from __future__ import annotations

import inspect
from typing import Any

from irwidget.errors import IRWidgetError
from irwidget.frontends.base import FrontEnd, Given
from irwidget.frontends.torch import read_sources
from irwidget.reducing.failing import FRONT_END, class_of
from irwidget.trace import Diagnostic, Dump, Failure, Location, Trace, dump


def trace_of(error: IRWidgetError, front_end: FrontEnd, given: Given, target: str) -> Trace:
    """The object's own source as the one dump, where that can be read, and the error as the failure of no step."""
    shown = _source(front_end.function(given.obj), given.called)
    return _trace(error, shown, f"{FRONT_END} ({front_end.name})", target, given.called)


def of_cell(error: IRWidgetError, text: str, target: str, name: str, first: int) -> Trace:
    """The same of a cell, whose kernels are compiled while it runs: its text as the one dump. `first` is the number of
    its first line, which in a notebook is below the magic's.
    """
    said: Any = getattr(error, "diagnostics", ())
    file = next((one.location.file for one in said if one.location), "")
    places = tuple(Location(file, first + number) for number in range(text.count("\n") + 1))
    shown = dump("source", text, step=-1, language="python", locations=places if file else ())
    return _trace(error, shown, FRONT_END, target, name)


def _trace(error: IRWidgetError, shown: Dump, where: str, target: str, name: str) -> Trace:
    place: Location | None = getattr(error, "location", None)
    said: tuple[Diagnostic, ...] = getattr(error, "diagnostics", ())
    said = said or ((Diagnostic("error", str(error).split("\n")[0], place),) if place else ())
    pass_name, tool = (str(getattr(error, what, "")) for what in ("pass_name", "tool"))
    failure = Failure(-1, pass_name or where, str(error), said, kind=class_of(error), tool=tool)
    files = {one.file for one in [*shown.locations, place] if one}
    return Trace(target, (shown,), failure=failure, name=name, sources=read_sources(sorted(files)))


def _source(function: Any, name: str) -> Dump:
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.unwrap(function).__code__.co_filename
    except (OSError, TypeError, AttributeError, ValueError):  # made by a program, or no function of Python
        return dump("source", f"# {name}: its source is not here\n", step=-1, language="python")
    places = tuple(Location(file, first + number) for number in range(len(lines)))
    return dump("source", "".join(lines), step=-1, language="python", locations=places)
