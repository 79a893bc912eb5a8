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


@contextlib.contextmanager
def held() -> Generator[None]:
    """Have an interrupt from the keyboard wait until the block is over: it is raised only on the main thread."""
    handler = _handler()
    if handler is None or isinstance(handler, _Waiting):
        yield
        return
    waiting = _Waiting(handler)
    signal.signal(signal.SIGINT, waiting)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if waiting.frames:
            handler(signal.SIGINT, waiting.frames[-1])


@contextlib.contextmanager
def raised() -> Generator[None]:
    """Inside of `held`: code of the user's, which an interrupt ends as ever."""
    waiting = _handler()
    if not isinstance(waiting, _Waiting):
        yield
        return
    signal.signal(signal.SIGINT, waiting.handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, waiting)


def waits(thread: int) -> bool:
    """Whether a thread, by its identity, holds interrupts back now."""
    return thread == threading.main_thread().ident and isinstance(signal.getsignal(signal.SIGINT), _Waiting)


def _handler() -> Any:
    """What is called on an interrupt; None on threads that none is raised on, and where none is."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if callable(handler) else None
