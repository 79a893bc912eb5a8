"""Run a program with text on its standard input, and know whether it read any of it."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import threading
from dataclasses import dataclass

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
    """Run a program to its end. Raises OSError when it cannot be started."""
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise
    feeder = _Feeder(process, reading, writing, text)
    feeder.start()
    stdout, stderr = process.communicate()
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
