"""The processes that try candidates, several side by side, each within its budget."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from irwidget.errors import ToolError
from irwidget.reducing.tasks import Outcome, Task
from irwidget.toolchain.child import Child

_GRACE = 60.0
"""Seconds beyond its own for a task's process to start and to import what the task needs."""
_GLANCE = 0.1


def side_by_side() -> int:
    """How many candidates are tried at once: one for each core that this process may use, four at most."""
    return max(1, min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)))


class Stopped(Exception):
    """Somebody on another thread wants no more candidates."""


class Pool:
    """Some processes, started when they are first needed. A context manager, which ends them."""

    def __init__(self, count: int = 0, folders: Sequence[str] = ()) -> None:
        """`folders`: those that they import from before all else."""
        self._folders = tuple(folders)
        self.count = count or side_by_side()
        self._idle: list[Child] = []
        self._all: list[Child] = []
        self._threads = ThreadPoolExecutor(self.count, "irwidget-try")
        self._over = False

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        for one in list(self._all):
            with contextlib.suppress(OSError):
                one.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for one in self._all:
            one.end()

    def run(self, task: Task) -> Outcome:
        """What comes of a task. Raises ToolError when the process that should try it cannot."""
        return self._wait(self._threads.submit(self._run, task))

    def first(
        self,
        tasks: Iterable[tuple[str, Task | bool]],
        holds: Callable[[str, Outcome], bool],
        stop: threading.Event | None = None,
    ) -> int | None:
        """The place of the first task whose outcome `holds`, which is told its key; True and False are known outcomes.

        As many as there are processes run at once, those after the first that holds for nothing. Raises Stopped soon
        after `stop` is set.
        """
        running: deque[tuple[int, str, Future[Outcome] | bool]] = deque()
        waiting = enumerate(tasks)
        while True:
            while len(running) < self.count and (following := next(waiting, None)) is not None:
                place, (key, task) = following
                running.append((place, key, task if isinstance(task, bool) else self._threads.submit(self._run, task)))
            if not running:
                return None
            place, key, future = running.popleft()
            if future if isinstance(future, bool) else holds(key, self._wait(future, stop)):
                return place

    @staticmethod
    def _wait(future: Future[Outcome], stop: threading.Event | None = None) -> Outcome:
        """The outcome; Python runs signal handlers between waits."""
        while True:
            if stop is not None and stop.is_set():
                raise Stopped
            with contextlib.suppress(TimeoutError):
                return future.result(_GLANCE)

    def _run(self, task: Task) -> Outcome:
        one = self._idle.pop() if self._idle else self._new()
        try:
            one.connection.send_bytes(pickle.dumps(task))
            if not one.connection.poll(task.seconds + _GRACE):
                raise TimeoutError
            found: Outcome = pickle.loads(one.connection.recv_bytes())
        except (EOFError, OSError, TimeoutError):
            self._all.remove(one)
            one.kill()
            one.end()
            raise ToolError(f"The process that tries candidates {one.epitaph}", tool="irwidget") from None
        self._idle.append(one)
        return found

    def _new(self) -> Child:
        if self._over:
            raise ToolError("The reduction is over", tool="irwidget")
        try:
            one = Child("irwidget.reduction_worker", here=True, first=self._folders)
        except OSError as error:
            raise ToolError(f"No process can be started to try candidates: {error}", tool="irwidget") from None
        self._all.append(one)
        return one
