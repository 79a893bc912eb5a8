"""The processes of toolchains: each lowers one thing after the other with the releases of its environment."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from irwidget import phases
from irwidget.errors import ToolError, UsageError
from irwidget.toolchain import budget, locations
from irwidget.toolchain.budget import Budget
from irwidget.toolchain.child import Child
from irwidget.toolchain.run import Progress
from irwidget.toolchains import environments
from irwidget.toolchains.environments import Environment
from irwidget.toolchains.work import Answer, Began, Message, Phase, Questions, Ready, Work

IDLE = 6
"""Processes that are kept when they have nothing to do, of all toolchains."""
_GRACE = 30.0
"""Seconds beyond the limit of a lowering after which its process is ended."""
_STOPPING = 10.0
"""Seconds that an interrupted one has to say what it has made."""
_GLANCE = 0.1


class Host(Child):
    """A process with the packages of an environment. Raises OSError when none can be started."""

    def __init__(self, environment: Environment) -> None:
        if locations.toolchain_folders():  # each would start another, without an end
            raise UsageError(
                "A module of yours lowers with a toolchain while the process of that toolchain imports it. Next step: "
                'put the lowering below `if __name__ == "__main__":`, or in a file of its own'
            )
        self.environment = environment
        super().__init__("irwidget.hosted", here=True, first=environment.folders)


_idle: list[Host] = []
_lock = threading.Lock()


def run(environment: Environment, work: Work | Questions, progress: Progress | None = None) -> Answer:
    """Have a process of the environment do the work. The budget of the lowering limits it.

    Raises ToolError when the process ends or takes too long, KeyboardInterrupt when it is interrupted before it begins.
    """
    with _hosted(environment) as host:
        try:
            return _asked(host, work, progress)
        except (EOFError, OSError):
            host.end(wait=0.5)
            raise ToolError(
                f"The process of {environment.name} {host.epitaph}. What it was lowering crashes the compiler, or what "
                "leads to it",
                tool=environment.name,
            ) from None


@contextlib.contextmanager
def _hosted(environment: Environment) -> Generator[Host]:
    """A process, kept for the next work if it is well afterwards."""
    host = _taken(environment)
    if host is None:
        try:
            host = Host(environment)
        except OSError as error:
            raise ToolError(f"No process can be started for {environment.name}: {error}", tool="irwidget") from None
    try:
        yield host
    except BaseException:
        host.kill()
        host.end()
        raise
    with _lock:
        _idle.append(host)
        surplus = _idle[:-IDLE]
        del _idle[:-IDLE]
    for one in surplus:
        one.kill()
        one.end()


def begin(toolchains: Sequence[str]) -> None:
    """Make what is not there yet of these toolchains, and start their processes ahead, all at once."""
    found = [one for one in map(environments.find, toolchains) if one.folders]
    for one in found:
        with _lock:
            known = any(host.environment.folders == one.folders for host in _idle)
        if not known:
            with contextlib.suppress(OSError):  # who needs it says it better
                host = Host(one)
                with _lock:
                    _idle.append(host)


def _taken(environment: Environment) -> Host | None:
    with _lock:
        for one in reversed(_idle):
            if one.environment.folders == environment.folders:
                _idle.remove(one)
                if one.alive:
                    return one
                one.end()
                break
    return None


def _asked(host: Host, work: Work | Questions, progress: Progress | None) -> Answer:
    whole = budget.current() or Budget()
    stopped: float | None = None
    data = pickle.dumps(work)
    sender = threading.Thread(target=_send, args=(host, data), name="irwidget-send", daemon=True)
    sender.start()
    with contextlib.ExitStack() as waiting:
        waiting.enter_context(budget.uncounted(f"the start of {work.toolchain}"))
        while True:
            try:
                if host.connection.poll(_GLANCE):
                    message: Message = pickle.loads(host.connection.recv_bytes())
                    if isinstance(message, Answer):
                        return message
                    if isinstance(message, Ready):
                        waiting.close()
                    else:
                        _tell(message, progress, work.toolchain)
                    continue
                left = whole.left()
            except KeyboardInterrupt:
                if stopped is not None:
                    raise
                stopped = time.monotonic()
                os.kill(host.process.pid, signal.SIGINT)
                continue
            if stopped is not None and time.monotonic() - stopped > _STOPPING:
                raise KeyboardInterrupt
            if left is not None and left < -_GRACE:
                raise ToolError(f"{work.toolchain} timed out {whole.limit}: its process was ended", tool=work.toolchain)


def _send(host: Host, data: bytes) -> None:
    with contextlib.suppress(OSError):  # it has ended, which who waits for it finds out
        host.connection.send_bytes(data)


def _tell(message: Phase | Began, progress: Progress | None, toolchain: str) -> None:
    if isinstance(message, Phase):
        phases.entering(f"{toolchain}: {message.name}" if message.name else "")
    elif progress:
        progress(message.started, message.step, message.seconds)


def end_all(when: Callable[[Host], Any] = lambda _: True) -> None:
    """End those that have nothing to do."""
    with _lock:
        ended = [one for one in _idle if when(one)]
        _idle[:] = [one for one in _idle if one not in ended]
    for one in ended:
        one.kill()
        one.end()


def _in_copy() -> None:
    global _lock
    _lock = threading.Lock()
    for one in _idle:
        one.forget()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_copy)
