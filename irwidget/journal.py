"""What has been shown outlives the kernel: each view keeps its dumps in the user's state folder as they arrive.

It may not cost a lowering or a view anything: a disk that is full or read-only is noted in the log, and that is all.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import logging
import os
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from irwidget.errors import UsageError
from irwidget.trace import reading
from irwidget.trace.file import SUFFIX

KEEP = "IRWIDGET_RECENT"
"""Environment variable: `off` keeps nothing, a path is the folder to keep it in."""
MOST_FILES = 20
MOST_BYTES = 200_000_000
"""Bytes of all files together; the oldest go first."""
MOST_OF_ONE = 50_000_000
"""Bytes of one file; what comes after them is not kept."""

_log = logging.getLogger(__name__)
_numbers = itertools.count()


@dataclass(frozen=True)
class Recent:
    """A view that was shown, kept as a file; `irwidget.load` takes it as it takes a path."""

    path: Path
    name: str
    """The model or kernel; of several lowerings, all."""
    target: str
    time: datetime.datetime
    """When it was shown, in local time."""
    complete: bool
    """False when its kernel was killed, or still runs, before every dump had arrived."""

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        early = "" if self.complete else ", ends early"
        return f"{self.time:%Y-%m-%d %H:%M:%S}  {self.name or 'IR'} to {self.target}{early}  {self.path}"


class Listed(list[Recent]):
    """What `recent` gives: a list that prints as one line for each."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "Nothing has been shown yet"


def recent() -> Listed:
    """What views have shown lately, the newest first, also in kernels that have died since.

    A file that cannot be read any more is left out.
    """
    found = Listed()
    where = folder()
    for path in sorted(where.glob(f"*{SUFFIX}"), key=_when, reverse=True) if where else ():
        try:
            names, complete = reading.glance(path)
        except UsageError as error:
            _log.info("%s", error)
            continue
        models, targets = (", ".join(dict.fromkeys(one)) for one in zip(*names, strict=True))
        found.append(Recent(path, models, targets, datetime.datetime.fromtimestamp(_when(path)), complete))
    return found


def folder() -> Path | None:
    """Where views are kept: `irwidget/recent` in the user's state folder; None when they are not."""
    asked = os.environ.get(KEEP, "")
    if asked.lower() in ("off", "0", "no", "false"):
        return None
    if asked:
        return Path(asked).expanduser()
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:  # a user without a home
        return None
    return Path(state) / "irwidget" / "recent"


def _when(path: Path) -> float:
    """When a file was begun: its name says it, in nanoseconds."""
    with contextlib.suppress(ValueError):
        return int(path.name.split("-")[0]) / 1e9
    return 0.0


class Journal:
    """A file that grows as a view does. Calling it with the next bytes appends them; it never raises."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._size = 0
        self._lock = threading.Lock()

    def __call__(self, data: bytes) -> None:
        with self._lock:
            try:
                self._append(data)
            except OSError as error:
                _log.info("What is shown is not kept: %s", error)
                self._size = MOST_OF_ONE

    def _append(self, data: bytes) -> None:
        if self._size + len(data) > MOST_OF_ONE:
            self._size = MOST_OF_ONE
            return
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        if self._path is None:
            where = folder()
            if where is None:
                self._size = MOST_OF_ONE
                return
            _prepare(where)
            self._path = where / f"{time.time_ns()}-{os.getpid()}-{next(_numbers)}{SUFFIX}"
            flags |= os.O_CREAT | os.O_EXCL
        number = os.open(self._path, flags, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(number, rest) :]
        finally:
            os.close(number)
        self._size += len(data)


def _prepare(where: Path) -> None:
    """Make the folder for this user alone, and room in it. Raises OSError where it is somebody else's."""
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = where.lstat()
    if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
        raise PermissionError(f"{where} is no folder of this user")
    files = sorted(where.glob(f"*{SUFFIX}"), key=_when, reverse=True)
    room = MOST_BYTES - MOST_OF_ONE
    for number, path in enumerate(files, start=1):
        with contextlib.suppress(OSError):
            room -= path.stat().st_size
            if room < 0 or number >= MOST_FILES:
                path.unlink()
