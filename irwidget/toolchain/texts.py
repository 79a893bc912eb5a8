"""The texts of a run's dumps, which arrive after it, and are made again where they were lost."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from irwidget.errors import ToolError
from irwidget.toolchain import budget, client, events
from irwidget.toolchain.budget import Budget, TimeIsUp
from irwidget.toolchain.streams import Stream, next_event
from irwidget.trace import Content, Dump

MOST_DEATHS = 3
"""How often a worker may die of a text, or a run end without it, before it is given up."""


class StreamedTexts:
    """The texts of a run's dumps, arriving from the stream that the run has left behind.

    When the worker has ended, whoever ended it, the passes are run again in a new one, up to the last that ended: no
    dump is lost to a crash, a time-out or Ctrl-C. All waiting for one run, and for one that is run again, takes at most
    `seconds`; after that, what is still missing is given up, and is an error from then on. `source`, the text that the
    first of them was read from, then stands for it.
    """

    def __init__(
        self,
        stream: Stream | None,
        count: int,
        *,
        again: Callable[[], Stream],
        offset: int = 0,
        before: Sequence[Dump] = (),
        seconds: float | None = None,
        source: str | None = None,
    ) -> None:
        self._source = source
        self._stream = stream
        self._again = again
        """Makes the stream of another run of the passes that ended."""
        self._again_offset = offset
        """The number that the first of these texts has in another run."""
        self._offset = 0
        self._before = before
        self._contents: list[Content | None] = [None] * count
        self.known: dict[int, str] = {}
        """Texts that are here ahead of their contents: a run's result comes before its dumps."""
        self._deaths = 0
        self._replaying = False
        self._seconds = self._left = seconds
        self._given_up = ""
        self._how = ""
        self._its_lock = threading.RLock()
        self._pid = os.getpid()

    @property
    def _lock(self) -> threading.RLock:
        """In a copy of this process another one: the thread that held it is not in the copy."""
        if self._pid != os.getpid():
            self._its_lock, self._pid = threading.RLock(), os.getpid()
        return self._its_lock

    def content(self, index: int) -> Content:
        """The content after pass `index`; waits for it. Raises ToolError when it cannot be had."""
        with self._lock:
            if self._contents[index] is None:
                self._wait_for(index)
            content = self._contents[index]
            assert content is not None
            return content

    def text(self, index: int) -> str:
        """The text after pass `index`; waits for it. Raises as `content`."""
        known = self.known.get(index)
        return self.content(index).text if known is None else known

    def arrived(self, index: int) -> str | None:
        """The text; None while it is on its way."""
        return self.text(index) if index in self.known or self.ready(index) else None

    def ready(self, index: int) -> bool:
        """Whether `content` would answer at once."""
        if self._contents[index] is not None:
            return True  # Also while another thread holds the lock and waits for a later one.
        if not self._lock.acquire(blocking=False):
            return False
        try:
            while self._contents[index] is None and self._stream is not None:
                self._take(self._stream.next(0))
        except (queue.Empty, client.WorkerDied):
            pass
        finally:
            self._lock.release()
        return self._contents[index] is not None

    def _wait_for(self, index: int) -> None:
        watch = Budget(self._left, within=budget.current())
        while self._contents[index] is None:
            if self._given_up:
                if index or self._source is None:
                    raise ToolError(self._given_up, tool="worker")
                self._contents[0] = Content(self._source)
                return
            try:
                event = next_event(self._stream, watch) if self._stream else None
            except client.WorkerDied as death:
                self._deaths += death.fault
                self._how = str(death)
                event = None
            except TimeIsUp:
                self._give_up(watch.limit)
                continue
            except KeyboardInterrupt:
                if self._stream and self._replaying:
                    self._stream.cancel()
                raise
            if event is None:
                self._replay()
                watch = Budget(self._left, within=budget.current())
            else:
                self._take(event)
        if self._left is not None:
            self._left = max(0.001, self._left - watch.spent)

    def _take(self, event: events.Event | None) -> None:
        match event:
            case events.Printed(index=printed, content=content):
                self._replaying = False
                self._put(printed - self._offset, content)
            case None:
                self._stream = None
            case _:
                pass

    def _put(self, index: int, content: Content | None) -> None:
        if not 0 <= index < len(self._contents):
            return
        if content is None:
            before = self._contents[index - 1] if index else self._before[-1].content
            assert before is not None
            content = replace(before, changed=False)
        self._contents[index] = content
        self._deaths = 0

    def _give_up(self, limit: str) -> None:
        if self._stream:
            self._stream.cancel()
        self._stream = None
        again = "printed" if not self._replaying else "made again"
        self._given_up = f"The text of this dump is missing: it could not be {again} in time ({limit})"

    def _replay(self) -> None:
        """Run the passes again. A run that has ended by itself without the text counts as a death."""
        if self._replaying and not self._how:
            self._deaths += 1
        if self._deaths >= MOST_DEATHS:
            how = f" (it {self._how})" if self._how else ""
            self._given_up = f"The worker dies while it prints this dump again{how}: give it more memory"
            return
        self._how = ""
        self._offset = self._again_offset
        self._stream = self._again()
        self._replaying = True
        self._left = self._seconds
        try:
            self._stream.begin()
        except client.WorkerDied as death:
            self._deaths, self._how = self._deaths + 1, str(death)
            self._stream = None
