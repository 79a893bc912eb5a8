"""A line that says what a long lowering is doing, until the result takes its place."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from irwidget.toolchain.events import PassStarted
from irwidget.trace import Step

PATIENCE = 1.5
"""Seconds before anything is shown: most lowerings are over by then."""
INTERVAL = 0.25
LONG = 10.0
"""Seconds after which a pass that is still running is spoken of: a few never end."""


class ProgressLine:
    """A context manager that shows one updating line once work takes longer than PATIENCE."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._text = ""
        self._started = time.monotonic()
        self._pass: tuple[str, float] | None = None
        """The pass under way, and when it began."""
        self._done = threading.Event()
        self._handle: Any = None
        self._idle = threading.Event()
        """Whether nobody shows the line."""
        self._idle.set()

    def begin(self, name: str) -> None:
        """A model's lowering begins, with its export."""
        self._text = f"{name}: torch.export"
        self._pass = None

    def say(self, what: str) -> None:
        """Something else goes on."""
        self._text = what

    def report(self, started: PassStarted, step: Step, seconds: float) -> None:
        """A pass begins."""
        name = self._text.partition(":")[0]
        self._text = f"{name}: {step} · pass {started.index} {started.name}"
        self._pass = (started.name, time.monotonic())

    def __enter__(self) -> ProgressLine:
        if self._enabled:
            self._idle.clear()
            threading.Thread(target=self._work, name="irwidget-progress", daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def show(self, result: Any, *, again: bool = False) -> None:
        """Display the result where the line was: the cell has the same outputs however long it took.

        `again`: what is shown next takes its place.
        """
        from IPython.display import display

        self._stop()
        if self._handle:
            self._handle.update(result)
        else:
            self._handle = display(result, display_id=True) if again else display(result)
        if not again:
            self._handle = None

    def _stop(self) -> None:
        self._done.set()
        self._idle.wait()  # not Thread.join, which an interrupt confuses

    def _work(self) -> None:
        try:
            self._watch()
        except Exception as error:  # the line is not worth an error
            logging.getLogger(__name__).debug("no progress is shown: %s", error)
        finally:
            self._idle.set()

    def _said(self, now: float) -> str:
        """What is going on; of a pass that takes long, for how long, and what an interrupt costs."""
        whole, running = f"{self._text} · {now - self._started:.0f} s", self._pass
        if running and now - running[1] >= LONG:
            return f"{whole} · {running[0]} for {now - running[1]:.0f} s; an interrupt keeps the dumps before it"
        return f"{whole} · interrupt the kernel to stop"

    def _watch(self) -> None:
        from IPython.display import display

        if self._done.wait(PATIENCE):
            return
        while True:
            line = _Line(self._said(time.monotonic()))
            if self._handle is None:
                self._handle = display(line, display_id=True)
            else:
                self._handle.update(line)
            if self._done.wait(INTERVAL):
                return


class _Line:
    """Plain text that displays as itself."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
