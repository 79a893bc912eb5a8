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
from concurrent.futures import Future
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
        self._epitaph = processes.epitaph(None, self._log)
        self._reader = threading.Thread(target=self._read, name="irwidget-worker", daemon=True)
        self._reader.start()

    def submit(self, request: events.Request | events.Prepare) -> Stream:
        """Send a request. Raises WorkerDied when the worker is gone."""
        try:
            with self._lock:
                number = next(self._numbers)
                stream = self._streams[number] = Stream(self)
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
        self._reader.join(_WAIT)
        scratch.clear(self.process.pid)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def epitaph(self) -> str:
        """How it ended, in words, with the last thing it said."""
        self._reader.join(_WAIT)
        return self._epitaph

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
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_WAIT)
        with self._log:
            self._epitaph = processes.epitaph(self.process.returncode, self._log)
        with self._lock, self._connection:
            waiting, self._streams = self._streams, {}
        for stream in waiting.values():
            stream.events.put(_END)


_END = WorkerDied("the worker is gone")
_WAIT = 5
"""Seconds for a worker that has hung up to end."""


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
    """The kernel's worker, started when there is none, when the last one died or had another memory limit (bytes).

    A thread starts it: an interrupt half way would leave a process that nobody knows of.
    """
    ready: Future[Worker] = Future()
    arguments = (memory_limit or default_memory_limit(), ready)
    threading.Thread(target=_start, args=arguments, name="irwidget-start", daemon=True).start()
    return ready.result()


def _start(memory_limit: int, ready: Future[Worker]) -> None:
    global _current
    try:
        with _starting:
            if _current is None or not _current.alive or _current.memory_limit != memory_limit:
                if _current is not None:
                    _current.kill()  # what it had started too, and our end of its lifeline
                _current = Worker(memory_limit)
            ready.set_result(_current)
    except BaseException as error:
        ready.set_exception(error)


def prepare(module: str) -> None:
    """Have the worker, if there is one, import a module meanwhile, as it will be needed soon."""
    current = _current
    if current is not None:
        with contextlib.suppress(WorkerDied):
            current.submit(events.Prepare(module))


def shutdown() -> None:
    """End the worker; the next request starts another."""
    global _current
    with _starting:
        if _current is not None:
            _current.kill()
            _current = None


atexit.register(shutdown)
