"""Text in a terminal: colours where it can show them, a pager where it is longer than the screen."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from typing import Literal, TextIO

Colour = Literal["auto", "always", "never"]

_BOLD, _DIM, _RED, _GREEN, _CYAN = "1", "2", "31", "32", "36"
_LINES = (
    (re.compile(r"(---|\+\+\+) "), _BOLD),
    (re.compile(r"@@ "), _CYAN),
    (re.compile(r"error: "), _RED),
    (re.compile(r"-"), _RED),
    (re.compile(r"\+"), _GREEN),
    (re.compile(r" *#  pass\b"), _BOLD),
    (re.compile(r" *\d+(-\d+)?  .*\bno change$"), _DIM),
)
"""What the beginning of a line says of it; the first that fits counts."""
_COUNTS = re.compile(r"(?<= )(-\d+)?( +)?(\+\d+)?$")


def coloured(text: str) -> str:
    """The text of a view, or a unified diff, with ANSI colours; its letters stay as they are."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    style = next((style for pattern, style in _LINES if pattern.match(line)), "")
    if style:
        return _in(style, line)
    if re.match(r" *\d+  ", line) and (found := _COUNTS.search(line)):
        gone, space, new = (found[i] or "" for i in (1, 2, 3))
        return line[: found.start()] + _in(_RED, gone) + space + _in(_GREEN, new)
    return line


def _in(style: str, text: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text else ""


def shows_colours(wanted: Colour, stream: TextIO) -> bool:
    """Whether to colour what goes to a stream: as asked, or by NO_COLOR, FORCE_COLOR and TERM, or on a terminal."""
    if wanted != "auto":
        return wanted == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def ready() -> None:
    """Have standard output and error take all that is printed: where they are closed, nothing of it is told."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def show(text: str, wanted: Colour = "auto") -> None:
    """Print a text; on a terminal that is lower than it, through $PAGER, or `less`."""
    shown = coloured(text) if shows_colours(wanted, sys.stdout) else text
    high = text.count("\n") + 1 >= shutil.get_terminal_size().lines
    # `less` on a terminal that cannot move its cursor asks whether that is meant.
    pager = os.environ.get("PAGER", "" if os.environ.get("TERM") == "dumb" else "less -RFX")
    if high and sys.stdout.isatty() and sys.stdin.isatty() and pager and shutil.which(pager.split()[0]):
        letters = shown.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        with _deaf():
            subprocess.run(pager, shell=True, input=letters, env={"LESS": "-RFX", **os.environ}, check=False)
        return
    print(shown)


@contextlib.contextmanager
def _deaf() -> Generator[None]:
    """Leave Ctrl-C to the pager: `less` ends a search by it, and stays."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
