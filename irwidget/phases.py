"""What a lowering is at besides passes, told to whoever shows it: an import, an export, a check."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

TEXTS = "texts"
"""The phase in which the texts of dumps are on their way: the passes are over."""

_listener: ContextVar[Callable[[str], object] | None] = ContextVar("irwidget_phases", default=None)


def entering(phase: str) -> None:
    """Say that a phase begins, or none (""); the one before it is over. Nothing happens where nobody listens."""
    if tell := _listener.get():
        tell(phase)


@contextmanager
def heard(listener: Callable[[str], object]) -> Generator[None]:
    """Have `listener` called as each phase of what is lowered here begins."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
