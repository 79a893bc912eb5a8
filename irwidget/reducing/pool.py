"""The process that tries candidates, in copies of itself side by side, each within its budget."""

from __future__ import annotations

import contextlib
import itertools
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
    """A process, started when it is first needed, that tries several candidates at once. A context manager: ends it.

    What it imports, and what it warms up by, most of the time of a small reduction, is done once.
    """

    def __init__(self, count: int = 0, folders: Sequence[str] = ()) -> None:
        """`count` candidates at once; `folders`: those that are imported from before all else."""
        self._folders = tuple(folders)
        self.count = count or side_by_side()
        self._process: _Process | None = None
        self._starting = threading.Lock()
        self._threads = ThreadPoolExecutor(self.count, "irwidget-try")
        self._over = False

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        with self._starting:
            self._over = True
        if self._process is not None:
            self._process.end()
        self._threads.shutdown(wait=True, cancel_futures=True)

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
        with self._starting:
            if self._over:
                raise ToolError("The reduction is over", tool="irwidget")
            if self._process is None or self._process.ended:
                self._process = _Process(self._folders)
        return self._process.outcome(task)


class _Process:
    """One process, asked on several threads; each answer has the number of its task. Raises ToolError without it."""

    def __init__(self, folders: Sequence[str]) -> None:
        try:
            self._child = Child("irwidget.reduction_worker", here=True, first=folders)
        except OSError as error:
            raise ToolError(f"No process can be started to try candidates: {error}", tool="irwidget") from None
        self.ended = False
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._asked: dict[int, Future[Outcome]] = {}
        self._reader = threading.Thread(target=self._read, name="irwidget-tried", daemon=True)
        self._reader.start()

    def outcome(self, task: Task) -> Outcome:
        """What comes of a task. Raises ToolError when the process ends first, or does not answer."""
        future: Future[Outcome] = Future()
        with self._lock:
            number = next(self._numbers)
            self._asked[number] = future
            with contextlib.suppress(OSError):  # it is gone: so says whoever reads, or has said
                self._child.connection.send_bytes(pickle.dumps((number, task)))
            if self.ended:
                future.set_exception(self._gone())
        try:
            return future.result(task.seconds * task.times + _GRACE)
        except TimeoutError:
            self._child.kill()
            return future.result()

    def _read(self) -> None:
        """Hand the answers on until there are no more."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, found = pickle.loads(self._child.connection.recv_bytes())
                with self._lock:
                    self._asked.pop(number).set_result(found)
        self._child.kill()
        self._child.end()
        with self._lock:
            self.ended = True
            for future in self._asked.values():
                if not future.done():
                    future.set_exception(self._gone())

    def _gone(self) -> ToolError:
        return ToolError(f"The process that tries candidates {self._child.epitaph}", tool="irwidget")

    def end(self) -> None:
        """Have it gone, with what it is at."""
        self._child.kill()
        self._reader.join()
