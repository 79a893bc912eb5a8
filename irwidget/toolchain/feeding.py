"""Run a program with text on its standard input, and know whether it read any of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import tempfile
import termios
import threading
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from irwidget.toolchain import budget, processes

_CHUNK = 1 << 16
_PIECE = 1 << 20
_GLANCE = 0.05
"""Seconds between looks at whether the program has ended while its input, or who reads its log, waits."""


@dataclass(frozen=True, slots=True)
class Fed:
    """How a program went."""

    returncode: int
    stdout: bytes
    stderr: bytes
    read: bool
    """Whether it took any of its input."""


def run(command: list[str], text: bytes, cwd: str | None) -> Fed:
    """Run a program to its end. Raises OSError when it cannot be started.

    Where the passes run in the user's process, nobody else ends it when the time of the lowering is up: TimeIsUp.
    """
    whole, pipe = budget.current(), subprocess.PIPE
    reading, writing = os.pipe()
    with contextlib.ExitStack() as stack:
        try:
            process = stack.enter_context(processes.session(command, pipe, pipe, stdin=reading, cwd=cwd))
        except BaseException:
            os.close(reading)
            os.close(writing)
            raise
        feeder = _Feeder(process, reading, writing, text)
        feeder.start()
        try:
            stdout, stderr = process.communicate(timeout=whole.left() if whole else None)
        except subprocess.TimeoutExpired:
            raise budget.TimeIsUp from None
    feeder.join()
    return Fed(process.returncode, stdout, stderr, feeder.taken > 0)


class Log:
    """What a program writes to its standard error while it runs."""

    def __init__(self, process: subprocess.Popen[bytes], file: IO[bytes]) -> None:
        self._process, self._file = process, file

    @property
    def status(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.returncode

    def pieces(self) -> Iterator[bytes]:
        """All of it, as it is written, to the program's end. Raises TimeIsUp as `run`."""
        whole, read = budget.current(), 0
        while True:
            over = self._ends(whole.left() if whole else None)
            while piece := os.pread(self._file.fileno(), _PIECE, read):  # the program writes where the file stands
                read += len(piece)
                yield piece
            if over:
                return

    def _ends(self, left: float | None) -> bool:
        """Whether it has ended, after a moment."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GLANCE if left is None else min(_GLANCE, max(left, 0)))
            return True
        if left is not None and left <= _GLANCE:
            raise budget.TimeIsUp
        return False


@contextlib.contextmanager
def log_of(
    command: list[str], text: bytes, env: Mapping[str, str] | None = None, cwd: str | None = None
) -> Generator[Log]:
    """Run a program on `text`, and follow what it writes to its standard error; it ends with the block.

    That goes to a file: LLVM writes each piece of a line by itself, and a pipe would fill up. Raises OSError when it
    cannot be started.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as log:
        given.write(text)
        given.seek(0)
        with processes.session(command, subprocess.DEVNULL, log, env, stdin=given, cwd=cwd) as process:
            yield Log(process, log)


def logged(command: list[str], text: bytes, env: Mapping[str, str] | None = None) -> tuple[int | None, bytes]:
    """Run a program on `text` to its end; its exit status, and what it wrote to its standard error.

    Raises OSError when it cannot be started, TimeIsUp as `run`.
    """
    with log_of(command, text, env) as log:
        said = b"".join(log.pieces())
        return log.status, said


class _Feeder(threading.Thread):
    """Writes the input while the program runs. We keep an end to read from, which tells what is left."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int, writing: int, text: bytes) -> None:
        super().__init__(name="irwidget-feeder", daemon=True)
        self._process, self._reading, self._writing, self._text = process, reading, writing, text
        self.taken = 0
        """Bytes that the program has read."""

    def run(self) -> None:
        written = 0
        os.set_blocking(self._writing, False)
        try:
            while written < len(self._text) and self._process.poll() is None:
                if select.select([], [self._writing], [], _GLANCE)[1]:
                    written += os.write(self._writing, self._text[written : written + _CHUNK])
        finally:
            os.close(self._writing)  # the end of the input
            self._process.wait()
            self.taken = written - struct.unpack("i", fcntl.ioctl(self._reading, termios.FIONREAD, b"\0" * 4))[0]
            os.close(self._reading)
