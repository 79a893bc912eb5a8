"""Failures made small in a view: what a page asks for, run in the background."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from irwidget.errors import IRWidgetError, UsageError
from irwidget.reducing.report import Reduced
from irwidget.views.schema import reducing as schema

_SECONDS = 120.0
_SHOWN = 20_000
"""Letters of the best so far that a page gets."""


class Shows(Protocol):
    """The view that it is of."""

    def tell_reduced(self, reductions: list[schema.Reduction]) -> None:
        """Have the page know how reductions go."""
        ...


class Reductions:
    """The reductions of one view, one for each failed lowering. May be called on any thread; raises UsageError."""

    def __init__(self, view: Shows, lowerings: Sequence[Any]) -> None:
        """`lowerings` are what the view shows, in its order; empty where they are not here."""
        self._view, self._lowerings = view, tuple(lowerings)
        self._lock = threading.Lock()
        self._known: dict[int, schema.Reduction] = {}
        self._stops: dict[int, threading.Event] = {}

    def possible(self) -> list[schema.Reducible]:
        """Of which lowerings something can be made small."""
        failed = [(i, one) for i, one in enumerate(self._lowerings) if hasattr(one, "reduce") and one.trace.failure]
        return [{"trace": i, "ir": _has_ir(one), "program": _has_program(one)} for i, one in failed]

    def answer(self, request: Mapping[str, Any]) -> None:
        """Do what a message of the page says. Raises UsageError."""
        match request:
            case {"do": "start", "trace": int(trace), "program": bool(program)}:
                self.start(trace, program=program)
            case {"do": "stop", "trace": int(trace)}:
                self.stop(trace)
            case _:
                raise UsageError("The page asked for something that is not understood: reload it")

    def start(self, trace: int, *, program: bool = False) -> None:
        """Begin to make the failure of a lowering small."""
        if not any(one["trace"] == trace and one["program" if program else "ir"] for one in self.possible()):
            raise UsageError(f"There is nothing to make small of lowering {trace}")
        with self._lock:
            if trace in self._known and self._known[trace]["state"] == "running":
                raise UsageError("It is being made small already: stop that first")
            stop = self._stops[trace] = threading.Event()
            self._known[trace] = {
                "trace": trace, "program": program, "state": "running", "operations": 0, "before": 0, "tried": 0,
                "text": "", "message": "",
            }  # fmt: skip
            self._tell()
        threading.Thread(target=self._run, args=(trace, stop, program), daemon=True).start()

    def stop(self, trace: int) -> None:
        """End one with the best so far."""
        if trace in self._stops:
            self._stops[trace].set()

    def stop_all(self) -> None:
        """End all, and forget them."""
        for one in self._stops.values():
            one.set()
        self._lowerings = ()

    def _run(self, trace: int, stop: threading.Event, program: bool) -> None:
        def progress(best: Reduced) -> None:
            self._say(trace, stop, operations=best.operations, before=best.before, tried=best.tried, text=best.text)

        said: dict[str, Any] = {"state": "failed", "message": "It ended without an answer"}
        try:
            made: Reduced = self._lowerings[trace].reduce(
                program=program, seconds=_SECONDS, progress=progress, stop=stop
            )
            state = "stopped" if stop.is_set() and not made.complete else "done"
            said = {"state": state, "operations": made.operations, "before": made.before, "tried": made.tried}
            said["text"] = made.report
        except IRWidgetError as error:
            said["message"] = str(error)
        except BaseException as error:  # the page must not wait for ever
            said["message"] = f"{type(error).__name__}: {error}"
        self._say(trace, stop, **said)

    def _say(self, trace: int, stop: threading.Event, **said: Any) -> None:
        with self._lock:
            if self._stops.get(trace) is stop:
                text = str(said.get("text", self._known[trace]["text"]))
                cut = f"{text[:_SHOWN]}\n... {len(text) - _SHOWN:,} more letters" if len(text) > _SHOWN else text
                self._known[trace].update({**said, "text": cut})  # pyright: ignore[reportCallIssue, reportArgumentType]
                self._tell()

    def _tell(self) -> None:
        with contextlib.suppress(Exception):  # of a view that is gone
            self._view.tell_reduced([{**one} for one in self._known.values()])


def _has_ir(lowering: Any) -> bool:
    failure = lowering.trace.failure
    return bool(lowering.trace.dumps) and failure.kind in ("pass", "tool")


def _has_program(lowering: Any) -> bool:
    origin: Any = getattr(lowering, "origin", None)
    has = origin is not None and origin.program is not None and not origin.of_text
    return has and _has_ir(lowering) and not lowering.file
