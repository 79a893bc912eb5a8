"""The errors that irwidget raises on purpose.

Each carries a message for a person (what happened, why, what to do next) and,
where a lowering had already begun, the part of it that succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irwidget.trace.data import Diagnostic
    from irwidget.trace.location import Location


_UNPRINTABLE = re.compile("[^\n\t\x20-\x7e\xa0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\U0010ffff]")
"""Control characters, marks that reverse text, and surrogates."""


class IRWidgetError(Exception):
    """Base of every error that irwidget raises on purpose."""

    lowering: Any = None
    """What was done before the error, an `irwidget.Lowering`, when a lowering had begun; None otherwise. Of an object
    that a front end refuses, its source."""
    lowerings: Mapping[str, Any] = {}
    """Of several IR types, and of what a cell or a file wants lowered: every `irwidget.Lowering` that had begun,
    complete or not, by name."""
    kernel: str = ""
    """The kernel whose launch is refused, where it is about one."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the message; the frames of our own code would only hide it.

        What a program has put into it is text: no escapes that a terminal obeys, nothing that it cannot print.
        """
        lines = [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", [])]
        return [_UNPRINTABLE.sub(lambda char: ascii(char[0])[1:-1], line) for line in lines]

    def __reduce__(self) -> Any:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[IRWidgetError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> IRWidgetError:
    """An error as it was in another process: some take more than their message."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class UsageError(IRWidgetError):
    """A bad target, option, pipeline or argument."""


class ExportError(IRWidgetError):
    """PyTorch could not export the model; names the user's line and the cause."""

    location: Location | None = None
    """The user's line."""


class PassError(IRWidgetError):
    """A pass rejected the IR."""

    def __init__(
        self,
        message: str,
        *,
        tool: str,
        pass_name: str,
        diagnostics: tuple[Diagnostic, ...] = (),
        reproducer: str = "",
    ) -> None:
        super().__init__(message)
        self.tool = tool
        self.pass_name = pass_name
        self.diagnostics = diagnostics
        self.reproducer = reproducer


class ToolError(IRWidgetError):
    """A tool is missing, too old, failed, timed out or crashed."""

    def __init__(self, message: str, *, tool: str, pass_name: str = "", reproducer: str = "") -> None:
        super().__init__(message)
        self.tool = tool
        self.pass_name = pass_name
        self.reproducer = reproducer


class UnsupportedError(IRWidgetError):
    """An op, dtype or device that irwidget cannot lower, with its place."""

    node: str = ""
    """The node of the graph that it is about, where one is."""


class LoweringInterrupted(KeyboardInterrupt):
    """Ctrl-C during a lowering, and where it struck.

    `lowering` holds what was done before it, `lowerings` that of several IR types.
    """

    lowering: Any = None
    lowerings: Mapping[str, Any] = {}

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: one line."""
        return [str(self)]


_NAMED = 100
"""Words that an error names, at most."""
_MEANT = 3
"""Words that may be meant, at most."""


def _words(text: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z\d]+", text.lower()))


def near(word: str, known: Iterable[str], told: Mapping[str, str] | None = None) -> str:
    """Suggest known words for a mistyped one, the nearest first, as the end of an error message.

    `told` says what known words stand for; one that has the word in its name or there comes before all that are alike.
    """
    import difflib

    known = list(known)
    named = [one for one in known if told is not None and word.lower() in _words(f"{one} {told.get(one, '')}")]
    if named:
        return f"Did you mean {' or '.join(named[:_MEANT])}?"
    close = difflib.get_close_matches(word, known, n=len(known) or 1, cutoff=0.5)

    def far(one: str) -> tuple[float, int, int]:
        matcher = difflib.SequenceMatcher(None, one, word)
        shared = next((i for i, (a, b) in enumerate(zip(one, word, strict=False)) if a != b), min(len(one), len(word)))
        return -matcher.ratio(), -shared, known.index(one)

    close.sort(key=far)
    if close:
        return f"Did you mean {' or '.join(close[:_MEANT])}?"
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"Known: {', '.join(known[:_NAMED])}{more}." if known else "There are none."
