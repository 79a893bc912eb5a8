"""Run the steps of a lowering on a piece of IR, and hold on to every dump: `Source(...).run(steps) -> Trace`."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from irwidget.dumps import Content, Dump, Failure, Step, Trace
from irwidget.errors import IRWidgetError, ToolError
from irwidget.toolchain import client, events
from irwidget.toolchain.engine import execute
from irwidget.toolchain.lock import versions
from irwidget.toolchain.tool import Session
from irwidget.toolchain.weights import Values, Weights

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
    """Seconds for all passes together."""
    memory: int | None = field(default=None, compare=False)
    """Bytes that the worker may use; three quarters of the machine's memory when None."""
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


_GLANCE = 0.1
"""Seconds between looks at `Options.stop`."""


class _Stream(Protocol):
    def next(self, timeout: float | None = None) -> events.Event | None: ...


class _Local:
    """The events of a request that runs in this process."""

    def __init__(self, request: events.Request, session: Session) -> None:
        self._iterator: Iterator[events.Event] = execute(request, session)

    def next(self, timeout: float | None = None) -> events.Event | None:
        if timeout == 0:
            raise queue.Empty
        return next(self._iterator, None)


class Source:
    """IR that lowerings start from: MLIR bytecode (of this very torch-mlir) or text in `language`.

    Several runs on one source share the steps that they have in common: these
    run once, and their dumps are the same objects.
    """

    def __init__(
        self, data: bytes | str, language: str = "mlir", *, name: str = "import", step: str = "",
        seconds: float = 0.0, weights: Weights | None = None,
    ) -> None:
        self.data = data
        self.language = language
        self.name = name
        """The name of dump 0."""
        self.step = step or name
        self.seconds = seconds
        """How long it took to make."""
        self.weights = weights
        """The values that the bytecode leaves out."""
        self.everything = weights is None
        """Whether runs get all values, rather than those that passes are known to look at."""
        self.key = uuid.uuid4().hex
        self._session = Session()
        self.done: dict[tuple[Options, tuple[Step, ...]], tuple[Dump, ...]] = {}
        """The dumps, input first, that each run of first steps left."""

    def run(self, steps: Sequence[Step], options: Options | None = None, *, target: str = "") -> Trace:
        """Run the steps; every pass becomes a dump. Failures are in `Trace.failure`, not raised.

        Raises Interrupted on Ctrl-C, with the trace so far.
        """
        options = options or Options()
        if self._lacks_values(steps, options):
            return self.whole.run(steps, options, target=target)
        try:
            execution = _Execution(self, tuple(steps), options, target)
            trace = execution.run()
        except _StateLost:
            self.done.clear()
            execution = _Execution(self, tuple(steps), options, target)
            trace = execution.run()
        if execution.at_fault and not self.everything:  # it may have been for want of values
            with contextlib.suppress(IRWidgetError):  # that they cannot be had is not what went wrong
                return self.whole.run(steps, execution.what_is_left(), target=target)
        return trace

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
        whole = Source(
            self.data, self.language, name=self.name, step=self.step, seconds=self.seconds, weights=self.weights
        )
        whole.everything = True
        return whole

    def stream(self, request: events.Request, options: Options) -> _Stream:
        if not options.isolate:
            return _Local(request, self._session)
        return client.worker(options.memory).submit(request)


class _StateLost(Exception):
    """The worker was restarted since the steps that this run wanted to build on."""


@dataclass(slots=True)
class _Begun:
    """A pass that a run has started."""

    started: events.PassStarted
    ended: events.PassEnded | None = None


class _Execution:
    """One run of some steps on a source."""

    def __init__(self, source: Source, steps: tuple[Step, ...], options: Options, target: str) -> None:
        self.source, self.steps, self.options, self.target = source, steps, options, target
        self.first_step = 0
        self.before: tuple[Dump, ...] = ()
        """Dumps of the steps that an earlier run has done, input first."""
        for count in range(len(steps) - 1, 0, -1):
            if found := source.done.get((options, steps[:count])):
                self.first_step, self.before = count, found
                break
        self.begun: list[_Begun] = []
        self.input_language = source.language
        self.outcome: events.Finished | events.Failed | None = None
        self.crashed = False
        self.started = 0.0

    def run(self) -> Trace:
        started = self.started = time.monotonic()
        stream: _Stream | None = None
        try:
            stream = self.source.stream(self.request(), self.options)
            for event in self._events(stream, started):
                self._take(event, started)
        except client.WorkerDied as death:
            self.outcome = self._died(str(death))
        except queue.Empty:
            self._kill(stream)
            self.outcome = self._failed("timed out", f"after {self.options.timeout:g} s")
        except KeyboardInterrupt:
            self._kill(stream)
            self.outcome = self._failed("was interrupted", "by you")
            raise Interrupted(self._trace(stream)) from None
        return self._trace(stream)

    def request(self, *, stop_after: int | None = None) -> events.Request:
        whole = stop_after is not None or not self.first_step
        return events.Request(
            steps=self.steps, source=self.source.data if whole else None, language=self.source.language,
            key=self.source.key, first_step=0 if whole else self.first_step,
            dumps=self.options.dumps, stop_after=stop_after, elide=self.options.elide, verify=self.options.verify,
            keep_constants=self.options.keep_constants, invocation=self.options.invocation,
            cwd=os.getcwd(), options=dict(self.options.target), values=self._values() if whole else None,
        )

    def _values(self) -> Values | None:
        weights = self.source.weights
        if weights is None:
            return None
        return weights.values(everything=self.source.everything, seconds=self.options.timeout)

    def what_is_left(self) -> Options:
        """The options for going on in the time that this run has left."""
        spent, limit = time.monotonic() - self.started, self.options.timeout
        return self.options if limit is None else replace(self.options, timeout=max(0.001, limit - spent))

    @property
    def at_fault(self) -> bool:
        """Whether a pass failed or crashed."""
        return isinstance(self.outcome, events.Failed) and (self.outcome.kind == "pass" or self.crashed)

    def _events(self, stream: _Stream, started: float) -> Iterator[events.Event]:
        """The events up to the outcome."""
        while True:
            event = self._next(stream, started)
            if event is None:
                raise client.WorkerDied("ended without an answer")
            yield event
            if isinstance(event, events.Finished | events.Failed | events.Lost):
                return

    def _next(self, stream: _Stream, started: float) -> events.Event | None:
        """The next event. Raises queue.Empty at the time limit, KeyboardInterrupt when told to stop."""
        limit, stop = self.options.timeout, self.options.stop
        while True:
            left = None if limit is None else max(0.001, started + limit - time.monotonic())
            if stop is None:
                return stream.next(left)
            if stop.is_set():
                raise KeyboardInterrupt
            try:
                return stream.next(_GLANCE if left is None else min(left, _GLANCE))
            except queue.Empty:
                if left is not None and left <= _GLANCE:
                    raise

    def _take(self, event: events.Event, started: float) -> None:
        match event:
            case events.PassStarted():
                self.begun.append(_Begun(event))
                if self.options.progress:
                    self.options.progress(event, self.steps[event.step], time.monotonic() - started)
            case events.PassEnded(index=0):
                self.input_language = event.language
            case events.PassEnded():
                self.begun[-1].ended = event
            case events.Finished() | events.Failed():
                self.outcome = event
            case events.Lost():
                raise _StateLost
            case events.Printed():
                pass

    def _kill(self, stream: _Stream | None) -> None:
        if isinstance(stream, client.Stream):
            stream.worker.kill()

    def _died(self, how: str) -> events.Failed:
        self.crashed = True
        client.worker()  # so that the next cell need not wait for it
        return self._failed("crashed", f"the worker {how}")

    def _failed(self, verb: str, detail: str) -> events.Failed:
        current = self.begun[-1].started if self.begun and self.begun[-1].ended is None else None
        tool = self.steps[current.step].tool if current else (self.steps[0].tool if self.steps else "")
        name = current.name if current else ""
        where = f"{tool}: pass {name}" if current else tool or "the lowering"
        pipeline = current.pipeline if current else ""
        return events.Failed("tool", f"{where} {verb} ({detail})", name, tool, pipeline=pipeline)

    def _trace(self, stream: _Stream | None) -> Trace:
        ended = [begun for begun in self.begun if begun.ended]
        # Without dumps only the result is kept: of a run that failed, only the input.
        shown = ended if self.options.dumps else ended[-1:] if isinstance(self.outcome, events.Finished) else []
        texts = _Texts(self, stream, len(shown) + 1)
        dumps = list(self.before) or [self._dump(texts, 0, events.PassStarted(0, 0, self.source.name), None)]
        dumps += [self._dump(texts, index, begun.started, begun.ended) for index, begun in enumerate(shown, 1)]
        outcome = self.outcome
        finished = outcome if isinstance(outcome, events.Finished) else None
        failed = outcome if isinstance(outcome, events.Failed) else None
        if finished:
            if shown and finished.content:
                dumps[-1] = replace(dumps[-1], known=finished.content.text)
            self._remember(tuple(dumps), [begun.started.step for begun in shown])
        return Trace(
            self.target, tuple(dumps), self.steps,
            diagnostics=outcome.diagnostics if outcome else (),
            tools={**versions(self.steps), **(finished.tools if finished else {})},
            failure=self._failure(failed) if failed else None,
            attachments=finished.attachments if finished else {}, facts=finished.facts if finished else {},
        )

    def _dump(
        self, texts: _Texts, index: int, started: events.PassStarted, ended: events.PassEnded | None
    ) -> Dump:
        return Dump(
            started.name,
            str(self.steps[started.step]) if ended else self.source.step,
            ended.language if ended else self.input_language,
            lambda: texts.load(index),
            started.options, ended.seconds if ended else self.source.seconds, started.scope,
            is_ready=lambda: texts.ready(index), pipeline=started.pipeline,
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
        begun = self.begun[-1].started.step if self.begun else self.first_step
        step = begun if failed.step is None else failed.step
        return Failure(
            step=str(self.steps[step]) if step < len(self.steps) else "", pass_name=failed.pass_name,
            message=failed.message, diagnostics=failed.diagnostics, kind=failed.kind, tool=failed.tool,
            reproducer=failed.pipeline,
        )


MOST_REPLAYS = 3
"""How often a run that printed nothing new is run again."""


class _Texts:
    """The texts of a run's dumps, arriving from the stream that the run has left behind.

    When the worker has died, the passes are run again in a new one, up to the
    last that ended, so that no dump is lost to a crash, a timeout or Ctrl-C.
    """

    def __init__(self, execution: _Execution, stream: _Stream | None, count: int) -> None:
        self._execution = execution
        self._stream = stream
        self._offset = 0
        self._contents: list[Content | None] = [None] * count
        self._arrived = 0
        self._replays = 0
        self._lock = threading.RLock()

    def load(self, index: int) -> Content:
        """The content after pass `index`; waits for it."""
        with self._lock:
            while self._arrived <= index:
                self._advance(None)
            content = self._contents[index]
            assert content is not None
            return content

    def ready(self, index: int) -> bool:
        """Whether `load` would answer at once."""
        if self._arrived > index:
            return True  # Also while another thread holds the lock and waits for a later one.
        if not self._lock.acquire(blocking=False):
            return False
        try:
            while self._arrived <= index:
                self._advance(0)
        except queue.Empty:
            pass
        finally:
            self._lock.release()
        return self._arrived > index

    def _advance(self, timeout: float | None) -> None:
        """Take one event from the stream."""
        try:
            event = self._stream.next(timeout) if self._stream else None
        except client.WorkerDied:
            event = None
        match event:
            case None:
                self._replay(timeout)
            case events.Printed(index=printed, content=content):
                self._put(printed - self._offset, content)
            case _:
                pass

    def _put(self, index: int, content: Content | None) -> None:
        if not 0 <= index < len(self._contents):
            return
        if content is None:
            before = self._contents[index - 1] if index else self._execution.before[-1].load()
            assert before is not None
            content = replace(before, changed=False)
        self._contents[index] = content
        self._replays = 0
        self._arrived = max(self._arrived, index + 1)

    def _replay(self, timeout: float | None) -> None:
        if timeout == 0:
            raise queue.Empty
        self._replays += 1
        if self._replays > MOST_REPLAYS:
            raise ToolError("The worker dies while it prints this dump again: give it more memory", tool="worker")
        execution = self._execution
        self._offset = max(0, len(execution.before) - 1)
        passes = self._offset + len(self._contents) - 1 if execution.options.dumps else 0
        self._stream = execution.source.stream(execution.request(stop_after=passes), execution.options)
