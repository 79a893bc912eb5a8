"""One worker process, seen from the kernel: send to it, hear from it, end it, without ever waiting for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from irwidget.toolchain.child import Child

Heard = Callable[["Worker", int, Any], None]
"""Told of each event, with the number of its request."""


class Worker(Child):
    """A process. Each request is sent on a thread, and one thread hears all answers: neither can hold up the other.

    `heard` is called for every event and `gone` once, when the last has been heard; both on that one thread.
    Raises OSError when no process can be started.
    """

    def __init__(
        self, memory_limit: int, heard: Heard, gone: Callable[[Worker], None], first: Sequence[str] = ()
    ) -> None:
        self.over = threading.Event()
        """Set when it has ended and all that it held is let go of."""
        self._heard, self._gone = heard, gone
        super().__init__("irwidget.toolchain.worker", memory=memory_limit, first=first)
        try:
            threading.Thread(target=self._read, name="irwidget-worker", daemon=True).start()
        except BaseException:
            self.kill()
            self.end()
            raise

    def send(self, number: int, request: object, failed: Callable[[BaseException], None]) -> None:
        """Send a request; `failed` is told, on another thread, why it could not be sent. Raises RuntimeError."""

        def work() -> None:
            try:
                self.connection.send((number, request))
            except OSError:
                pass  # it has ended, which the other thread says
            except BaseException as error:  # half a message may be on its way: nothing more can be said to it
                failed(error)

        threading.Thread(target=work, name="irwidget-send", daemon=True).start()

    def _read(self) -> None:
        epitaph = ""
        try:
            while True:
                number, event = self.connection.recv()
                self._heard(self, number, event)
        except (EOFError, OSError):
            pass
        except BaseException as error:  # such as MemoryError: what it says can no longer be understood
            epitaph = f"sent what could not be read here ({type(error).__name__}: {error})"
        finally:
            self.end(epitaph)
            self.over.set()
            self._gone(self)
