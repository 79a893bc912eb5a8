"""One worker process, seen from the kernel: start it, send to it, hear from it, end it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any

from irwidget.toolchain import processes, scratch

_WAIT = 5
"""Seconds for a worker that has hung up to end."""

Heard = Callable[["Worker", int, Any], None]
"""Told of each event, with the number of its request."""


class Worker:
    """A process. Each request is sent on a thread, and one thread hears all answers: neither can hold up the other.

    `heard` is called for every event and `gone` once, when the last has been heard; both on that one thread.
    Raises OSError when no process can be started.
    """

    def __init__(self, memory_limit: int, heard: Heard, gone: Callable[[Worker], None]) -> None:
        self.epitaph = "stopped answering"
        """How it ended, in words, with the last thing that it said; known once `gone` is called."""
        self.over = threading.Event()
        """Set when it has ended and all that it held is let go of."""
        self._heard, self._gone = heard, gone
        self._log = processes.log()
        self._lifeline = processes.Lifeline()
        ours, theirs = Pipe()
        self._connection: Connection[Any, Any] = ours
        processes.not_for_copies.add(theirs.fileno())  # a copy made right now would keep it open
        try:
            self.process = subprocess.Popen(
                processes.command(
                    "irwidget.toolchain.worker", str(theirs.fileno()), str(self._lifeline.theirs), str(memory_limit)
                ),
                pass_fds=(theirs.fileno(), self._lifeline.theirs),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
            )
        except BaseException:
            self._lifeline.close()
            ours.close()
            raise
        finally:
            processes.not_for_copies.discard(theirs.fileno())
            theirs.close()
            self._lifeline.given()
        try:
            threading.Thread(target=self._read, name="irwidget-worker", daemon=True).start()
        except BaseException:
            self.kill()
            self._end()
            raise

    def send(self, number: int, request: object, failed: Callable[[BaseException], None]) -> None:
        """Send a request; `failed` is told, on another thread, why it could not be sent. Raises RuntimeError."""

        def work() -> None:
            try:
                self._connection.send((number, request))
            except OSError:
                pass  # it has ended, which the other thread says
            except BaseException as error:  # half a message may be on its way: nothing more can be said to it
                failed(error)

        threading.Thread(target=work, name="irwidget-send", daemon=True).start()

    def kill(self) -> None:
        """End it and the programs that it runs, inside native code too; `gone` follows."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not self.over.is_set():  # or its number may be another's
                os.killpg(self.process.pid, signal.SIGKILL)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def forget(self) -> None:
        """In a copy of this process: let go of what is its parent's, without a word to the worker."""
        self.process.returncode = 0  # it is no child of ours to wait for
        with contextlib.suppress(OSError):
            self._connection.close()
        with contextlib.suppress(OSError, ValueError):
            self._log.close()

    def _read(self) -> None:
        try:
            while True:
                number, event = self._connection.recv()
                self._heard(self, number, event)
        except (EOFError, OSError):
            pass
        except BaseException as error:  # such as MemoryError: what it says can no longer be understood
            self.epitaph = f"sent what could not be read here ({type(error).__name__}: {error})"
        finally:
            self._end()
            self._gone(self)

    def _end(self) -> None:
        """Whatever ended it: it, what it has started and what it held are gone."""
        with contextlib.suppress(Exception):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_WAIT)
            self.kill()  # what it had started, too
            self.process.wait()
        with contextlib.suppress(Exception), self._log:
            if self.epitaph == "stopped answering":
                self.epitaph = processes.epitaph(self.process.returncode, self._log)
        with contextlib.suppress(Exception):
            self._lifeline.close()
            self._connection.close()
            scratch.clear(self.process.pid)
        self.over.set()
