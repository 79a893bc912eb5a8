"""Files and folders that the user names to be written."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from irwidget.errors import UsageError
from irwidget.trace.syntax import left_out


def write(path: str | Path, text: str) -> Path:
    """Write text to a file, as UTF-8; what was no text when it was read is the same bytes again. It is there whole or
    as it was before.

    Raises UsageError when the file cannot be written.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character that no bytes stand behind
        data = text.encode("utf-8", "replace")
    where = Path(path)
    try:
        whole(where, data)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise UsageError(f"{path} cannot be written: {_why(error)}. Name another file") from None
    return where


def whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or as it was before; a device, a pipe, and what lies in a folder that takes no
    other file, is written as it is. Raises OSError, and ValueError for a name that cannot be.
    """
    where = Path(os.path.realpath(path))
    taken = where.is_file() and os.access(where, os.W_OK) and os.access(where.parent, os.W_OK)
    if where.is_symlink() or (where.exists() and not taken):  # a link that ends nowhere, too, which this says
        path.write_bytes(data)
        return
    number, fresh = tempfile.mkstemp(dir=where.parent, prefix=".irwidget-")
    try:
        os.chmod(number, stat.S_IMODE(where.stat().st_mode) if where.exists() else 0o666 & ~_umask())
        with open(number, "wb") as file:
            file.write(data)
        os.replace(fresh, where)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """What new files are not allowed; it can only be read by setting it."""
    now = os.umask(0o077)
    os.umask(now)
    return now


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


def as_json(data: Any) -> str:
    """JSON that can be printed: letters as they are, but where a name of a file is no text."""
    said = json.dumps(data, ensure_ascii=False)
    try:
        said.encode()
    except UnicodeEncodeError:
        return json.dumps(data)
    return said


def ir(text: str, path: str) -> None:
    """Write IR to a file, or to standard output for `-`, and say so where it does not have all values.

    Raises UsageError when it cannot be written.
    """
    if missing := left_out(text):
        some = f"{missing[0]} and {len(missing) - 1} more" if missing[1:] else missing[0]
        print(f"The IR leaves out values of constants ({some}): elide=False and --no-elide keep them", file=sys.stderr)
    text = text if text.endswith("\n") else f"{text}\n"
    if path == "-":
        sys.stdout.write(text)
        return
    write(path, text)
