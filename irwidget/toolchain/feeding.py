"""Run a program with text on its standard input, and know whether it read any of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import threading
from dataclasses import dataclass

from irwidget.toolchain import budget

_CHUNK = 1 << 16
_GLANCE = 0.05
"""Seconds between looks at whether the program has ended while its input waits."""


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
    whole = budget.current()
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            command,
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            start_new_session=whole is not None,
        )
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise
    feeder = _Feeder(process, reading, writing, text)
    feeder.start()
    try:
        stdout, stderr = process.communicate(timeout=whole.left() if whole else None)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if whole else process.kill()
        process.communicate()
        raise budget.TimeIsUp if isinstance(error, subprocess.TimeoutExpired) else error from None
    feeder.join()
    return Fed(process.returncode, stdout, stderr, feeder.taken > 0)


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
