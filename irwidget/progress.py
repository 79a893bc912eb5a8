"""What a long lowering is at, until the result takes its place: phases, the pass under way, how long it took before."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from irwidget import phases
from irwidget.toolchain.events import PassStarted
from irwidget.trace import Step

PATIENCE = 1.5
"""Seconds before anything is shown: most lowerings are over by then."""
INTERVAL = 0.25
PASSES = "passes"
"""The phase in which passes run."""
COMMAND = "the command"
"""The phase in which a program of the user's runs."""
_MOMENT = 0.001
"""Seconds below which a phase is not worth a word."""
_MOST = 200
"""How many lowerings are remembered by the time they took."""


@dataclass(frozen=True, slots=True)
class Took:
    """How long a lowering took."""

    seconds: float
    passes: int


@dataclass(slots=True)
class Phase:
    """A part of a lowering, one after the other."""

    name: str
    began: float
    seconds: float | None = None
    """None while it goes on."""


@dataclass(slots=True)
class Course:
    """The course of one lowering so far. Times are of one clock, in seconds."""

    name: str
    began: float
    last: Took | None = None
    """How it went the time before, in this kernel."""
    phases: list[Phase] = field(default_factory=list[Phase])
    passes: int = 0
    """How many passes have begun."""
    now: tuple[str, float] | None = None
    """The pass under way, and when it began."""
    step: str = ""

    def enter(self, name: str, now: float) -> None:
        """A phase begins, or none (""), and the one before it is over."""
        if self.phases and self.phases[-1].seconds is None:
            if self.phases[-1].name == name:
                return
            self.phases[-1].seconds = now - self.phases[-1].began
            if self.phases[-1].seconds < _MOMENT:
                del self.phases[-1]
        if name:
            self.phases.append(Phase(name, now))
        self.now = None

    def begin_pass(self, name: str, step: str, now: float) -> None:
        """A pass begins."""
        self.enter(PASSES, now)
        self.passes += 1
        self.now, self.step = (name, now), step

    def hear(self, said: str, now: float) -> None:
        """A command that prints its passes has come this far."""
        self.enter(COMMAND, now)
        self.now = said, now

    def took(self, now: float) -> Took:
        """How long it took, if it is over now."""
        return Took(now - self.began, self.passes)

    def line(self, now: float) -> str:
        """All of it in a line of text."""
        phase = self.phases[-1].name if self.phases and self.phases[-1].seconds is None else ""
        if self.now and not self.passes:
            phase = f"{phase} · {self.now[0]}"
        elif self.now:
            of = f" of {self.last.passes}" if self.last and self.last.passes >= self.passes else ""
            phase = f"{self.step} · pass {self.passes}{of} {self.now[0]} for {now - self.now[1]:.0f} s"
        before = f", last time {self.last.seconds:.1f} s" if self.last else ""
        return " · ".join(filter(None, (self.name, phase, f"{now - self.began:.0f} s{before}")))


_took: dict[Hashable, Took] = {}


class ProgressLine:
    """A context manager that shows what goes on once work takes longer than PATIENCE, with a button that stops it."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self.course = Course("", time.monotonic())
        self._key: Hashable = None
        self._thread = threading.get_ident()
        self._done = threading.Event()
        self._over = threading.Lock()
        self._handle: Any = None
        self._bar: Any = None
        self._idle = threading.Event()
        """Whether nobody shows anything."""
        self._idle.set()

    def begin(self, name: str, key: Hashable = None) -> None:
        """A lowering begins; `key`: what tells it from others, to know it again."""
        self.finish()
        self._key = key
        self.course = Course(name, time.monotonic(), _took.get(key))

    def finish(self) -> None:
        """The lowering that has begun came to its end: how long it took is what is said the next time."""
        if self._key is not None:
            _took.pop(self._key, None)
            _took[self._key] = self.course.took(time.monotonic())
            while len(_took) > _MOST:
                del _took[next(iter(_took))]
        self._key = None

    def fail(self) -> None:
        """It did not come to its end, and says nothing of the next."""
        self._key = None

    def say(self, what: str) -> None:
        """A phase begins."""
        self.course.enter(what, time.monotonic())

    def hear(self, said: str) -> None:
        """A command that prints its passes has come this far."""
        self.course.hear(said, time.monotonic())

    def report(self, started: PassStarted, step: Step, seconds: float) -> None:
        """A pass begins."""
        self.course.begin_pass(started.name, str(step), time.monotonic())

    def stop(self) -> bool:
        """Do as Ctrl-C does, from any thread; whether there was anything to stop."""
        with self._over:
            if self._done.is_set():
                return False
            interrupt(self._thread)
            return True

    def __enter__(self) -> ProgressLine:
        self._listening = phases.heard(self.say)
        self._listening.__enter__()
        if self._enabled:
            self._idle.clear()
            threading.Thread(target=self._work, name="irwidget-progress", daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listening.__exit__(None, None, None)
        self._end()
        self._leave(_Line(f"{self.course.line(time.monotonic())} · ended without a result"))

    def show(self, result: Any) -> None:
        """Display the result where the progress was: the cell has the same outputs however long it took."""
        from IPython.display import display

        self.finish()
        self._end()
        if self._handle:
            self._leave(result)
        else:
            display(result)

    def _leave(self, result: Any) -> None:
        """Put something in the place of the progress, if there was any."""
        if self._handle:
            self._handle.update(result)
            self._handle = None
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _end(self) -> None:
        with self._over:
            self._done.set()
        self._idle.wait()  # not Thread.join, which an interrupt confuses

    def _work(self) -> None:
        try:
            self._watch()
        except Exception as error:  # what is shown meanwhile is not worth an error
            logging.getLogger(__name__).debug("no progress is shown: %s", error)
        finally:
            self._idle.set()

    def _watch(self) -> None:
        from IPython.display import display

        if self._done.wait(PATIENCE):
            return
        from irwidget.views.progress import ProgressBar

        self._bar = ProgressBar(self.stop)
        self._bar.take(self.course, time.monotonic())
        self._handle = display(self._bar, display_id=True)
        while not self._done.wait(INTERVAL):
            self._bar.take(self.course, time.monotonic())


def interrupt(thread: int) -> None:
    """Have a thread, which must be the main one, do as on Ctrl-C. A wait for a lock ends, too, where signals can."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGINT)
    else:  # Windows
        import _thread

        _thread.interrupt_main()


class _Line:
    """Plain text that displays as itself."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
