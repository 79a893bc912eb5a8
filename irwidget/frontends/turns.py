"""One tracer at a time.

While torch.export and torch.jit.trace run they change settings of torch and of the process (which frames are kept,
warnings, stderr, parameters made fake), and put back what they found. Of two at once the second would find, and leave,
what the first has changed; and a copy of the process that is made meanwhile could not export anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Generator

from irwidget.toolchain import budget

_PATIENCE = 20.0
"""Seconds that a fork waits for the export of another thread."""
_turn = threading.RLock()
_forking = threading.local()


@contextlib.contextmanager
def alone(tracer: str) -> Generator[None]:
    """Wait until no other thread traces a model; the waiting does not count towards the time limit."""
    with budget.turn(_turn, tracer):
        yield


def _before_fork() -> None:
    whole = budget.current() or budget.Budget()
    whole.pause()
    try:
        _forking.holds = _turn.acquire(timeout=_PATIENCE)
    finally:
        whole.resume()


def _in_parent() -> None:
    if _forking.holds:
        _turn.release()


def _in_copy() -> None:
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_copy)
