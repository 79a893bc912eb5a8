"""Runs a task in a process of its own, on any thread of any executor: a crash or a time-out costs the cell only."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import threading
from multiprocessing.connection import Connection, Pipe
from typing import Any

from irwidget.sweeps.cells import Cell, Status, Task
from irwidget.toolchain import processes

GRACE = 20.0
"""Seconds on top of a task's own time: the start of the process, and what the passes' own time-out takes to act."""


class Child:
    """A process that lowers one task after the other."""

    def __init__(self) -> None:
        ours, theirs = Pipe()
        self._lifeline = processes.Lifeline()
        self._log = processes.log()
        self.process = subprocess.Popen(
            processes.command("irwidget.sweeps.child", str(theirs.fileno()), str(self._lifeline.theirs), here=True),
            pass_fds=(theirs.fileno(), self._lifeline.theirs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            start_new_session=True,
        )
        theirs.close()
        self._lifeline.given()
        self._connection: Connection[Any, Any] = ours

    def run(self, task: Task) -> Cell:
        """The cell of a task; the process is dead afterwards when the cell says `crashed` or `timeout`."""
        try:
            self._connection.send_bytes(pickle.dumps(task))
            if not self._connection.poll(task.timeout + GRACE):
                self.kill()
                return _ended(task, "timeout", f"not done after {task.timeout:g} s: its process was ended")
            return pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            self.kill()
            how = processes.epitaph(self.process.returncode, self._log)
            return _ended(task, "crashed", f"the process of the cell {how}")

    def kill(self) -> None:
        """End it and what it started."""
        # one that died by itself keeps its status
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.2)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._connection.close()
        self._lifeline.close()

    def forget(self) -> None:
        """In a copy of this process: it is the parent's."""
        self.process.returncode = 0
        self._connection.close()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


def _ended(task: Task, status: Status, message: str) -> Cell:
    return Cell(task.model, task.column.name, status, message, key=task.key)


_idle: list[Child] = []
_busy: set[Child] = set()
_lock = threading.Lock()


def run(task: Task) -> Cell:
    """Run a task in an idle child, or in a new one. What a sweep submits to its executor."""
    with _lock:
        child = _idle.pop() if _idle else None
    if child is None or not child.alive:
        child = Child()
    while True:
        with _lock:
            _busy.add(child)
        cell = child.run(task)
        with _lock:
            _busy.discard(child)
            if child.alive:
                _idle.append(child)
        if cell.status != "crashed" or child.process.returncode != 0:
            return cell
        child = Child()  # it had ended for want of work just when the task came


def end_all() -> None:
    """End the children of this process."""
    with _lock:
        idle, busy = list(_idle), list(_busy)
        _idle.clear()
    for child in idle:
        child.kill()
    for child in busy:  # the thread that waits for it tidies up
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, signal.SIGKILL)


def _in_copy() -> None:
    global _lock
    _lock = threading.Lock()
    for child in (*_idle, *_busy):
        with contextlib.suppress(OSError):
            child.forget()
    _idle.clear()
    _busy.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_copy)
