"""What Helion says of a kernel that it refuses, in a few lines: its own, without those of PyTorch's interpreter."""

from __future__ import annotations

import re
from typing import Any

from irwidget.trace import Location

LINES = 8
"""How many lines of an error of Helion's are told."""
_OF_INTERPRETER = re.compile(r"\s*\nWhile executing %.*?(?=\n\n\S|\Z)", re.DOTALL)


def told(error: BaseException) -> str:
    """An error of Helion's: its type and the first lines of its message; the first says what was behind it."""
    text = _OF_INTERPRETER.split(f"{type(error).__name__}: {error}".strip(), maxsplit=1)[0]
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if lines[0].endswith(":") and (behind := error.__cause__) is not None:
        said = str(behind).strip().partition("\n")[0]
        lines[0] += f" {type(behind).__name__}{f': {said}' if said else ''}"
    return "\n".join([*lines[:LINES], "..."] if len(lines) > LINES else lines)


def place(kernel: Any, error: BaseException) -> Location:
    """The line of a kernel that an error of Helion's is about; where it names none, the kernel's first."""
    location = getattr(error, "location", None)
    if location is not None and getattr(location, "lineno", None):
        return Location(location.filename, location.lineno)
    code = kernel.fn.__code__
    return Location(code.co_filename, code.co_firstlineno)
