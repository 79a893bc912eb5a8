"""Run the steps of a lowering on a piece of IR, and hold on to every dump: `Source(...).run(steps) -> Trace`."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from irwidget import phases
from irwidget.errors import IRWidgetError
from irwidget.lazy import cached_property
from irwidget.toolchain import budget, client, events
from irwidget.toolchain.budget import Budget, TimeIsUp
from irwidget.toolchain.lock import versions
from irwidget.toolchain.named import Naming
from irwidget.toolchain.parsing import deepest
from irwidget.toolchain.streams import Local, Stream, next_event
from irwidget.toolchain.texts import StreamedTexts
from irwidget.toolchain.tool import WorkerSession
from irwidget.toolchain.weights import Values, Weights
from irwidget.trace import Diagnostic, Dump, Failure, Step, Trace, dump

_logger = logging.getLogger(__name__)

Progress = Callable[[events.PassStarted, Step, float], None]
"""Told of each pass as it begins: the pass, its step, seconds since the run began."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `trace` holds what was done before it."""

    def __init__(self, trace: Trace) -> None:
        super().__init__("interrupted")
        self.trace = trace


@dataclass(frozen=True)
class Options:
    """How to run, as opposed to what."""

    isolate: bool = True
    """Run in the worker process; otherwise in this one, where a compiler's crash is ours."""
    timeout: float | None = field(default=None, compare=False)
    """Seconds for this run, and for each later look at its texts; a budget of the lowering limits it further."""
    memory: int | None = field(default=None, compare=False)
    """Bytes that the worker may use; three quarters of the machine's or the container's memory when None."""
    side: int = field(default=0, compare=False)
    """The number of a worker of its own, beside the one that all runs share: these run side by side."""
    folders: tuple[str, ...] = ()
    """What the worker imports from before all else: the folders of a toolchain. Takes `isolate`."""
    dumps: bool = True
    elide: bool = True
    verify: bool = True
    target: tuple[tuple[str, str], ...] = ()
    """Target options: `arch`, `opt_level` ..."""
    keep_constants: bool = False
    """Give programs large constants in full: their result will be executed."""
    invocation: events.Invocation | None = field(default=None, compare=False)
    """What the `execute` tool calls `@main` with."""
    progress: Progress | None = field(default=None, compare=False)
    stop: threading.Event | None = field(default=None, compare=False)
    """Set from another thread, it ends the run as Ctrl-C does, within a tenth of a second."""


_DEEP = 1000
"""Levels of nesting from which on a crash may be the end of a stack."""
_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "MemoryError", "Cannot allocate memory")


class Source:
    """IR that lowerings start from: MLIR bytecode (of this very torch-mlir) or text in `language`.

    Several runs on one source share the steps that they have in common: these
    run once, and their dumps are the same objects.
    """

    def __init__(
        self,
        data: bytes | str,
        language: str = "mlir",
        *,
        name: str = "import",
        seconds: float = 0.0,
        weights: Weights | None = None,
        naming: Naming | None = None,
    ) -> None:
        self.data = data
        self.language = language
        self.name = name
        """The name of dump 0."""
        self.seconds = seconds
        """How long it took to make."""
        self.weights = weights
        """The values that the bytecode leaves out."""
        self.naming = naming
        """Constants that a text only names: those of bytecode whose weights these are."""
        self.everything = weights is None
        """Whether runs get all values, rather than those that passes are known to look at."""
        self.key = uuid.uuid4().hex
        self._session = WorkerSession()
        self.done: dict[tuple[Options, tuple[Step, ...]], tuple[Dump, ...]] = {}
        """The dumps, input first, that each run of first steps left."""

    def run(self, steps: Sequence[Step], options: Options | None = None, *, target: str = "") -> Trace:
        """Run the steps; every pass becomes a dump. Failures are in `Trace.failure`, not raised.

        Raises Interrupted on Ctrl-C, with the trace so far.
        """
        options = options or Options()
        if self._lacks_values(steps, options):
            return self.whole.run(steps, options, target=target)
        execution, trace = self._execute(steps, options, target)
        if execution.at_fault and not self.everything:  # it may have been for want of values
            with contextlib.suppress(IRWidgetError):  # that they cannot be had is not what went wrong
                return self.whole.run(steps, execution.what_is_left(), target=target)
        return trace

    def _execute(self, steps: Sequence[Step], options: Options, target: str) -> tuple[_Execution, Trace]:
        """Run the steps, again where the worker has lost what they build on or had too much else to hold."""
        fresh = False
        while True:
            execution = _Execution(self, tuple(steps), options, target, fresh=fresh)
            try:
                return execution, execution.run()
            except _StateLost:
                self.done.clear()
            except _Crowded:
                fresh = True

    @property
    def size(self) -> int:
        """Bytes of the IR, with the weights that it leaves out."""
        return len(self.data) + (self.weights.size if self.weights else 0)

    def _lacks_values(self, steps: Sequence[Step], options: Options) -> bool:
        in_full = options.keep_constants or not options.elide
        return not self.everything and self.weights is not None and self.weights.needed(steps, in_full=in_full)

    @cached_property
    def whole(self) -> Source:
        """The same with all values. Its own source: steps that have run without values are not shared with it."""
        whole = Source(self.data, self.language, name=self.name, seconds=self.seconds)
        whole.weights, whole.naming = self.weights, self.naming
        return whole

    def stream(self, request: events.Request, options: Options, *, fresh: bool = False, again: bool = False) -> Stream:
        """The request as a stream that has not begun; `fresh`: in a worker that has done nothing else; `again`: for the
        texts of what has run, which gives way to what has not.
        """
        if not options.isolate:
            return Local(request, self._session)
        job = client.Job(request, options.memory, options.side, options.folders)
        job.fresh, job.gives_way = fresh, again
        return job


class _Crowded(Exception):
    """Memory ran out in a worker that had other sources, too: they may have had it."""


class _StateLost(Exception):
    """The worker was restarted since the steps that this run wanted to build on."""


@dataclass(slots=True)
class _Begun:
    """A pass that a run has started."""

    started: events.PassStarted
    ended: events.PassEnded | None = None


class _Execution:
    """One run of some steps on a source."""

    def __init__(
        self, source: Source, steps: tuple[Step, ...], options: Options, target: str, *, fresh: bool = False
    ) -> None:
        self.source, self.steps, self.options, self.target = source, steps, options, target
        self.fresh = fresh
        whole = budget.current()
        named = "this lowering" if whole is None or whole.seconds == options.timeout else "this run"
        self.budget = Budget(options.timeout, of=named, within=whole)
        self.first_step = 0
        self.before: tuple[Dump, ...] = ()
        """Dumps of the steps that an earlier run has done, input first."""
        for count in range(len(steps) - 1, 0, -1):
            if found := source.done.get((options, steps[:count])):
                self.first_step, self.before = count, found
                break
        self.begun: list[_Begun] = []
        self.step = self.first_step
        """The step under way."""
        self.said: tuple[Diagnostic, ...] = ()
        """What the passes have printed and remarked so far."""
        self.input_language = source.language
        self.read: bool | None = None
        """Whether the input could be read; None while nobody knows."""
        self.outcome: events.Finished | events.Failed | None = None
        self.crashed = False

    def run(self) -> Trace:
        stream = self.source.stream(self.request(), self.options, fresh=self.fresh)
        whole = budget.current()
        try:
            with whole.watched() if whole else contextlib.nullcontext():
                stream.begin()
                for event in self._events(stream):
                    self._take(event)
        except client.WorkerDied as death:
            self.outcome = self._died(stream, str(death))
        except TimeIsUp:
            stream.cancel()
            self.outcome = self._failed("timed out", self.budget.limit + self._silent(stream))
        except KeyboardInterrupt:
            stream.cancel()
            failed = self._failed("was interrupted", f"by you, after {self.budget.spent:.0f} s")
            self.outcome = replace(failed, kind="interrupt")
            raise Interrupted(self._trace(stream)) from None
        except BaseException:
            stream.cancel()
            raise
        if self._crowded(stream):
            raise _Crowded
        how = self.outcome.message if isinstance(self.outcome, events.Failed) else "ran"
        _logger.debug("%s: %.3f s, %s", " | ".join(step.tool for step in self.steps), self.budget.spent, how)
        return self._trace(stream)

    def _crowded(self, stream: Stream) -> bool:
        if not isinstance(stream, client.Job) or stream.alone or not isinstance(self.outcome, events.Failed):
            return False
        return any(word in self.outcome.message for word in _OUT_OF_MEMORY)

    def _silent(self, stream: Stream) -> str:
        asked = isinstance(stream, client.Job) and stream.sent is not None and not stream.began
        return "; the worker did not answer" if asked else ""

    def request(self, *, stop_after: int | None = None) -> events.Request:
        whole = stop_after is not None or not self.first_step
        return events.Request(
            steps=self.steps,
            source=self.source.data if whole else None,
            language=self.source.language,
            key=self.source.key,
            first_step=0 if whole else self.first_step,
            dumps=self.options.dumps,
            stop_after=stop_after,
            elide=self.options.elide,
            verify=self.options.verify,
            keep_constants=self.options.keep_constants,
            invocation=self.options.invocation,
            cwd=os.getcwd(),
            options=dict(self.options.target),
            values=self._values() if whole else None,
            naming=self.source.naming if whole else None,
        )

    def _values(self) -> Values | None:
        weights = self.source.weights
        if weights is None:
            return None
        return weights.values(everything=self.source.everything, seconds=self.options.timeout)

    def what_is_left(self) -> Options:
        """The options for going on in the time that this run has left."""
        left = self.budget.left()
        return self.options if left is None else replace(self.options, timeout=max(0.001, left))

    @property
    def at_fault(self) -> bool:
        """Whether a pass failed or crashed, on IR that could be read."""
        failed = isinstance(self.outcome, events.Failed) and (self.outcome.kind == "pass" or self.crashed)
        return failed and self.read is True

    def _events(self, stream: Stream) -> Iterator[events.Event]:
        """The events up to the outcome."""
        while True:
            event = next_event(stream, self.budget, self.options.stop)
            if event is None:
                raise client.WorkerDied("ended without an answer")
            yield event
            if isinstance(event, events.Finished | events.Failed | events.Lost):
                return

    def _take(self, event: events.Event) -> None:
        match event:
            case events.Began():
                self.begun.clear()  # when it was run before, in a worker that has been ended for another's sake
                self.step = self.first_step
            case events.StepStarted():
                self.step = event.step
            case events.PassStarted():
                self.begun.append(_Begun(event))
                if self.options.progress:
                    self.options.progress(event, self.steps[event.step], self.budget.spent)
            case events.PassEnded(index=0):
                self.input_language = event.language
                self.read = True
            case events.PassEnded():
                self.begun[-1].ended = event
                self.said += event.said
            case events.Finished() | events.Failed():
                phases.entering(phases.TEXTS)
                self.outcome = event
                self.read = self.read or False
            case events.Lost():
                raise _StateLost
            case events.Printed():
                pass

    def _died(self, stream: Stream, how: str) -> events.Failed:
        self.crashed = True
        client.warm()  # so that the next cell need not wait for it
        began = not isinstance(stream, client.Job) or stream.began
        return self._failed("crashed" if began else "did not run", f"the worker {how}{self._nested(how)}")

    def _nested(self, how: str) -> str:
        """What may have ended the stack of a parser or a pass, which call themselves for each level."""
        text = self.source.data
        depth = deepest(text) if "SIGSEGV" in how and isinstance(text, str) else 0
        if depth < _DEEP:
            return ""
        return f"; the IR has {depth} brackets open at once, perhaps more than a stack holds: nest it less deeply"

    def _failed(self, verb: str, detail: str) -> events.Failed:
        last = self.begun[-1] if self.begun else None
        current = last.started if last and last.ended is None and not last.started.over else None
        tool = self.steps[self.step].tool if self.steps else ""
        name = current.name if current else ""
        where = f"{tool}: pass {name}" if current else tool or "the lowering"
        pipeline = current.pipeline if current else ""
        return events.Failed("tool", f"{where} {verb} ({detail})", name, tool, pipeline=pipeline)

    def _trace(self, stream: Stream) -> Trace:
        ended = [begun for begun in self.begun if begun.ended]
        # Without dumps only the result is kept: of a run that failed, only the input.
        shown = ended if self.options.dumps else ended[-1:] if isinstance(self.outcome, events.Finished) else []
        texts = self._texts(stream, len(shown) + 1)
        dumps = list(self.before) or [self._input(texts)]
        dumps += [self._dump(texts, index, begun.started, begun.ended) for index, begun in enumerate(shown, 1)]
        outcome = self.outcome
        found = outcome.found if outcome else events.Found()
        finished = outcome if isinstance(outcome, events.Finished) else None
        failed = outcome if isinstance(outcome, events.Failed) else None
        if finished:
            if shown and finished.content:
                texts.known[len(shown)] = finished.content.text
            self._remember(tuple(dumps), [begun.started.step for begun in shown])
        return Trace(
            self.target,
            tuple(dumps),
            self.steps,
            diagnostics=finished.diagnostics if finished else (*(failed.diagnostics if failed else ()), *self.said),
            tools={**versions(self.steps, self.options.folders), **found.tools},
            failure=self._failure(failed) if failed else None,
            attachments=found.attachments,
            facts=found.facts,
            every_pass=len(shown) == len(ended),
        )

    def _input(self, texts: StreamedTexts) -> Dump:
        """Dump 0. No worker prints IR that it could not read: text is what it was given as, bytecode stays unknown."""
        source = self.source
        if not self.read and isinstance(source.data, str):
            return dump(source.name, source.data, step=-1, language=source.language, seconds=source.seconds)
        if self.read is False:
            unknown = "// The module could not be read.\n"
            return dump(source.name, unknown, step=-1, language=source.language, seconds=source.seconds)
        return self._dump(texts, 0, events.PassStarted(0, 0, source.name), None)

    def _texts(self, stream: Stream, count: int) -> StreamedTexts:
        offset = max(0, len(self.before) - 1)
        passes = offset + count - 1 if self.options.dumps else 0
        request = self.request(stop_after=passes)
        return StreamedTexts(
            stream,
            count,
            again=lambda: self.source.stream(request, self.options, again=True),
            offset=offset,
            before=self.before,
            seconds=self.options.timeout,
            source=self.source.data if isinstance(self.source.data, str) and not self.before else None,
        )

    def _dump(
        self, texts: StreamedTexts, index: int, started: events.PassStarted, ended: events.PassEnded | None
    ) -> Dump:
        return Dump(
            started.name,
            started.step if ended else -1,
            ended.language if ended else self.input_language,
            texts,
            index,
            started.options,
            ended.seconds if ended else self.source.seconds,
            started.scope,
            started.pipeline,
        )

    def _remember(self, dumps: tuple[Dump, ...], step_of: list[int]) -> None:
        """Note what each run of first steps left, for later runs on this source."""
        if not self.options.dumps:
            return
        offset = len(dumps) - len(step_of)
        for number in range(self.first_step, len(self.steps)):
            count = offset + sum(1 for step in step_of if step <= number)
            self.source.done[self.options, self.steps[: number + 1]] = dumps[:count]

    def _failure(self, failed: events.Failed) -> Failure:
        step = self.step if failed.step is None else failed.step
        return Failure(
            step=step if step < len(self.steps) else -1,
            pass_name=failed.pass_name,
            message=failed.message,
            diagnostics=failed.diagnostics,
            kind=failed.kind,
            tool=failed.tool,
            reproducer=failed.pipeline,
        )
