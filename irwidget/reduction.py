"""The smallest program: of a lowering whose object is here, or of a file."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irwidget import files, options
from irwidget.errors import ExportError, UnsupportedError, UsageError
from irwidget.frontends import base
from irwidget.frontends import torch as export
from irwidget.frontends.base import Given
from irwidget.options import LowerOptions
from irwidget.reducing import exported, failing, programs
from irwidget.reducing.graph import Program
from irwidget.reducing.report import Reduced
from irwidget.reducing.search import Predicate
from irwidget.registry import Option, described, frontends, targets
from irwidget.routes import find
from irwidget.toolchains import remote

if TYPE_CHECKING:
    from irwidget.frontends.base import Begun
    from irwidget.registry import Target
    from irwidget.result import Lowering

_IN_A_FILE = "put it in a file with what it needs, and: python -m irwidget reduce FILE.py --to"


def reduce(
    obj: Any,
    *inputs: Any,
    to: str,
    predicate: Predicate | None = None,
    seconds: float = 120.0,
    progress: programs.Progress | None = None,
    **given: Any,
) -> Reduced:
    """The smallest Python program that still fails in the same way when it is lowered.

    `obj` is a PyTorch model with its `inputs`; or the path of a Python file, or its text: models, Triton and Helion
    kernels with what launches them, as a cell under `%%lower`. `to` and the other options are those of
    `irwidget.lower`. The same way is the same pass, operation and class of message; `check=True` looks for a wrong
    result. Where the lowering is complete, `predicate`, a function of its last text, says what is wrong. Stops after
    `seconds` and on Ctrl-C with the best so far.

    Raises UsageError when there is nothing to reduce, UnsupportedError for a toolchain that irwidget does not work
    with, and ToolError where pip cannot make it.
    """
    asked, target_options = options.split(given)
    words = _words(find(to).name, asked, target_options)
    how: dict[str, Any] = {"seconds": seconds, "progress": progress}
    if asked.toolchain and (environment := remote.find(asked.toolchain)):
        remote.require(environment)
        how |= _there(environment.name, environment.folders)
    if asked.timeout:
        how["each"] = asked.timeout
    if isinstance(obj, str | Path):
        text = files.read(Path(obj)) if isinstance(obj, Path) or "\n" not in obj else obj
        return programs.reduce(programs.of_file(text), words, predicate, **how)
    given_ = Given(obj, inputs, asked.kwargs or {}, asked.dynamic_shapes, asked.name, route=asked.route)
    return programs.reduce(programs.of_graph(_graph(given_, find(to))), words, predicate, **how)


def of_lowering(
    low: Lowering,
    predicate: Predicate | None,
    *,
    begun: Begun,
    target: Target,
    asked: LowerOptions,
    seconds: float,
    progress: programs.Progress | None,
    stop: threading.Event | None = None,
) -> Reduced:
    """The smallest program that fails as a lowering did. Raises UsageError for an object that no file can say."""
    failure, verdict = low.trace.failure, low.trace.check
    name = low.trace.name.partition(", ")[0]  # without the toolchain
    wanted = failing.kind_of(failure, name) if failure else failing.of_verdict(verdict) if verdict else None
    how: dict[str, Any] = {"wanted": wanted, "seconds": seconds, "progress": progress, "stop": stop}
    if asked.timeout:
        how["each"] = asked.timeout
    if low.toolchain:
        how |= _there(low.toolchain, low.origin.options.folders)
    launch = _launch(low, begun, target)
    words = _words(target.name, asked, begun.given.options, of_launch=bool(launch))
    cell = low.origin.cell.alone() if low.origin.cell else ""
    if launch or (target.front_end != "pytorch" and cell):
        return programs.reduce(programs.of_file(launch or cell), words, predicate, **how)
    try:
        graph = _graph(begun.given, target)
    except (UsageError, ExportError) as error:
        if cell:
            return programs.reduce(programs.of_file(cell), words, predicate, **how)
        if isinstance(error, UsageError):
            raise
        said = str(error).split("\n")[0]
        raise UsageError(f"There is no graph to make smaller ({said}): {_IN_A_FILE} {target.name}") from error
    return programs.reduce(programs.of_graph(graph), words, predicate, **how)


def of_cell(
    low: Lowering,
    predicate: Predicate | None,
    *,
    target: Target,
    asked: LowerOptions,
    given: Mapping[str, Any],
    **how: Any,
) -> Reduced:
    """The smallest program that fails as a cell did while it ran; `given` are the options of the IR type."""
    assert low.origin.cell
    assert low.trace.failure
    words, wanted = _words(target.name, asked, given), failing.kind_of(low.trace.failure)
    return programs.reduce(programs.of_file(low.origin.cell.alone()), words, predicate, wanted=wanted, **how)


def _launch(low: Lowering, begun: Begun, target: Target) -> str:
    """What was lowered as a file that needs no other, where it takes one to say that; empty otherwise.

    Raises UnsupportedError for what no file can say, where there is no cell to say it either.
    """
    if "recipe" in low.results:
        return str(low.results["recipe"].reproducer())
    if not (low.toolchain or low.trace.refused):
        return ""
    try:
        return begun.written(target, low.origin.options)
    except UnsupportedError:
        if low.source and not low.toolchain:
            return ""
        raise


def _there(toolchain: str, folders: tuple[str, ...]) -> dict[str, Any]:
    """What has candidates lowered with a toolchain."""
    return {"folders": folders, "more_words": ("--toolchain", toolchain)}


def _graph(given: Given, target: Target) -> Program:
    """The object as a graph. Raises UsageError where it is none, and ExportError."""
    if isinstance(given.obj, str):
        raise UsageError("This lowering started from IR: low.reduce() makes that small")
    if target.source != "pytorch" or not export.is_model(given.obj) or base.of_kind(given.obj):
        kind = frontends.find(target.front_end, "front end").starts_from
        raise UsageError(f"Of {kind} as an object no file is made here: {_IN_A_FILE} {target.name}")
    if given.dynamic_shapes:
        raise UsageError(f"It has dynamic shapes, which such a graph does not say: {_IN_A_FILE} {target.name}")
    return exported.program(export.traced(given.obj, given.inputs, given.kwargs, None, given.called))


def _words(
    to: str, asked: LowerOptions, target_options: Mapping[str, Any], *, of_launch: bool = False
) -> tuple[str, ...]:
    """The options as the command line has them; `of_launch` leaves out what the file's own launch says.

    Raises UsageError for one that no word can say.
    """
    words = ["--to", to]
    known = described(LowerOptions)
    for name in ("pipeline", "external", "route", "check", "elide"):  # the others say how it runs
        if (value := getattr(asked, name)) != known[name].default:
            words += _said(known[name], value)
    target = targets.get(to)
    own = described(target.options) if target else {}
    for name, value in target_options.items():
        option = own.get(name)
        if of_launch and (option is None or name in ("grid", "signature", "config", "run", "interpret")):
            continue
        if option is None or not option.flag:
            raise UsageError(f"{name} cannot be said on a command line, by which each candidate is lowered")
        if value != option.default:
            words += _said(option, value)
    return tuple(words)


def _said(option: Option, value: Any) -> list[str]:
    if option.read is None or (option.bare is not None and value is True):
        return [option.flag]
    return [option.flag, str(value)]
