"""What native code prints while a pass runs: `print-ir` and its kin, and warnings that nobody handles.

It goes to the process's own output, past MLIR's diagnostics and past Python. In the worker that is the worker's log:
a pass's words are read from its end and cut off it, so that the log stays short, and a pass that kills the worker
leaves its last words there.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass

MOST = 200_000
"""Bytes that are kept of what one pass prints."""
_PRINTS = re.compile(r"print|view-op-graph|stats|dump")
"""Passes whose words are kept where the output is not ours: others may crash, and their last words belong there."""

_log_is_ours = False


@dataclass(slots=True)
class Heard:
    """What was printed; complete when the `with` is over."""

    text: str = ""


def own() -> None:
    """Say that this process's output is a file that is only kept for its last words."""
    global _log_is_ours
    _log_is_ours = True


def forget() -> None:
    """Empty the log: what was printed for earlier requests is of no use."""
    if _log_is_ours:
        with contextlib.suppress(OSError):
            _cut(0)


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= MOST else f"{text[:MOST]}\n... {len(text) - MOST} characters more"


@contextlib.contextmanager
def heard(name: str) -> Generator[Heard]:
    """What is printed in the body, by the pass of this name."""
    said = Heard()
    if _log_is_ours:
        with _end_of_log(said):
            yield said
    elif _PRINTS.search(name):
        with _set_aside(said):
            yield said
    else:
        yield said


@contextlib.contextmanager
def _end_of_log(said: Heard) -> Generator[None]:
    start = _length()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if (end := _length()) > start:
                said.text = _decoded(os.pread(2, min(end - start, MOST), start), end - start)
                _cut(start)


def _length() -> int:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    return os.lseek(2, 0, os.SEEK_CUR)


def _cut(length: int) -> None:
    os.ftruncate(2, length)
    os.lseek(2, length, os.SEEK_SET)


@contextlib.contextmanager
def _set_aside(said: Heard) -> Generator[None]:
    kept = [os.dup(number) for number in (1, 2)]
    try:
        with tempfile.TemporaryFile() as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            try:
                yield
            finally:
                for number, before in zip((1, 2), kept, strict=True):
                    os.dup2(before, number)
                size = file.seek(0, os.SEEK_END)
                file.seek(0)
                said.text = _decoded(file.read(MOST), size)
    finally:
        for number in kept:
            os.close(number)


def _decoded(data: bytes, size: int) -> str:
    text = data.decode(errors="replace")
    return text if size <= MOST else f"{text}\n... {size - MOST} bytes more"
