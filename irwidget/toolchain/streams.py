"""Wait for what a run reports: its time counts only while the worker is at it, and others can stop the waiting."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Protocol

from irwidget.toolchain import client, events
from irwidget.toolchain.budget import Budget, TimeIsUp
from irwidget.toolchain.engine import execute
from irwidget.toolchain.tool import WorkerSession

_GLANCE = 0.1
"""Seconds between looks at the clock, and at whether somebody wants to stop."""
_PATIENCE = 10.0
"""Seconds that texts of others may hold up a job that has a limit."""


class Stream(Protocol):
    """A request under way."""

    def begin(self) -> None: ...
    def cancel(self) -> None: ...
    def next(self, timeout: float | None = None) -> events.Event | None: ...


class Local:
    """The events of a request that runs in this process; a limit is looked at between passes only."""

    def __init__(self, request: events.Request, session: WorkerSession) -> None:
        self._iterator: Iterator[events.Event] = execute(request, session)

    def begin(self) -> None:
        pass

    def cancel(self) -> None:
        pass

    def next(self, timeout: float | None = None) -> events.Event | None:
        if timeout == 0:
            raise queue.Empty
        return next(self._iterator, None)


def next_event(stream: Stream, budget: Budget, stop: threading.Event | None = None) -> events.Event | None:
    """The next event; None after the last.

    Raises TimeIsUp when the budget has run out, KeyboardInterrupt when told to stop, and WorkerDied.
    """
    behind = 0.0
    while True:
        left = budget.left()
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt
        if left is None and stop is None:
            return stream.next()
        if left is not None and left <= 0:
            raise TimeIsUp
        began = time.monotonic()
        job = stream if isinstance(stream, client.Job) else None
        counts = job is None or job.has_worker
        try:
            return stream.next(_GLANCE if left is None else min(left, _GLANCE))
        except queue.Empty:
            pass
        finally:
            if not counts:
                budget.queued(time.monotonic() - began)
        if job is not None and left is not None and job.behind_texts:
            behind += time.monotonic() - began
            if behind > min(left, _PATIENCE):
                job.make_room()
                behind = 0.0
