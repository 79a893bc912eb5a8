"""Failures made small in a view: what a page asks for, run in the background."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from irwidget.errors import IRWidgetError, UsageError
from irwidget.reducing.reduce import runs
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

    def __init__(self, view: Shows, shown: Callable[[], Sequence[Any]]) -> None:
        """`shown` gives what the view shows now, in its order; nothing where that is not here."""
        self._view, self._shown = view, shown
        self._lock = threading.Lock()
        self._known: list[_Known] = []

    def possible(self) -> list[schema.Reducible]:
        """Of which lowerings something can be made small."""
        failed = [(i, one) for i, one in enumerate(self._shown()) if hasattr(one, "reduce") and one.trace.failure]
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
        lowering = self._shown()[trace]
        with self._lock:
            before = self._of(lowering)
            if before and before.said["state"] == "running":
                raise UsageError("It is being made small already: stop that first")
            said: schema.Reduction = {
                "trace": trace, "program": program, "state": "running", "operations": 0, "before": 0, "tried": 0,
                "text": "", "message": "",
            }  # fmt: skip
            known = _Known(lowering, said)
            self._known = [*(one for one in self._known if one is not before), known]
            self._tell()
        threading.Thread(target=self._run, args=(known, program), daemon=True).start()

    def stop(self, trace: int) -> None:
        """End one with the best so far."""
        shown = self._shown()
        if 0 <= trace < len(shown) and (known := self._of(shown[trace])):
            known.stop.set()

    def stop_all(self) -> None:
        """End all, and forget them."""
        for one in self._known:
            one.stop.set()
        self._known = []

    def moved(self) -> None:
        """The view shows other lowerings, or in another order: those that are gone end."""
        with self._lock:
            here = {id(one) for one in self._shown()}
            for one in (one for one in self._known if id(one.lowering) not in here):
                one.stop.set()
            self._known = [one for one in self._known if id(one.lowering) in here]
            self._tell()

    def _of(self, lowering: Any) -> _Known | None:
        return next((one for one in self._known if one.lowering is lowering), None)

    def _run(self, known: _Known, program: bool) -> None:
        def progress(best: Reduced) -> None:
            self._say(known, operations=best.operations, before=best.before, tried=best.tried, text=best.text)

        said: dict[str, Any] = {"state": "failed", "message": "It ended without an answer"}
        try:
            made: Reduced = known.lowering.reduce(program=program, seconds=_SECONDS, progress=progress, stop=known.stop)
            state = "stopped" if known.stop.is_set() and not made.complete else "done"
            said = {"state": state, "operations": made.operations, "before": made.before, "tried": made.tried}
            said["text"] = made.report
        except IRWidgetError as error:
            said["message"] = str(error)
        except BaseException as error:  # the page must not wait for ever
            said["message"] = f"{type(error).__name__}: {error}"
        self._say(known, **said)

    def _say(self, known: _Known, **said: Any) -> None:
        with self._lock:
            text = str(said.get("text", known.said["text"]))
            cut = f"{text[:_SHOWN]}\n... {len(text) - _SHOWN:,} more letters" if len(text) > _SHOWN else text
            known.said.update({**said, "text": cut})  # pyright: ignore[reportCallIssue, reportArgumentType]
            self._tell()

    def _tell(self) -> None:
        """Tell of those whose lowering is shown, by where that is now."""
        with contextlib.suppress(Exception):  # of a view that is gone
            places = {id(one): number for number, one in enumerate(self._shown())}
            known = [one for one in self._known if id(one.lowering) in places]
            self._view.tell_reduced([{**one.said, "trace": places[id(one.lowering)]} for one in known])


@dataclass(eq=False)
class _Known:
    """A reduction, and what it is of."""

    lowering: Any
    said: schema.Reduction
    stop: threading.Event = field(default_factory=threading.Event)


def _has_ir(lowering: Any) -> bool:
    return lowering.trace.failure.kind in ("pass", "tool") and bool(runs(lowering.trace))


def _has_program(lowering: Any) -> bool:
    origin: Any = getattr(lowering, "origin", None)
    has = origin is not None and origin.program is not None and not origin.of_text
    failed = lowering.trace.refused or lowering.trace.failure.kind in ("pass", "tool")
    return has and failed and bool(lowering.trace.dumps) and not lowering.file
