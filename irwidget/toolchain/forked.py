"""Run Python that needs the user's objects, and may crash or take long, in a copy of this process.

`call(function)` forks: the copy has every object of the kernel without sending one, shares their memory, and may die.
What is sent back is data. Where a process cannot be copied (not Linux; CUDA in use) the function runs here.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import resource
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, NoReturn, TypeVar, cast

from irwidget.toolchain import processes

_T = TypeVar("_T")
_CHUNK = 1 << 20
_END = b"whole"
"""After the answer: what does not end with it was cut off."""
_GLANCE = 0.1
"""Seconds between looks for an interrupt: Python runs signal handlers only between its own instructions."""


class Died(Exception):
    """The copy ended before it answered; the message says how, in words."""


class TimedOut(Exception):
    """The copy took longer than it was given."""


@dataclass(frozen=True)
class _Raised:
    """An exception of the function, by value where it can be sent, and as text."""

    error: BaseException | None
    text: str


def available() -> bool:
    """Whether this process can be copied: on Linux, unless CUDA is in use, whose contexts do not survive a fork."""
    torch = sys.modules.get("torch")
    return sys.platform == "linux" and not (torch and torch.cuda.is_initialized())


def call(function: Callable[[], _T], *, seconds: float | None = None, memory: int | None = None) -> _T:
    """The value of `function()`, computed in a copy of this process; the value is pickled.

    `seconds` limits its time and `memory` what it may allocate beyond what this process has, in bytes. An exception
    of the function is raised here, without its traceback. Raises Died when the copy crashes, TimedOut after `seconds`,
    MemoryError at the memory limit; an interrupt ends the copy.
    """
    if not available():
        return function()
    log = processes.log()
    with log:
        data = b""
        child, results, lifeline = _fork(function, memory, log)
        try:
            data = _read(results, None if seconds is None else time.monotonic() + seconds)
        except BaseException:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
            raise
        finally:
            os.close(results)
            whole = data[-len(_END) :] == _END
            if whole:  # it has only its memory to give back, which takes a while when that is large
                threading.Thread(target=_reap, args=(child,), name="irwidget-reap", daemon=True).start()
                status = 0
            else:
                status = _reap(child)
            os.close(lifeline)
        if not whole:
            raise Died(processes.epitaph(status, log))
    answer = pickle.loads(data)
    if not isinstance(answer, _Raised):
        return cast("_T", answer)
    raise answer.error if answer.error is not None else RuntimeError(answer.text)


def _reap(child: int) -> int | None:
    """Wait for the end of a copy: its exit status, None when somebody else has taken it."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:
        return None


def _fork(function: Callable[[], object], memory: int | None, log: IO[bytes]) -> tuple[int, int, int]:
    """Start the copy: its process id, where its answer can be read, and what ends it when it is closed."""
    results, answers = os.pipe()
    theirs, lifeline = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the copy uses none of their locks
        child = os.fork()
    if child == 0:
        os.close(results)
        os.close(lifeline)
        _serve(function, answers, theirs, memory, log)
    os.close(answers)
    os.close(theirs)
    return child, results, lifeline


def _serve(
    function: Callable[[], object], answers: int, lifeline: int, memory: int | None, log: IO[bytes]
) -> NoReturn:
    """The copy's whole life. It leaves nothing of the kernel's behind it: no exit handlers, no finalizers."""
    status = 1
    try:
        gc.disable()
        os.setsid()
        processes.die_with_parent(lifeline)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # the kernel's streams are sockets
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            most = processes.address_space() + memory
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)  # the threads of OpenMP's pool are not in the copy
        with os.fdopen(answers, "wb") as stream:
            stream.write(_answer(function) + _END)
        status = 0
    finally:
        os._exit(status)


def _answer(function: Callable[[], object]) -> bytes:
    try:
        return pickle.dumps(function(), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        text = "".join(traceback.format_exception_only(error)).strip()
        try:
            data = pickle.dumps(_Raised(error, text))
            pickle.loads(data)
        except Exception:
            data = pickle.dumps(_Raised(None, text))
        return data


def _read(results: int, deadline: float | None) -> bytes:
    """All that the copy sends. Raises TimedOut at the deadline."""
    chunks: list[bytes] = []
    while True:
        left = _GLANCE if deadline is None else min(_GLANCE, deadline - time.monotonic())
        if left <= 0:
            raise TimedOut
        if not select.select([results], [], [], left)[0]:
            continue
        chunk = os.read(results, _CHUNK)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)

