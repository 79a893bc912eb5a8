"""Runs a task in a process of its own, on any thread of any executor: a crash or a time-out costs the cell only."""

from __future__ import annotations

import os
import pickle
import threading

from irwidget.sweeps.cells import Cell, Status, Task
from irwidget.toolchain import child

GRACE = 20.0
"""Seconds on top of a task's own time: the start of the process, and what the passes' own time-out takes to act."""
_DYING = 0.2
"""Seconds for a process that has hung up to end by itself, and so with a status of its own."""


class CellProcess(child.Child):
    """A process that lowers one task after the other."""

    def __init__(self) -> None:
        super().__init__("irwidget.sweeps.child", here=True)

    def run(self, task: Task) -> Cell:
        """The cell of a task; the process is dead afterwards when the cell says `crashed` or `timeout`."""
        try:
            self.connection.send_bytes(pickle.dumps(task))
            if not self.connection.poll(task.timeout + GRACE):
                self.kill()
                self.end()
                return _ended(task, "timeout", f"not done after {task.timeout:g} s: its process was ended")
            return pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            self.end(wait=_DYING)
            return _ended(task, "crashed", f"the process of the cell {self.epitaph}")


def _ended(task: Task, status: Status, message: str) -> Cell:
    return Cell(task.model, task.column.name, status, message, key=task.key)


_idle: list[CellProcess] = []
_busy: set[CellProcess] = set()
_lock = threading.Lock()


def run(task: Task) -> Cell:
    """Run a task in an idle child, or in a new one. What a sweep submits to its executor."""
    with _lock:
        one = _idle.pop() if _idle else None
    if one is not None and not one.alive:
        one.end()
        one = None
    one = one or CellProcess()
    while True:
        with _lock:
            _busy.add(one)
        cell = one.run(task)
        with _lock:
            _busy.discard(one)
            if one.alive:
                _idle.append(one)
        if cell.status != "crashed" or one.process.returncode != 0:
            return cell
        one = CellProcess()  # it had ended for want of work just when the task came


def end_all() -> None:
    """End the children of this process."""
    with _lock:
        idle, busy = list(_idle), list(_busy)
        _idle.clear()
    for one in idle:
        one.kill()
        one.end()
    for one in busy:  # the thread that waits for it tidies up
        one.kill()


def _in_copy() -> None:
    global _lock
    _lock = threading.Lock()
    for one in (*_idle, *_busy):
        one.forget()
    _idle.clear()
    _busy.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_copy)
