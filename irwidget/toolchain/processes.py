"""Processes of our own beside this one: how they are started, and what they leave to say when they end."""

from __future__ import annotations

import contextlib
import fcntl
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


def die_with_parent(lifeline: int) -> None:
    """Ask the system for SIGIO, which ends the process, when the parent's end of a pipe closes.

    A thread could not watch for it: MLIR's passes hold Python's lock.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        if os.read(lifeline, 1) == b"":
            os._exit(0)


def first_to_go() -> None:
    """When the machine runs out of memory, have the system end this process rather than the kernel."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def address_space() -> int:
    """The bytes of address space that this process has; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
