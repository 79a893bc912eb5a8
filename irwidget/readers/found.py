"""What a reader finds in a log: dumps, and what stands between them. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from irwidget.trace import WHOLE, Scope

When = Literal["after", "before", "failed", "start", "inside", "same", "output"]
"""What a text is: the IR after a pass, before it, or after a pass that failed; the input of all passes; what a pass
prints at its own work (`inside`); nothing, because the pass changed nothing (`same`); or the compiler's last word."""

AS_DIFFERENCE = "printed as a difference"
"""Said, in place of options, of a pass that is `same` only in that the log has no text of what it made."""

NO_TEXT = "its name printed alone"
"""The same of a pass whose name is all that the log has."""


@dataclass(frozen=True, slots=True)
class PrintedDump:
    """A dump that a log has from byte `start` up to `stop`."""

    name: str
    """The pass."""
    start: int
    stop: int
    when: When = "after"
    language: str = "mlir"
    scope: Scope = WHOLE
    """What the text shows; the function is put back into its module where one was printed before."""
    options: str = ""
    seconds: float = 0.0
    group: str = ""
    """The lowering that it belongs to, where the log says so; empty: told by what the dumps define."""
    cut: bool = False
    """Whether the log ends in the middle of it."""
    step: str = ""
    """The tool or the pipeline that the pass is part of, where the log says so."""
    prefix: bytes = b""
    """What each line of it begins with besides."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a log has between two dumps."""

    start: int
    stop: int
    group: str = ""
    """The lowering that it belongs to, where the log says so; empty: that of the dump before it."""
    module: PrintedDump | None = None
    """The module in it, which is what the tool left if the dumps of a compilation end here."""
