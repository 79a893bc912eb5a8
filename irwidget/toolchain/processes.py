"""Processes of our own beside this one: how they are started, and what they leave to say when they end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from typing import IO

_TELLING = ("LLVM ERROR", "Assertion", "rror:", "bad_alloc", "MemoryError", "Fatal")
_READ = 100_000
"""Bytes at the end of a log in which to look for what it says."""


def command(module: str, *arguments: str, here: bool = False) -> list[str]:
    """The command that runs a module as a program which imports what this process would, in the same order.

    Of the working directory only `here`: a notebook may lie beside files named like ours. PYTHONPATH stays as it is,
    because the programs that the user's pipeline names inherit it, and they may be another Python's.
    """
    path = [entry or os.getcwd() for entry in sys.path if entry or here]
    start = "sys.argv.pop(0); runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    return [sys.executable, "-P", "-c", f"import runpy, sys; sys.path[:] = {path!r}; {start}", module, *arguments]


def log() -> IO[bytes]:
    """A file for what a process prints, without a place in any directory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("irwidget-log"), "w+b")
    return tempfile.TemporaryFile()


def epitaph(status: int | None, log: IO[bytes]) -> str:
    """How a process ended, in words, with the line of its log that tells most; stack dumps are left out."""
    if status is None:
        how = "stopped answering"
    else:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    with contextlib.suppress(OSError, ValueError):
        log.seek(max(0, log.seek(0, os.SEEK_END) - _READ))
        lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
        telling = [line for line in lines if any(word in line for word in _TELLING)]
        return f"{how}: {telling[-1][:500]}" if telling else how
    return how
