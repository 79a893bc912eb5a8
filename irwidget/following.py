"""Logs that somebody still writes: opened again while they grow, at a pace that leaves the machine to the writer."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Hashable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from irwidget.errors import ToolError, UsageError
from irwidget.opened import STDIN, Opened, given_of, read
from irwidget.readers import log as logs
from irwidget.readers.base import ReaderInput
from irwidget.readers.folders import files

LOOK = 0.3
"""Seconds between two looks at what may have grown."""
_SHARE = 4
"""How many times as long as opening took nothing is opened again."""
_IDLE = 2.0
"""Seconds without growth after which the end of a log is taken as it is."""


class Pace:
    """Says when it is time to open something again that grows."""

    def __init__(self) -> None:
        self._next = 0.0

    def due(self) -> bool:
        """Whether it is."""
        return time.monotonic() >= self._next

    def took(self, seconds: float) -> None:
        """Opening it has taken so long."""
        self._next = time.monotonic() + max(LOOK, _SHARE * seconds)


class _Growing(Protocol):
    @property
    def over(self) -> bool:
        """Whether nothing more can come."""
        ...

    def state(self) -> Hashable:
        """What is another when there is more to see."""
        ...

    def given(self) -> ReaderInput: ...


class _File:
    """A file or a folder that others write."""

    over = False

    def __init__(self, path: Path) -> None:
        self._path = path

    def state(self) -> Hashable:
        """Sizes and times."""
        with logs.naming(self._path):
            found = files(self._path) if self._path.is_dir() else iter([self._path])
            return tuple((one.st_size, one.st_mtime_ns) for one in map(os.stat, found))

    def given(self) -> ReaderInput:
        """The log or folder, as it is now."""
        return given_of(str(self._path), None, logs.MOST)


class _Stream:
    """A stream, which a thread copies to where it can be read again."""

    def __init__(self, stream: Any, name: str) -> None:
        self.over = False
        self._name = name
        self._stream = stream
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115  # as long as what is opened of it
        threading.Thread(target=self._copy, name="irwidget-stream", daemon=True).start()

    def _copy(self) -> None:
        read_some = getattr(self._stream, "read1", self._stream.read)
        try:
            while part := read_some(1 << 16):
                self._kept.write(part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part)
                self._kept.flush()
        finally:
            self.over = True

    def state(self) -> Hashable:
        """How much has come."""
        return os.fstat(self._kept.fileno()).st_size

    def given(self) -> ReaderInput:
        """What has come."""
        return ReaderInput(self._name, logs.Log(self._kept, self._name))


def followed(what: str, *, format: str | None = None, idle: float = _IDLE) -> Iterator[Opened]:
    """What a log or a folder holds, anew whenever it has grown; `what` is a path, or `-` for standard input.

    Nothing comes before there is a first dump. A text that may not be whole yet is left out, until the log has not
    grown for `idle` seconds. It ends where standard input does, and never for a file. Raises UsageError for a path that
    is not there, or that somebody removes; for a stream without dumps, at its end.
    """
    if what == STDIN:
        grows: _Growing = _Stream(getattr(sys.stdin, "buffer", sys.stdin), "standard input")
    else:
        grows = _File(Path(what))
        grows.given()  # whether it is there
    pace, seen, at, whole, new = Pace(), None, time.monotonic(), False, False
    while True:
        over, state = grows.over, grows.state()
        if state != seen:
            seen, at, whole, new = state, time.monotonic(), False, True
        elif not whole and time.monotonic() - at >= idle:
            whole = new = True
        if over or (new and pace.due()):
            new, began = False, time.monotonic()
            found = _opened(grows, format, growing=not whole and not over, must=over)
            pace.took(time.monotonic() - began)
            if found is not None:
                yield found
        if over:
            return
        time.sleep(LOOK)


def _opened(grows: _Growing, format: str | None, *, growing: bool, must: bool) -> Opened | None:
    """What there is now; None where that is nothing yet."""
    try:
        return read(replace(grows.given(), growing=growing), format)
    except (UsageError, ToolError):  # nothing yet, or somebody begins it anew
        if must:
            raise
        return None
