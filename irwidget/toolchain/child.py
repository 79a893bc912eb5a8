"""A Python process of ours beside this one, and the connection to it: the worker, and the process of a sweep's cell.

How it starts, what it may use, how it ends and what is said of that is the same for all of them, and for the copies of
`irwidget.toolchain.forked` where these can have it: `processes` has the parts. What the messages are is the users'.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any

from irwidget.toolchain import locations, processes, scratch

_WAIT = 5
"""Seconds for a process that has hung up to end."""
_logger = logging.getLogger(__name__)


class Child:
    """A process that runs `module` as a program, which calls `serving` for its end of the connection.

    `memory` limits its address space, in bytes; 0 does not. With `here` it imports from the working directory too, and
    before all else from the folders `first`.
    It ends with this process, inside native code too. Raises OSError when no process can be started, and where none of
    the folders `first` is there any more.
    """

    def __init__(self, module: str, *, memory: int = 0, here: bool = False, first: Sequence[str] = ()) -> None:
        if first and not any(map(os.path.isdir, first)):  # or it would import what is installed here
            raise FileNotFoundError(f"the toolchain is gone from {', '.join(first)}: lower with it again")
        self.connection: Connection[Any, Any]
        self.epitaph = ""
        """How it ended, in words, with the last thing that it said; known after `end`."""
        self._log = processes.log()
        self._lifeline = processes.Lifeline()
        self.connection, theirs = Pipe()
        processes.not_for_copies.add(theirs.fileno())  # a copy made right now would keep it open
        arguments = (str(theirs.fileno()), str(self._lifeline.theirs), str(memory))
        try:
            self.process = subprocess.Popen(
                processes.command(module, *arguments, here=here, first=first),
                pass_fds=(theirs.fileno(), self._lifeline.theirs),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
                env={**os.environ, **locations.of_toolchain(first)} if first else None,
            )
        except BaseException:
            self._lifeline.close()
            self.connection.close()
            raise
        finally:
            processes.not_for_copies.discard(theirs.fileno())
            theirs.close()
            self._lifeline.given()
        _logger.debug("%s runs as process %d", module, self.process.pid)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End it and the programs that it runs, inside native code too. `end` must follow."""
        if not self.epitaph:  # or its number may be another's
            processes.end(self.process.pid)

    def end(self, epitaph: str = "", wait: float = _WAIT) -> None:
        """Have it gone: it, what it has started and what it held.

        One that is about to end by itself has `wait` seconds. `epitaph` says how it ended where that is known better.
        """
        with contextlib.suppress(Exception):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(wait)
            self.kill()  # what it had started, too
            self.process.wait()
        with contextlib.suppress(Exception), self._log:
            self.epitaph = epitaph or processes.epitaph(self.process.returncode, self._log)
        self.epitaph = self.epitaph or "stopped answering"
        with contextlib.suppress(Exception):
            self._lifeline.close()
            self.connection.close()
            scratch.clear(self.process.pid)
        _logger.debug("process %d %s", self.process.pid, self.epitaph)

    def forget(self) -> None:
        """In a copy of this process: let go of what is its parent's, without a word to the child."""
        self.process.returncode = 0  # it is no child of ours to wait for
        with contextlib.suppress(OSError):
            self.connection.close()
        with contextlib.suppress(OSError, ValueError):
            self._log.close()


def serving() -> Connection[Any, Any]:
    """In the child, first of all: heed the limits that `Child` has set. Returns the connection to the parent."""
    connection, lifeline, memory = (int(argument) for argument in sys.argv[1:4])
    processes.confine(lifeline, memory)
    return Connection(connection)


def hush() -> None:
    """In the child: have what models print and warn of go nowhere; it is no sign of how their process ended."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    warnings.simplefilter("ignore")
