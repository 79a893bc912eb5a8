"""What a long lowering is at, as a widget: traits only. What it looks like is in js/src/progress."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable
from typing import Any

import traitlets

from irwidget.course import Course, Phase
from irwidget.views import base


class ProgressBar(base.BundledView):
    """The phases of a lowering that goes on, the pass under way, and a button that stops it."""

    _code = "progress"

    state = traitlets.Dict().tag(sync=True)
    """The course of the lowering, as `irwidget.views.schema.progress.Progress` has it."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        """`stop` ends the lowering; it is called on another thread, and says whether there was anything to stop."""
        super().__init__()
        self._stop = stop
        self._line = ""
        self._known: tuple[Any, ...] = ()
        self.on_msg(self._asked)

    def take(self, course: Course, now: float) -> None:
        """Show where a lowering is. The page counts the seconds on from here, and hears of what changes."""
        self._line = course.line(now)
        known = (course.name, course.began, course.phase and course.phase.name, course.passes, course.now)
        if known != self._known:
            self._known, self.state = known, _plain(course, now)

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        match content:
            case {"id": int(number), "kind": "stop"}:
                # On a thread of its own: the answer must not wait for what the interrupt does.
                threading.Thread(target=self._end, args=(number,), daemon=True).start()
            case _:
                pass

    def _end(self, number: int) -> None:
        self.send({"id": number, "error": "" if self._stop() else "It is over already"})

    def fallbacks(self) -> tuple[str, str]:
        line = f"{self._line} · interrupt the kernel to stop"
        return f"<pre>{html.escape(line)}</pre>", line


def _plain(course: Course, now: float) -> dict[str, Any]:
    """The course as JSON."""
    return {
        "name": course.name,
        "seconds": now - course.began,
        "phases": [_phase(one, now) for one in course.phases],
        "passes": course.passes,
        "running": _running(course, now),
        "last": {"seconds": course.last.seconds, "passes": course.last.passes} if course.last else None,
    }


def _running(course: Course, now: float) -> dict[str, Any] | None:
    if course.now is None:
        return None
    name, since = course.now
    return {"pass": name, "step": course.step, "seconds": now - since, "over": course.over}


def _phase(one: Phase, now: float) -> dict[str, Any]:
    return {"name": one.name, "seconds": one.seconds(now), "over": one.began is None}
