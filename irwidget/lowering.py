"""`lower(...)`, the one entry point: find the front end, take its route, run, return."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, overload

from irwidget import imports, options, pipelines, planning, reduction, refusals, routes
from irwidget.checking import check as checking
from irwidget.errors import IRWidgetError, LoweringInterrupted, UsageError
from irwidget.failures import finished, first_of, interrupted, keeping, limited
from irwidget.frontends import base, places
from irwidget.frontends.base import Begun, FrontEnd, Given, Made
from irwidget.options import LowerOptions
from irwidget.registry import Target
from irwidget.result import Lowering, Origin
from irwidget.toolchain import budget
from irwidget.toolchain.run import Interrupted, Options, Source
from irwidget.toolchains import remote
from irwidget.trace import Step, Trace, Verdict, not_checked

__all__ = ["Lowering", "Start", "lower"]

_logger = logging.getLogger(__name__)


@overload
def lower(obj: Any, *inputs: Any, to: str, **given: Any) -> Lowering: ...  # pyright: ignore[reportOverlappingOverload]  # str is a Sequence[str] too
@overload
def lower(obj: Any, *inputs: Any, to: Sequence[str], **given: Any) -> dict[str, Lowering]: ...
def lower(obj: Any, *inputs: Any, to: str | Sequence[str], **given: Any) -> Lowering | dict[str, Lowering]:
    """Lower a model, kernel or IR text to an IR type and keep the IR after every pass.

    `obj` is an `nn.Module`, an `ExportedProgram`, a function, or IR text; `inputs`
    are its example inputs (tensors or any pytree) and `kwargs` its keyword inputs.
    `to` names an IR type of `irwidget.targets()`; a list of names gives a dict, and
    exports the object once. `name` is what the result is called, `dynamic_shapes` is
    torch.export's, and `route="explorer"` takes PyTorch Explorer's fixed list of passes.

    `pipeline` is a custom pipeline that goes on from there
    (`mlir-opt --canonicalize | user-tool ./mine`); its tools run embedded where
    they can, and as real programs with `external=True`.

    `check=True` executes the result on the CPU and compares every element with eager
    PyTorch, as exactly as float64 says what it should be; `low.check` is the verdict.
    `check="each"` executes every dump that can stand alone. What cannot be executed is
    `not checked`, with the reason.

    `dumps=False` keeps the last dump only, `elide=False` prints large constants,
    `timeout` is in seconds for everything together, from export to the last text and
    for all of several IR types; waiting for other lowerings, and for the first import
    of PyTorch, does not count. Each later look at a text has as long again. `memory` is in GiB for the worker (by
    default three quarters of what the machine or its container has); `isolate=False`
    runs the passes in this process, where a limit is looked at between passes.
    `progress` is called as each pass begins.

    Raises UsageError, ExportError, PassError, ToolError, UnsupportedError (all
    IRWidgetError), and LoweringInterrupted on Ctrl-C. The error's `lowering` holds
    every dump before it, of what a front end refuses the object's source alone; wrong
    arguments have none. Of several IR types all are tried before the first error is
    raised; its `lowerings` has all that had begun, by name.
    """
    asked, target_options = options.split(given)
    how = asked.run(target_options)
    with limited(how):
        said = asked.name, asked.check, target_options, asked.route
        thing = Given(obj, inputs, asked.kwargs or {}, asked.dynamic_shapes, *said)
        base.check_kind(thing, [routes.find(name) for name in options.targets(to, routes.targets())])
        wanted, extra = planning.planned(to, asked, target_options)
        start = Start(thing, asked, wanted)
        if asked.toolchain and (environment := remote.find(asked.toolchain)):
            names = to if isinstance(to, str) else [target.name for target in wanted]
            carried = base.find(obj, wanted[0]).carried(thing, wanted[0], how)
            by_name = {target.name: target for target in wanted}
            return remote.lower(environment, carried, names, asked, lambda name, on: start.onward(by_name[name], on))
        if isinstance(to, str):
            return start.lower(wanted[0], extra, how)
        return _each(wanted, lambda target: start.lower(target, extra, how))


def _signature() -> inspect.Signature:
    """What help and editors show of `lower`: the options of every lowering are those of the dataclass."""
    kind = inspect.Parameter
    common = [
        kind(one.name, kind.KEYWORD_ONLY, default=one.default, annotation=one.type) for one in fields(LowerOptions)
    ]
    named = inspect.signature(lower).parameters
    fixed = [named[name] for name in ("obj", "inputs", "to")]
    return inspect.Signature([*fixed, *common, kind("target_options", kind.VAR_KEYWORD, annotation="Any")])


setattr(lower, "__signature__", _signature())  # noqa: B010


def _each(wanted: Sequence[Target], make: Callable[[Target], Lowering]) -> dict[str, Lowering]:
    """Lower to every IR type, then raise what went wrong first: one that fails does not cost the others."""
    made: dict[str, Lowering] = {}
    failed: dict[str, IRWidgetError] = {}
    for target in wanted:
        try:
            made[target.name] = make(target)
        except IRWidgetError as error:
            if error.lowering:
                made[target.name] = error.lowering
            failed[target.name] = error
        except LoweringInterrupted as stop:
            stop.lowerings = made | ({target.name: stop.lowering} if stop.lowering else {})
            raise
        except Exception as error:  # a defect of ours, or of a library, in this one
            failed[target.name] = IRWidgetError(f"{target.name}: {type(error).__name__}: {error}")
            failed[target.name].__cause__ = error
    if failed:
        raise first_of(failed, made)
    return made


class Start:
    """An object and its inputs, on the way to one or more IR types; each front end begins with them once.

    `wanted` are those IR types, each of which gets its own of the options; without it, whichever comes is the only one.
    """

    def __init__(self, given: Given, asked: LowerOptions | None = None, wanted: Sequence[Target] = ()) -> None:
        self.given = given
        self._wanted = wanted
        self._asked = asked or LowerOptions()
        self._begun: dict[str, Begun] = {}

    def prepare(self, target: Target, how: Options) -> None:
        """Do what the passes wait for: a PyTorch model is exported. Raises ExportError or UsageError."""
        self._begin(target).prepare(how)

    def lower(self, target: Target, extra: tuple[Step, ...], how: Options) -> Lowering:
        """To one IR type, then through the steps of a custom pipeline; with a verdict where one was asked for."""
        begun = self._begin(target)
        how = replace(how, target=self._asked.run(self._share([target])).target)
        pipelines.check_flow(extra, target.name, target.language)
        try:
            made = begun.lower(target, extra, how)
        except Interrupted as stop:
            raise interrupted(self._made(Made(stop.trace), begun, target, how)) from None
        except IRWidgetError as error:
            raise self._refused(error, begun, target, how) from error.__cause__
        lowering = finished(self._made(made, begun, target, how))
        if self.given.check and lowering.check is None:
            with keeping(lowering):
                self._judge(begun, target, lowering, how)
        return lowering

    def onward(self, target: Target, options: Options) -> Origin:
        """How a lowering goes on that another process made of the same object, where it runs with these options."""

        def judged(trace: Trace, how: Options, source: Source | None) -> Verdict:
            if source is None:  # what was lowered there is not here
                return not_checked("another process made the original: lower that with check=True")
            return self._begin(target).verdict(target, trace, how, source)

        def program(low: Lowering, predicate: reduction.Predicate | None, **how: Any) -> reduction.Reduced:
            begun = self._begin(target)
            return reduction.of_lowering(low, predicate, begun=begun, target=target, asked=self._asked, **how)

        return Origin(options, judged, program, of_text=isinstance(self.given.obj, str))

    def _share(self, group: Sequence[Target]) -> dict[str, Any]:
        return routes.share(group, self._wanted or group, self.given.options)

    def _made(self, made: Made, begun: Begun, target: Target, how: Options) -> Lowering:
        sources = {file: places.as_written(file, text) for file, text in made.trace.sources.items()}
        lowering = Lowering(replace(made.trace, sources=sources), made.results)
        lowering.origin = Origin(
            replace(how, progress=None, stop=None),
            lambda trace, options, source: begun.verdict(target, trace, options, source),
            partial(reduction.of_lowering, begun=begun, target=target, asked=self._asked),
            of_text=isinstance(self.given.obj, str),
            constants=made.constants,
        )
        return lowering

    def _refused(self, error: IRWidgetError, begun: Begun, target: Target, how: Options) -> IRWidgetError:
        """The error with the lowering that it ended before any pass; wrong arguments, and text, begin none."""
        if isinstance(error, UsageError) or isinstance(self.given.obj, str):
            return error
        if error.lowering is not None:  # of another IR type: what a front end refuses once is not tried again
            error = copy.copy(error).with_traceback(error.__traceback__)
        trace = refusals.trace_of(error, begun.front_end, begun.given, target.name)
        error.lowering = self._made(Made(trace), begun, target, how)
        return error

    def _judge(self, begun: Begun, target: Target, lowering: Lowering, how: Options) -> None:
        try:
            verdict = begun.verdict(target, lowering.trace, how)
        except Interrupted:
            raise interrupted(lowering) from None
        lowering.trace = checking.with_verdict(lowering.trace, verdict)

    def _begin(self, target: Target) -> Begun:
        base.check_kind(self.given, [target])
        front_end: FrontEnd = base.find(self.given.obj, target)
        base.check_dynamic_shapes(self.given, front_end)
        if front_end.needs_torch:  # imported by a thread that no interrupt reaches; this waits outside the time limit
            with budget.uncounted("the import of PyTorch"):
                imports.wait()
        if front_end.name not in self._begun:
            _logger.debug("%s: the front end %r takes it", target.name, front_end.name)
            group = [one for one in self._wanted if base.find(self.given.obj, one) is front_end]
            self._begun[front_end.name] = front_end.begin(replace(self.given, options=self._share(group or [target])))
        return self._begun[front_end.name]
