"""What a long lowering is at, until the result takes its place: phases, the pass under way, how long it took before."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Hashable
from typing import Any

from irwidget import phases, private_ipython
from irwidget.course import Course, Took
from irwidget.toolchain.events import PassStarted
from irwidget.trace import Step

PATIENCE = 1.5
"""Seconds before anything is shown: most lowerings are over by then."""
INTERVAL = 0.25
_MOST = 200
"""How many lowerings are remembered by the time they took."""


_took: dict[Hashable, Took] = {}


class ProgressLine:
    """A context manager that shows what goes on once work takes longer than PATIENCE, with a button that stops it."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self.course = Course("", time.monotonic())
        self._key: Hashable = None
        self._latest: Hashable = None
        """The key of the last lowering that came to its end and is not shown yet."""
        self._thread = threading.get_ident()
        self._done = threading.Event()
        self._over = threading.Lock()
        self._handle: Any = None
        self._bar: Any = None
        self._shown = False
        """Whether a result stands where the progress was, to be replaced by the next."""
        self._idle = threading.Event()
        """Whether nobody shows anything."""
        self._idle.set()

    def begin(self, name: str, key: Hashable = None) -> None:
        """A lowering begins; `key`: what tells it from others, to know it again."""
        self.finish()
        self._key, self._latest = key, None
        self.course = Course(name, time.monotonic(), _took.get(key))

    def finish(self) -> None:
        """The lowering that has begun came to its end: how long it took is what is said the next time."""
        if self._key is not None:
            self._remember(self._key)
            self._key, self._latest = None, self._key

    def _remember(self, key: Hashable) -> None:
        _took.pop(key, None)
        _took[key] = self.course.took(time.monotonic())
        while len(_took) > _MOST:
            del _took[next(iter(_took))]

    def fail(self) -> None:
        """It did not come to its end, and says nothing of the next."""
        self._key = self._latest = None

    def say(self, what: str) -> None:
        """A phase begins."""
        self.course.enter(what, time.monotonic())

    def hear(self, said: str) -> None:
        """A command that prints its passes has come this far."""
        self.course.hear(said, time.monotonic())

    def report(self, started: PassStarted, step: Step, seconds: float) -> None:
        """A pass begins."""
        self.course.begin_pass(started.name, str(step), time.monotonic(), over=started.over)

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
        if not self._shown:
            self._leave(_Line(f"{self.course.line(time.monotonic())} · ended without a result"))

    def show(self, result: Any, *, again: bool = False) -> None:
        """Display the result where the progress was: the cell has the same outputs however long it took.

        `again`: what is shown next takes its place. The progress stays while the result is made ready, which may wait
        for texts.
        """
        from IPython.display import display

        self.finish()
        show: dict[str, Any] = {}
        if shell := private_ipython.running():
            result, metadata = shell.display_formatter.format(result)
            show = {"metadata": metadata, "raw": True}
        if self._latest is not None:
            self._remember(self._latest)
        self._latest = None
        self._end()
        if self._handle:
            self._handle.update(result, **show)
        else:
            self._handle = display(result, **show, **({"display_id": True} if again else {}))
        self._close()
        self._shown = again
        if not again:
            self._handle = None

    def _leave(self, result: Any) -> None:
        """Put something in the place of the progress, if there was any."""
        if self._handle:
            self._handle.update(result)
            self._handle = None
        self._close()

    def _close(self) -> None:
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
    else:  # Windows, where Python's handlers run in the main thread, too
        signal.raise_signal(signal.SIGINT)


class _Line:
    """Plain text that displays as itself."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
