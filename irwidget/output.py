"""Files and folders that the user names to be written."""

from __future__ import annotations

import sys
from pathlib import Path

from irwidget.errors import UsageError


def write(path: str | Path, text: str) -> Path:
    """Write text to a file, as UTF-8; what was no text when it was read is the same bytes again.

    Raises UsageError when the file cannot be written.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character that no bytes stand behind
        data = text.encode("utf-8", "replace")
    where = Path(path)
    try:
        where.write_bytes(data)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise UsageError(f"{path} cannot be written: {_why(error)}. Name another file") from None
    return where


def folder(path: str | Path) -> Path:
    """Make a folder, with those above it, where there is none. Raises UsageError when it cannot be made."""
    where = Path(path)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be made a folder: {_why(error)}. Name another") from None
    return where


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def ir(text: str, path: str) -> None:
    """Write IR to a file, or to standard output for `-`. Raises UsageError when it cannot be written."""
    text = text if text.endswith("\n") else f"{text}\n"
    if path == "-":
        sys.stdout.write(text)
        return
    write(path, text)
