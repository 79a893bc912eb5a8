"""Which line of the user's code is running, and what for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

from irwidget.frontends.triton.asserted import Asked, Use, bound, use
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location

_TOOLS = ("irwidget.", "triton.", "torch.")


def calling_line() -> Location | None:
    """The innermost line of the user's code that is running."""
    for frame in _frames():
        if _is_users(frame):
            return Location(frame.f_code.co_filename, frame.f_lineno)
    return None


def using() -> Use | None:
    """What the user's code does with the truth that is computed; None where it goes on by it (see `asserted`)."""
    for frame in _frames():
        if _is_users(frame):
            return use(frame)
        if not _name(frame).startswith((*_TOOLS, "numpy.", "contextlib.", "unittest.")):
            return Use()
    return Use()


def bounding() -> tuple[Asked, Location] | None:
    """What the user's code compares the number with that it makes by `float(...)` (see `asserted`), and where."""
    frame = next((one for one in _frames() if not _name(one).startswith("irwidget.")), None)
    asked = bound(frame) if frame and _is_users(frame) else None
    return (asked, Location(frame.f_code.co_filename, asked.line)) if frame and asked else None


def _frames() -> Iterator[FrameType]:
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        yield frame
        frame = frame.f_back


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}."


def _is_users(frame: FrameType) -> bool:
    return not _name(frame).startswith(_TOOLS) and is_user_file(frame.f_code.co_filename)
