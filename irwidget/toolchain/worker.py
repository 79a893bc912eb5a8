"""The worker process: runs what may crash, hang or eat memory, away from the user's kernel.

It answers requests with events, and prints the texts of finished lowerings while it is idle.
`irwidget.toolchain.child` starts it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection

from irwidget.toolchain import child, events, printed
from irwidget.toolchain.engine import execute
from irwidget.toolchain.tool import WorkerSession


def main() -> None:
    connection = child.serving()
    printed.own()
    serve(connection)


_LOG = 1 << 20
"""Bytes that the log may have when a request begins."""
_GRACE = 0.01
"""Seconds to wait for another request before printing: several IR types are asked for one after another."""


def serve(connection: Connection) -> None:
    """Answer requests until the parent hangs up. New requests come before unfinished printing."""
    session = WorkerSession()
    printing: deque[tuple[int, Iterator[events.Event]]] = deque()
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            if not printing and not connection.poll():
                with contextlib.suppress(Exception):  # a request says it better
                    session.tidy()
            if not printing or connection.poll():
                number, request = connection.recv()
                connection.send((number, events.Began()))
                _shorten_log()
                if isinstance(request, events.Prepare):
                    with contextlib.suppress(Exception):  # what needs it says it better
                        importlib.import_module(request.module)
                    connection.send((number, None))
                    continue
                stream = execute(request, session)
                for event in stream:
                    connection.send((number, event))
                    if isinstance(event, events.Finished | events.Failed | events.Lost):
                        break
                printing.append((number, stream))
                connection.poll(_GRACE)
            else:
                number, stream = printing[0]
                event = next(stream, None)
                connection.send((number, event))
                if event is None:
                    printing.popleft()


def _shorten_log() -> None:
    """What compilers print goes to a file in memory, of which only the end is ever read."""
    with contextlib.suppress(OSError):
        if os.fstat(1).st_size > _LOG:
            os.ftruncate(1, 0)
            os.lseek(1, 0, os.SEEK_SET)


if __name__ == "__main__":
    main()
