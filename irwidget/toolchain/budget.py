"""What one lowering may take, from export to the last text: seconds that count only while it is its turn, and bytes.

The budget of the lowering under way is found by whoever works for it (`current()`): copies of the process, jobs in the
worker, and Python in this process, which is ended by an exception where it has not ended by itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import numbers
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager
from contextvars import ContextVar

from irwidget import phases
from irwidget.errors import ToolError, UsageError
from irwidget.toolchain import interrupts

_PREPARATION = "the preparation"
_AGAIN = 0.2
"""Seconds after which a thread that has not raised our exception yet, inside a blocking call, is told once more."""
_CAUGHT = 2.0
"""Seconds after which one that has raised it, and goes on, is told again: it may only be tidying up."""


class TimeIsUp(Exception):
    """The budget has run out."""


class _Expired(BaseException):
    """Raised in a thread whose budget has run out."""

    raised: threading.Event

    def __init__(self) -> None:
        super().__init__()
        self.raised.set()


class Budget:
    """Seconds and bytes. The clock starts when it is made, and stands still while others have the worker."""

    def __init__(
        self,
        seconds: float | None = None,
        memory: int | None = None,
        *,
        of: str = "this lowering",
        within: Budget | None = None,
    ) -> None:
        self.seconds = seconds
        self.memory = memory
        """Bytes for each process that works on it; None: the default."""
        self.of = of
        self.within = within
        """A larger one that this is a part of."""
        self.doing = _PREPARATION
        """What is going on, in words, for the errors and the line that an interrupt leaves."""
        self._started = time.monotonic()
        self._queued = 0.0
        self._paused: float | None = None
        """Since when the clock stands still."""
        self._watchers = 0

    @property
    def spent(self) -> float:
        """Seconds so far, without those in a queue."""
        return (self._paused or time.monotonic()) - self._started - self._queued

    def left(self) -> float | None:
        """Seconds; None without a limit."""
        own = None if self.seconds is None else self.seconds - self.spent
        outer = self.within.left() if self.within else None
        return outer if own is None else own if outer is None else min(own, outer)

    def queued(self, seconds: float) -> None:
        """Do not count these seconds: others had the worker."""
        self._queued += seconds
        if self.within:
            self.within.queued(seconds)

    def pause(self) -> None:
        """Stop the clock until `resume`: what is waited for is nothing of the lowering's own."""
        self._paused = self._paused or time.monotonic()
        if self.within:
            self.within.pause()

    def resume(self, *, counted: bool = False) -> None:
        """Let the clock go on, if it stands still; `counted`: as if it had not stood."""
        if self._paused is not None:
            self._queued += 0.0 if counted else time.monotonic() - self._paused
            self._paused = None
        if self.within:
            self.within.resume(counted=counted)

    @property
    def limit(self) -> str:
        """Which limit ran out, as an error puts it: `after 5 s, the limit of this lowering`."""
        if self.within and (self.seconds is None or self.seconds - self.spent > (self.within.left() or 0)):
            return self.within.limit
        return f"after {self.seconds or 0:g} s, the limit of {self.of}"

    @property
    def to_enforce(self) -> bool:
        """Whether the time is up and nobody has noticed."""
        left = self.left()
        return left is not None and left <= 0 and not self._watchers

    @contextlib.contextmanager
    def watched(self) -> Generator[None]:
        """While it lasts, somebody looks at the clock already: nothing is raised from outside."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1

    @contextlib.contextmanager
    def enforced(self, doing: str) -> Generator[None]:
        """End the Python inside when the time is up, by an exception. Raises ToolError then.

        Native code cannot be ended like this: how long it went on is told after it.
        """
        left = self.left()
        if left is not None and left <= 0:
            raise self.exceeded(doing)
        alarm = None if left is None else _Alarm(self)
        try:
            with self.named(doing), alarm or contextlib.nullcontext():
                yield
        except BaseException as error:
            if alarm and (alarm.rung or (isinstance(error, TimeIsUp) and self.to_enforce)):
                raise self.exceeded(doing, alarm.late) from None
            raise
        if alarm and alarm.rung:
            raise self.exceeded(doing, alarm.late)

    @contextlib.contextmanager
    def named(self, doing: str) -> Generator[None]:
        """Say what is going on. After an interrupt it still says so, for who reports it."""
        before, self.doing = self.doing, doing
        phases.entering(doing)
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException:
            self._back(before)
            raise
        self._back(before)

    def _back(self, doing: str) -> None:
        self.doing = doing
        phases.entering("" if doing == _PREPARATION else doing)

    def exceeded(self, doing: str, late: float = 0.0) -> ToolError:
        """The error for what took too long; `late` is how many seconds after the limit it could be stopped."""
        why = f"; it could not be stopped for {late:.0f} s more" if late > 1 else ""
        return ToolError(f"{doing} timed out ({self.limit}){why}", tool=doing)


class _Alarm:
    """Raises `_Expired` in the thread that entered it, when the budget has run out and until it leaves."""

    def __init__(self, budget: Budget) -> None:
        self.rung = False
        self.late = 0.0
        """Seconds between the limit and the end of what was stopped."""
        self._budget = budget
        self._thread = threading.get_ident()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._raised = threading.Event()
        self._expired = type("Expired", (_Expired,), {"raised": self._raised})

    def __enter__(self) -> None:
        _say_nothing_of_lost_ones()
        threading.Thread(target=self._watch, name="irwidget-limit", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        interrupt: BaseException | None = None
        while True:
            try:
                self._silence()
                break
            except BaseException as error:  # ours, or an interrupt of somebody else's: it waits until all is silent
                interrupt = error
        if interrupt is not None and not self.rung:
            raise interrupt

    def _silence(self) -> None:
        self._over.set()
        with self._lock:  # nothing is raised from here on
            if self.rung:
                self.late = -(self._budget.left() or 0.0)
                _take_back(self._thread)

    def _watch(self) -> None:
        while True:
            left = self._budget.left()
            pause = 0.01 if not self.rung else _CAUGHT if self._raised.is_set() else _AGAIN
            if self._over.wait(_AGAIN if left is None else max(left, pause)):
                return
            with self._lock:
                if not self._over.is_set() and self._budget.to_enforce and not interrupts.waits(self._thread):
                    self._ring()

    def _ring(self) -> None:
        blocked = self.rung and not self._raised.is_set()
        raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if blocked and raises and self._thread == threading.main_thread().ident:
            _raise_in(self._thread, None)  # one of both: the second would hit what tidies up after the first
            self._raised.set()
            signal.pthread_kill(self._thread, signal.SIGINT)  # it may sleep or read, which only a signal ends
        else:
            self._raised.clear()
            _raise_in(self._thread, self._expired)
        self.rung = True


@functools.cache
def _say_nothing_of_lost_ones() -> None:
    """Where ours strikes in a callback or a finalizer Python drops it and reports that; it is raised again later."""
    report = sys.unraisablehook

    def hook(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, _Expired):
            report(lost)

    sys.unraisablehook = hook


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Have a thread raise an exception at its next instruction of Python; None takes it back."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind) if kind else None)


class _TakenBack(BaseException):
    """Raised in the place of one that is not to be raised any more."""


def _take_back(thread: int) -> None:
    """Have this thread, `thread`, not raise what `_raise_in` asked for.

    CPython 3.11 goes on looking for an exception that was taken back as None, and a profile or trace function that is
    set later then never gets past the first instruction of a function. It stops looking when it has raised one.
    """
    try:
        _raise_in(thread, _TakenBack)
        for _ in range(1000):
            pass
    except _TakenBack:
        pass


_current: ContextVar[Budget | None] = ContextVar("irwidget_budget", default=None)


def limit(seconds: float) -> float:
    """Seconds that something may take. Raises UsageError for what is no number above 0."""
    number = not isinstance(seconds, bool) and isinstance(seconds, numbers.Real)
    if not number or not 0 < float(seconds) <= threading.TIMEOUT_MAX:
        raise UsageError(f"a limit is a number of seconds above 0, not {seconds!r}")
    return float(seconds)


def current() -> Budget | None:
    """The budget of the lowering that this thread works on."""
    return _current.get()


@contextlib.contextmanager
def of(budget: Budget) -> Generator[Budget]:
    """Make a budget the current one of this thread."""
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


@contextlib.contextmanager
def enforced(doing: str) -> Generator[None]:
    """`Budget.enforced` of the current budget, or of one without a limit."""
    with (current() or Budget()).enforced(doing):
        yield


@contextlib.contextmanager
def uncounted(doing: str) -> Generator[None]:
    """Waiting that is nothing of the lowering's own."""
    whole = current() or Budget()
    whole.pause()
    try:
        with whole.named(doing):
            yield
    except KeyboardInterrupt:
        whole.resume(counted=True)  # who reports it says for how long
        raise
    finally:
        whole.resume()


@contextlib.contextmanager
def turn(lock: AbstractContextManager[object], doing: str) -> Generator[None]:
    """Hold a lock for what is going on. The waiting for it does not count."""
    whole = current() or Budget()
    whole.pause()
    try:
        with whole.named(doing), lock:
            whole.resume()
            yield
    except KeyboardInterrupt:
        whole.resume(counted=True)
        raise
    finally:
        whole.resume()
