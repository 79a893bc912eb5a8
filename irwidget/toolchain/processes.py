"""Processes of our own beside this one: how they are started, and what they leave to say when they end."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import IO

from irwidget.toolchain import crashes, locations

_TELLING = ("LLVM ERROR", "Assertion", "rror:", "bad_alloc", "MemoryError", "Fatal")
_ROOT = str(Path(__file__).resolve().parents[2])
"""Where this irwidget is imported from."""
_READ = 100_000
"""Bytes at the end of a log in which to look for what it says."""


def command(module: str, *arguments: str, here: bool = False, first: Sequence[str] = ()) -> list[str]:
    """The command that runs a module as a program which imports what this process would, in the same order.

    Of the working directory only `here`: a notebook may lie beside files named like ours. Before all else it imports
    from the folders `first`, except for irwidget itself, which is this one; a torch-mlir there is the whole of it.
    PYTHONPATH stays as it is, because the programs that the user's pipeline names inherit it, and they may be another
    Python's.
    """
    path = [*first, *(entry or os.getcwd() for entry in sys.path if entry or here)]
    ours = f"sys.path.insert(0, {_ROOT!r}); import irwidget; sys.path[:] = {path!r}"
    if apart := [*first] or locations.toolchain_folders():
        ours += f"; from irwidget import private_torch_mlir; private_torch_mlir.only_from({apart!r})"
    start = "sys.argv.pop(0); runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    return [sys.executable, "-P", "-c", f"import runpy, sys; {ours}; {start}", module, *arguments]


def log() -> IO[bytes]:
    """A file for what a process prints, without a place in any directory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("irwidget-log"), "w+b")
    return tempfile.TemporaryFile()


def epitaph(status: int | None, log: IO[bytes]) -> str:
    """How a process ended, in words, with the line of its log that tells most; without one, of a stack the place."""
    if status is None:
        how = "stopped answering"
    else:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    said = printed(log)
    lines = crashes.without_stack(said).splitlines()
    if telling := [line.strip() for line in lines if any(word in line for word in _TELLING)]:
        return f"{how}: {telling[-1][:500]}"
    place = crashes.place_inside(said) if status is not None and status < 0 else ""
    return f"{how} in {place}" if place else how


def printed(log: IO[bytes]) -> str:
    """The end of a log; nothing where it cannot be read any more."""
    with contextlib.suppress(OSError, ValueError):
        log.seek(max(0, log.seek(0, os.SEEK_END) - _READ))
        return log.read().decode(errors="replace")
    return ""


class Lifeline:
    """A pipe that a child of ours watches to end with us: it closes with the last process that has our end.

    Copies of this process (`os.fork`, `multiprocessing`) close theirs, or the child would live as long as they do.
    """

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()
        not_for_copies.add(self._ours)

    def given(self) -> None:
        """The child has its end: close it here."""
        os.close(self.theirs)

    def close(self) -> None:
        """Let the child end."""
        if self._ours in not_for_copies:
            not_for_copies.discard(self._ours)
            os.close(self._ours)


not_for_copies: set[int] = set()
"""Descriptors that copies of this process close at once: who waits for the other end must not wait for them, too."""


def _in_copy() -> None:
    for descriptor in not_for_copies:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    not_for_copies.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_copy)


def die_with_parent(lifeline: int) -> None:
    """Ask the system for SIGIO, which ends the process, when the parent's end of a pipe closes.

    The programs that a leader of a session has started get it, too. A thread could not watch for it: MLIR's passes hold
    Python's lock.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    leads = os.getpgrp() == os.getpid()
    _signal_at_close(lifeline, -os.getpid() if leads else os.getpid())
    with contextlib.suppress(BlockingIOError):
        if os.read(lifeline, 1) == b"":
            os._exit(0)


def _signal_at_close(lifeline: int, whom: int) -> None:
    """Have the system send SIGIO to a process, or with a minus to a group, when the other end of a pipe closes."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, whom)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)


@contextlib.contextmanager
def session(
    words: Sequence[str],
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    env: Mapping[str, str] | None = None,
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    cwd: str | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    """A program in a session of its own: all in it ends with the block, or with us, if we are killed.

    Raises OSError when it cannot be started.
    """
    lifeline = Lifeline()
    try:
        try:
            process = subprocess.Popen(
                words, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=cwd, start_new_session=True,
                pass_fds=(lifeline.theirs,),
            )  # fmt: skip
            _signal_at_close(lifeline.theirs, -process.pid)
        finally:
            lifeline.given()
        with process:  # which closes its pipes
            try:
                yield process
            finally:
                end(process.pid)
                process.wait()
    finally:
        lifeline.close()


def confine(lifeline: int, memory: int) -> None:
    """What every process of ours does first: end with its parent, leave no core, have `memory` bytes, if not 0."""
    die_with_parent(lifeline)
    if memory:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end(pid: int) -> None:
    """Kill a process of ours that leads a session, and all in it; one that does not lead it yet, alone."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def first_to_go() -> None:
    """When the machine runs out of memory, have the system end this process rather than the kernel."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def address_space() -> int:
    """The bytes of address space that this process has; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def memory_limit() -> int:
    """Bytes that a process of ours gets by default: three quarters of what the machine, or its container, has."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *cgroup_limits()]) * 3 // 4


def cgroup_limits(groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """The limits in bytes of the control groups that this process is in, and of those around them, v1 and v2.

    In a container the path of a group may be the host's, of which only the root is mounted.
    """
    found: list[int] = []
    try:
        text = groups.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return found
    for file in _limit_files(text, mounted):
        with contextlib.suppress(OSError, ValueError), open(file, encoding="ascii") as limit:  # v2 says `max` for none
            found.append(int(limit.read()))
    return found


@functools.lru_cache(maxsize=4)
def _limit_files(groups: str, mounted: Path) -> tuple[str, ...]:
    """The files in which the limits of these control groups stand, if they are there; only what is in them changes."""
    found: list[str] = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, name = (mounted / "memory", "memory.limit_in_bytes") if controllers else (mounted, "memory.max")
        inner = root / path.lstrip("/")
        found += [str(folder / name) for folder in (inner, *inner.parents) if folder.is_relative_to(root)]
    return tuple(found)
