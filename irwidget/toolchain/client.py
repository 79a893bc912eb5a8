"""The kernel's side of the worker process: start it, ask it, kill it, start it again."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import queue
import signal
import subprocess
import threading
from multiprocessing.connection import Connection, Pipe
from typing import Any

from irwidget.toolchain import events, processes, scratch


class WorkerDied(Exception):
    """The worker ended before it answered; the message says how, in words."""


class Worker:
    """One worker process. Requests may come from any thread; answers go to the stream of their request."""

    def __init__(self, memory_limit: int) -> None:
        self.memory_limit = memory_limit
        self._log = processes.log()
        ours, theirs = Pipe()
        lifeline, self._lifeline = os.pipe()
        self.process = subprocess.Popen(
            processes.command("irwidget.toolchain.worker", str(theirs.fileno()), str(lifeline), str(self.memory_limit)),
            pass_fds=(theirs.fileno(), lifeline),
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )
        theirs.close()
        os.close(lifeline)
        self._connection: Connection[Any, Any] = ours
        self._numbers = itertools.count()
        self._streams: dict[int, Stream] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, name="irwidget-worker", daemon=True).start()

    def submit(self, request: events.Request | events.Prepare) -> Stream:
        """Send a request. Raises WorkerDied when the worker is gone."""
        with self._lock:
            number = next(self._numbers)
            stream = self._streams[number] = Stream(self)
            try:
                self._connection.send((number, request))
            except (OSError, ValueError):
                raise WorkerDied(self.epitaph()) from None
            except BaseException:  # half a message is on its way: nothing more can be said to this worker
                self.kill()
                raise
            return stream

    def kill(self) -> None:
        """End it and the programs that it runs at once, inside native code too."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self._lifeline)
        self._lifeline = -1
        scratch.clear(self.process.pid)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def epitaph(self) -> str:
        """How it ended, in words, with the last thing it said."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        return processes.epitaph(self.process.returncode, self._log)

    def _read(self) -> None:
        while True:
            try:
                number, event = self._connection.recv()
            except (EOFError, OSError):
                break
            stream = self._streams.get(number)
            if stream is None:
                continue
            stream.events.put(event)
            if event is None:
                del self._streams[number]
        with self._lock:
            waiting, self._streams = self._streams, {}
        for stream in waiting.values():
            stream.events.put(_END)


_END = WorkerDied("the worker is gone")


class Stream:
    """The events of one request, as they arrive."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.events: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def next(self, timeout: float | None = None) -> events.Event | None:
        """The next event; None after the last.

        Raises WorkerDied when the worker ends first, and queue.Empty after `timeout` seconds.
        """
        event = self.events.get(timeout=timeout) if timeout != 0 else self.events.get_nowait()
        if event is _END:
            self.events.put(_END)
            raise WorkerDied(self.worker.epitaph())
        return event


def default_memory_limit() -> int:
    """Three quarters of the machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


_current: Worker | None = None
_starting = threading.Lock()


def worker(memory_limit: int | None = None) -> Worker:
    """The kernel's worker, started when there is none, when the last one died or had another memory limit (bytes)."""
    global _current
    wanted = memory_limit or default_memory_limit()
    with _starting:
        if _current is not None and _current.alive and _current.memory_limit != wanted:
            _current.kill()
        if _current is None or not _current.alive:
            if _current is not None:
                _current.kill()  # what it had started, and our end of its lifeline
            _current = Worker(wanted)
        return _current


def prepare(module: str) -> None:
    """Have the worker, if there is one, import a module meanwhile, as it will be needed soon."""
    if _current is not None:
        with contextlib.suppress(WorkerDied):
            _current.submit(events.Prepare(module))


def shutdown() -> None:
    """End the worker; the next request starts another."""
    global _current
    with _starting:
        if _current is not None:
            _current.kill()
            _current = None


atexit.register(shutdown)
