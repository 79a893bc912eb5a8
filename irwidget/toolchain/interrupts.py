"""Interrupts that wait while PyTorch's C++ is calling Python.

An exception that a signal raises in such a callback is thrown on through C++, which it can end (`terminate called`) or
leave in a state that no later call survives.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator
from types import FrameType
from typing import Any


class _Waiting:
    """Notes interrupts instead of the handler that was there."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler
        self.frames: list[FrameType | None] = []

    def __call__(self, _: int, frame: FrameType | None) -> None:
        self.frames.append(frame)


_NAMES = "SIGINT SIGALRM SIGVTALRM SIGPROF SIGTERM SIGHUP SIGUSR1 SIGUSR2".split()
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""Those whose handlers may raise: an interrupt from the keyboard, and the limits of test suites."""


@contextlib.contextmanager
def held() -> Generator[None]:
    """Have signals that Python handles wait until the block is over: they are handled only on the main thread."""
    with contextlib.ExitStack() as stack:  # whose callbacks all run, also after one that raises
        for number, handler in _handlers().items():
            if not isinstance(handler, _Waiting):
                waiting = _Waiting(handler)
                stack.callback(_restore, number, waiting)
                signal.signal(number, waiting)
        yield


def _restore(number: int, waiting: _Waiting) -> None:
    signal.signal(number, waiting.handler)
    if waiting.frames:
        waiting.handler(number, waiting.frames[-1])


@contextlib.contextmanager
def raised() -> Generator[None]:
    """Inside of `held`: code of the user's, which signals end as ever."""
    with contextlib.ExitStack() as stack:
        for number, waiting in _handlers().items():
            if isinstance(waiting, _Waiting):
                stack.callback(signal.signal, number, waiting)
                signal.signal(number, waiting.handler)
        yield


def waits(thread: int) -> bool:
    """Whether a thread, by its identity, holds interrupts back now."""
    return thread == threading.main_thread().ident and isinstance(signal.getsignal(signal.SIGINT), _Waiting)


def _handlers() -> dict[int, Any]:
    """What Python calls on signals, by their numbers; nothing on threads that none is handled on."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    found = {number: signal.getsignal(number) for number in _SIGNALS}
    return {number: handler for number, handler in found.items() if callable(handler)}
