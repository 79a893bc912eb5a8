"""A custom pipeline under edit, as a Jupyter widget: its steps, what came of them, and the pass diff below."""

from __future__ import annotations

import gzip
import itertools
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anywidget
import traitlets

from irwidget import options, routes
from irwidget.editor import catalogue, chain, requests
from irwidget.editor.chain import PassInvocation
from irwidget.editor.outcome import RunPlan, route_of, with_outcome
from irwidget.editor.reproduce import Names, Summary, call, magic_line
from irwidget.errors import IRWidgetError, LoweringInterrupted, UsageError, near
from irwidget.failures import limited
from irwidget.frontends import base as base_front_end
from irwidget.frontends.base import Given
from irwidget.lowering import Lowering, Start
from irwidget.toolchain import events
from irwidget.trace import Step, Trace, dump
from irwidget.views import base, fallbacks
from irwidget.views.bundle import bundle
from irwidget.views.packing import has_graphs, opening
from irwidget.views.widget import PassDiff


class ResultDiff(PassDiff):
    """The pass diff of the last run: one widget, so that search, layout and the like stay from run to run."""

    def __init__(self, target: str) -> None:
        super().__init__([Trace(target, (dump("input", "", step=-1),))])
        self._keep = True

    def take(self, trace: Trace, *, later: bool = False) -> None:
        """Show another trace; returns when all of it has been sent, or with `later` at once."""
        traces = (trace,)
        left, right = opening(traces[0])
        packer = self._packer(traces)
        packer.add({(0, left), (0, right)})
        with self.hold_sync():
            self.traces = traces
            self.trace, self.against, self.symbol = 0, -1, ""
            self.data = packer.data
            self.graph = bundle("graph") if has_graphs(self.traces) else None
            self.left, self.right = left, right
        fill = partial(self._fill, packer, (left, right))
        _thread_kind()(target=fill, name="irwidget-fill", daemon=True).start() if later else fill()


class Pipeline(base.BundledView):
    """Edit a custom pipeline in the notebook, run it, and see every pass as a diff below.

    `obj` and `inputs` are what `irwidget.lower` takes; `to` is the IR type that the pipeline starts from, `pipeline`
    its text. A model is exported at once; ExportError names the line if it cannot be.

    `allow_tools` says what the page may add: names of tools, and whole commands of your own programs
    (`"user-tool ./mine --flag"`). Steps that Python gives in `pipeline` may be anything; the page can move, disable
    and remove these. `external=True` runs the tools as real programs. `names` are the variables that hold the object
    and its inputs, for `magic` and `call`; `[""]` leaves them to the cell. Other options are those of `irwidget.lower`.

    The traits can be set from Python and observed; they change on another thread while the pipeline runs. A page
    cannot set any of them: it asks, and each request is checked.

    Raises UsageError for what cannot be lowered or is no pipeline, and LoweringInterrupted for Ctrl-C in the export.
    """

    _code = "pipeline"

    name = traitlets.Unicode(read_only=True).tag(sync=True)
    """The model or kernel."""
    target = traitlets.Unicode().tag(sync=True)
    """The IR type that the pipeline goes on from."""
    targets = traitlets.List(traitlets.Dict(), read_only=True).tag(sync=True)
    """The IR types to choose from: name and summary."""
    pipeline = traitlets.Unicode().tag(sync=True)
    """The enabled steps as one line, as `lower(..., pipeline=)` takes it."""
    steps = traitlets.Tuple().tag(sync=True, to_json=lambda links, _: _steps_json(links))
    """The steps: a tuple of `irwidget.editor.chain.PassInvocation`, with state, seconds and stage of the last run."""
    route = traitlets.Tuple(read_only=True).tag(sync=True, to_json=lambda links, _: _steps_json(links))
    """What leads to the IR type, likewise; input first."""
    status = traitlets.Enum(("ready", "running", "done", "failed", "stopped"), "ready", read_only=True).tag(sync=True)
    message = traitlets.Unicode(read_only=True).tag(sync=True)
    """What went wrong, or what is going on."""
    magic = traitlets.Unicode(read_only=True).tag(sync=True)
    """The `%%lower` line that reproduces the pipeline."""
    call = traitlets.Unicode(read_only=True).tag(sync=True)
    """The Python call that reproduces the pipeline."""
    lowering: Lowering | None = traitlets.Instance(Lowering, allow_none=True, read_only=True)  # pyright: ignore[reportAssignmentType]
    """What the last run made, as far as it got."""

    passes = traitlets.Bytes(read_only=True).tag(sync=True)
    diff = anywidget.WidgetTrait().tag(sync=True)

    def __init__(
        self,
        obj: Any,
        *inputs: Any,
        to: str | None = None,
        pipeline: str = "",
        allow_tools: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        **given: Any,
    ) -> None:
        self._stop = threading.Event()
        asked, target_options = options.split({**given, "pipeline": pipeline})
        _check_fits(given)
        self._tools = catalogue.check_allowed(catalogue.offered_tools() if allow_tools is None else allow_tools)
        self._allowed: catalogue.Catalogue | None = None
        self._options = partial(replace, asked.run(target_options))
        self._target_options = target_options
        self._external = asked.external
        self._start = Start(
            Given(obj, inputs, asked.kwargs or {}, asked.dynamic_shapes, asked.name, False, target_options, asked.route)
        )
        choices = choices_for(obj)
        wanted = to or choices[0].name
        self._target = self._resolve(wanted, choices)
        with limited(self._options()):
            self._start.prepare(self._target, self._options())
        self._names = Names(obj, inputs, asked.kwargs, asked.dynamic_shapes, target_options, asked.external, names)
        self._fresh = partial(next, itertools.count(1))
        self._lock = threading.RLock()
        self._over = threading.Event()
        """Set when the run under way has ended."""
        self._over.set()
        self._ran: tuple[PassInvocation, ...] = ()
        self.error: BaseException | None = None
        """What ended the last run early."""
        super().__init__()
        self._result = ResultDiff(wanted)  # now, because marimo makes widgets while a cell runs and only then
        self.set_trait("name", self._start.given.called)
        self.set_trait("targets", [{"name": one.name, "summary": one.summary} for one in choices])
        self.set_trait("route", route_of(self._target))
        self.target = wanted
        self.steps = chain.parse(pipeline)
        self._describe()
        self.on_msg(self._asked)
        _thread_kind()(target=self._list_passes, name="irwidget-passes", daemon=True).start()

    # Traits

    def _resolve(self, name: str, choices: Sequence[routes.Target]) -> routes.Target:
        if name not in [choice.name for choice in choices]:
            raise UsageError(f"This cannot start from {name!r}. {near(name, [choice.name for choice in choices])}")
        routes.check_names([routes.find(name)], self._target_options, options.NAMES)
        return routes.resolve([name], "robust", self._target_options)[0]

    @traitlets.validate("target")
    def _check_target(self, proposal: Any) -> str:
        self._resolve(proposal.value, choices_for(self._start.given.obj))
        return proposal.value

    @traitlets.observe("target")
    def _new_target(self, _: Any) -> None:
        target = self._resolve(self.target, choices_for(self._start.given.obj))
        if target != self._target:
            with limited(self._options()):
                self._start.prepare(target, self._options())
            self._target = target
            self._ran = ()
            self.set_trait("route", route_of(target))
            self.steps = tuple(link.forget() for link in self.steps)
        self._describe()

    @traitlets.validate("steps")
    def _check_steps(self, proposal: Any) -> tuple[PassInvocation, ...]:
        links: list[PassInvocation] = []
        for link in proposal.value:
            if not isinstance(link, PassInvocation):
                kind = type(link).__name__
                raise UsageError(
                    f"steps takes irwidget.editor.chain.PassInvocation, not {kind}; or set pipeline, a text"
                )
            links.append(link if link.id else replace(link, id=self._fresh()))
        chain.steps(links)
        return tuple(links)

    @traitlets.observe("steps")
    def _new_steps(self, _: Any) -> None:
        with self._lock:
            self.pipeline = chain.text(self.steps)
            self._describe()

    @traitlets.validate("pipeline")
    def _check_pipeline(self, proposal: Any) -> str:
        return chain.text(chain.parse(proposal.value))

    @traitlets.observe("pipeline")
    def _new_pipeline(self, _: Any) -> None:
        with self._lock:
            if self.pipeline != chain.text(self.steps):
                self.steps = self._kept(chain.parse(self.pipeline))

    def _kept(self, links: Sequence[PassInvocation]) -> tuple[PassInvocation, ...]:
        """Steps with the results of the last run, as far as they begin as it did."""
        ran = [link for link in self._ran if link.enabled]
        kept: list[PassInvocation] = []
        same = True
        for link in links:
            if not link.enabled:
                kept.append(link.forget())
                continue
            before = ran.pop(0) if ran else None
            same = same and before is not None and link.same(before)
            result = (
                {"state": before.state, "seconds": before.seconds, "stage": before.stage} if same and before else {}
            )
            kept.append(replace(link.forget(), **result))
        return tuple(kept)

    def _describe(self) -> None:
        self.set_trait("magic", magic_line(self._names, self.target, self.pipeline))
        self.set_trait("call", call(self._names, self.target, self.pipeline))

    def set_state(self, sync_data: Mapping[str, Any]) -> None:
        """A page sets nothing: put back what it shows."""
        self.send_state([key for key in sync_data if key in self.keys])

    # Passes to choose from

    def _list_passes(self) -> None:
        try:
            shown = self.catalogue()
        except IRWidgetError as error:
            self.set_trait("message", str(error))
            return
        except Exception as error:
            self.set_trait("message", f"{type(error).__name__}: {error}")
            return
        self.set_trait("passes", gzip.compress(catalogue.to_json(shown).encode(), mtime=0))

    def catalogue(self) -> catalogue.Catalogue:
        """What the page may add: tool -> pass -> its options. Raises ToolError when it cannot be found out."""
        if self._allowed is None:
            self._allowed = catalogue.allowed(catalogue.catalogue(), self._tools)
        return self._allowed

    # What the page asks

    def _asked(self, _: Any, content: object, __: Any) -> None:
        """Answer a message of the page; each that has a number gets an answer."""
        number = requests.number(content)
        try:
            self._obey(requests.read(content))
            answer: dict[str, Any] = {"id": number, "ok": True}
        except IRWidgetError as error:
            answer = {"id": number, "error": str(error)}
        except Exception as error:  # a defect of ours must not leave the page without an answer
            answer = {"id": number, "error": f"{type(error).__name__}: {error}"}
        if number is not None:
            self.send(answer)

    def _obey(self, asked: requests.EditorRequest) -> None:
        match asked.do:
            case "run":
                self._begin(asked.fields["step"])
            case "stop":
                self.stop()
            case "target":
                self.target = asked.fields["name"]
            case _:
                with self._lock:
                    self.steps = self._kept(requests.edited(self.steps, asked, self.catalogue(), self._fresh))

    # Running

    def start(self, upto: int | None = None) -> None:
        """Begin to run the pipeline, or its first steps up to index `upto`; `wait` waits for the end.

        Raises UsageError when it runs already.
        """
        self._begin(self.steps[upto].id if upto is not None else 0)

    def run(self, upto: int | None = None) -> Lowering:
        """Run the pipeline, or its first steps up to index `upto`, and return what it made.

        Raises what `irwidget.lower` raises, and UsageError when it runs already; Ctrl-C stops the run.
        """
        self.start(upto)
        return self.wait()

    def wait(self, timeout: float | None = None) -> Lowering:
        """Wait for the run under way, at most `timeout` seconds.

        Raises what ended it early, UsageError when nothing has run, and TimeoutError.
        """
        over = self._over  # not Thread.join: interrupted, it takes the thread for ended
        try:
            while not over.wait(0.1 if timeout is None else min(timeout, 0.1)):
                if timeout is not None and (timeout := timeout - 0.1) <= 0:
                    raise TimeoutError("The pipeline is still running")
        except KeyboardInterrupt:
            self.stop()
            over.wait(10)
        if self.error is not None:
            raise self.error
        if self.lowering is None:
            raise UsageError("The pipeline has not run yet: run()")
        return self.lowering

    def stop(self) -> None:
        """Stop the run under way within a second; the dumps that it has made are kept."""
        self._stop.set()

    def _begin(self, last: int) -> None:
        with self._lock:
            if self.status == "running":
                raise UsageError("The pipeline is running: stop it first")
            links = list(self.steps)
            if last > 0:
                links = links[: requests.place(links, last) + 1]
            elif last < 0:  # within the route: -1 is the whole of it
                links = []
            self._stop = threading.Event()
            self.error = None
            self._ran = ()
            waiting = [link.id for link in links if link.enabled]
            self.steps = tuple(
                replace(link.forget(), state="waiting") if link.id in waiting else link.forget() for link in self.steps
            )
            self.set_trait("route", tuple(replace(link.forget(), state="waiting") for link in self.route))
            self.set_trait("message", "")
            self.set_trait("status", "running")
            self._over = threading.Event()
            _thread_kind()(target=self._run, args=(tuple(links), self._over), name="irwidget-run", daemon=True).start()

    def _run(self, links: tuple[PassInvocation, ...], over: threading.Event) -> None:
        try:
            self._work(links)
        finally:
            over.set()

    def _work(self, links: tuple[PassInvocation, ...]) -> None:
        """Lower, on a thread of its own, and show what came out."""
        lowering: Lowering | None = None
        status, message = "done", ""
        steps = chain.steps(links, self._external)
        self._plan = RunPlan(self._target.steps, steps, [link.id for link in links if link.enabled])
        options = self._options(stop=self._stop, progress=self._progress)
        try:
            with limited(options):
                lowering = self._start.lower(self._target, steps, options)
        except LoweringInterrupted as error:
            lowering, self.error, status, message = error.lowering, error, "stopped", "Stopped"
        except IRWidgetError as error:
            lowering, self.error, status, message = error.lowering, error, "failed", str(error)
        except BaseException as error:  # whoever waits must be told
            self.error, status, message = error, "failed", f"{type(error).__name__}: {error}"
        try:
            self._show(lowering, links, status)
        except BaseException as error:  # the view must not stay at "running"
            self.error, status, message = error, "failed", f"{type(error).__name__}: {error}"
        self.set_trait("message", message)
        self.set_trait("status", status)

    def _progress(self, event: events.PassStarted, step: Step, _: float) -> None:
        """Mark the step whose pass begins; called on the thread of the run."""
        with self._lock:
            if (moved := self._plan.advance(event.step, step)) is None:
                return
            route = len(self.route)
            marked = [replace(link, state=self._plan.state(i)) for i, link in enumerate(self.route)]
            self.set_trait("route", tuple(marked))
            states = {id: self._plan.state(route + i) for i, id in enumerate(self._plan.ids)}
            self.steps = tuple(
                replace(link, state=states[link.id]) if link.id in states else link for link in self.steps
            )
            self.set_trait("message", f"Step {moved + 1} of {self._plan.count}: {event.name}")

    def _show(self, lowering: Lowering | None, links: tuple[PassInvocation, ...], status: str) -> None:
        trace = lowering.trace if lowering else None
        route, ran = with_outcome(route_of(self._target), links, trace, status)
        with self._lock, self.hold_sync():
            self._ran = ran
            self.set_trait("route", route)
            self.steps = self._kept([link.forget() for link in self.steps])
            if lowering is not None and lowering.dumps:
                self.set_trait("lowering", lowering)
        if lowering is not None and lowering.dumps and self._result.comm is not None:
            self._result.take(lowering.trace, later=status == "stopped")  # others may have the worker
            self.diff = self._result

    # The rest

    def close(self) -> None:
        """Stop, take the view off the page and let go of the dumps."""
        self.stop()
        if self.comm is None:
            return
        self._result.close()
        super().close()

    def __repr__(self) -> str:
        return f"<Pipeline of {self.name} from {self.target}: {self.pipeline or 'no steps'}; {self.status}>"

    def fallbacks(self) -> tuple[str, str]:
        traces = [self.lowering.trace] if self.lowering else []
        said = Summary(self.name, self.target, self.status, self.steps, self.message, self.magic, self.call)
        return (
            said.html + (fallbacks.html(traces) if traces else ""),
            said.text + ("\n" + fallbacks.text(traces) if traces else ""),
        )


def _thread_kind() -> type[threading.Thread]:
    """What a thread is made of here: marimo lets only threads of its own make widgets for the page."""
    marimo: Any = sys.modules.get("marimo")
    return marimo.Thread if marimo is not None and marimo.running_in_notebook() else threading.Thread


def _check_fits(given: Mapping[str, Any]) -> None:
    """Raise UsageError for options of a lowering that a pipeline under edit does not have."""
    if name := next((name for name in ("dumps", "check", "route", "toolchain", "progress") if name in given), None):
        raise UsageError(f"A Pipeline shows every pass of the usual route in a widget: leave out {name}")


def choices_for(obj: Any) -> list[routes.Target]:
    """The IR types that a pipeline for this object can start from; the usual one first."""
    front_end = base_front_end.of_kind(obj)
    kind = "raw" if isinstance(obj, str) else front_end.name if front_end else "pytorch"
    return [one for one in routes.targets().values() if one.front_end == kind]


def _steps_json(links: Sequence[PassInvocation]) -> list[dict[str, Any]]:
    return [
        {
            "id": link.id,
            "tool": link.tool,
            "pass": link.name,
            "label": link.label,
            "text": link.words,
            "options": dict(link.options),
            "enabled": link.enabled,
            "state": link.state,
            "seconds": link.seconds,
            "stage": link.stage,
        }
        for link in links
    ]
