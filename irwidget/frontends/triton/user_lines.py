"""Which line of the user's code is running, and what for."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from irwidget.frontends.triton.asserted import Asked, Use, bound, use
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location

_TOOLS = ("irwidget.", "triton.", "torch.")
_FOR_THEMSELVES = ("torch.nn.", "torch.optim.", "torch.distributions.")
_FOR_OTHERS = ("contextlib.", "unittest.")
"""Of Python's own modules: those that do what they are given, or compare for it."""


def calling_line() -> Location | None:
    """The innermost line of the user's code that is running."""
    for frame in _frames():
        if _is_users(frame):
            return Location(frame.f_code.co_filename, frame.f_lineno)
    return None


def using() -> Use | None:
    """What the user's code does with the truth that is computed; None where it is used otherwise (see `asserted`)."""
    for frame in _frames():
        if _is_users(frame):
            return use(frame)
        if _is_for_itself(frame):
            return None
        if not _name(frame).startswith((*_TOOLS, *_FOR_OTHERS, "numpy.")):
            # Where they are not equal, `approx` asks how near they are.
            return use(frame) or (Use(partly=True) if _name(frame).startswith("_pytest.") else None)
    return Use()


def is_asked() -> bool:
    """Whether the caller's caller compares, and for the user: no library for itself, and no function written in C."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    compares = dis.opname[frame.f_code.co_code[frame.f_lasti]] == "COMPARE_OP"
    return compares and not _name(frame).startswith(_TOOLS) and not _is_for_itself(frame)


def bounding(number: Any) -> tuple[Asked, Location] | None:
    """What the user's code compares of a number that it makes by `float(...)` or `int(...)`, with what, and where."""
    frame = next((one for one in _frames() if not _name(one).startswith("irwidget.")), None)
    asked = bound(frame, number) if frame and _is_users(frame) else None
    return (asked, Location(asked.file, asked.line)) if asked else None


def is_users_question() -> bool:
    """Whether code of the user's, or of a package, asks; not a tool, for itself."""
    frame = next((one for one in _frames() if not _name(one).startswith("irwidget.")), None)
    return frame is not None and not _name(frame).startswith(_TOOLS)


def _frames() -> Iterator[FrameType]:
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        yield frame
        frame = frame.f_back


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}."


def _is_for_itself(frame: FrameType) -> bool:
    """Whether a library asks what it wants to know itself, as `random` does how large a number is."""
    name = _name(frame)
    is_pythons = name.partition(".")[0] in sys.stdlib_module_names and not name.startswith(_FOR_OTHERS)
    return is_pythons or name.startswith(_FOR_THEMSELVES)


def _is_users(frame: FrameType) -> bool:
    return not _name(frame).startswith(_TOOLS) and is_user_file(frame.f_code.co_filename)
