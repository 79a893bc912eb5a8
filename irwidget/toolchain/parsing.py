"""What a parser says of text, as a person reads it: line and column, the line itself, and a caret below the place."""

from __future__ import annotations

import re
from dataclasses import replace

from irwidget.trace import Diagnostic, Location

_BRACKET = re.compile(r"->|[][(){}<>]")
INPUT = "<input>"
"""The file of locations in a text that has none."""
_WIDTH = 100
"""Characters of a line that are shown around the place: a line may have megabytes."""
_LONG = 2000
"""Characters of a message that are shown."""


def told(text: str, message: str, line: int, column: int) -> str:
    """The message with its place below it; `line` and `column` count from 1, the column in characters."""
    lines = text.split("\n", line)[:line]
    if not 0 < line <= len(lines):
        return message
    code, column = lines[-1].rstrip("\r"), max(column, 1)
    start = 0 if len(code) <= _WIDTH else max(0, min(column - 1, len(code)) - _WIDTH // 2)
    shown = "".join(char if char.isprintable() else " " if char == "\t" else "\ufffd" for char in code[start:][:_WIDTH])
    caret = " " * (column - 1 - start) + "^"
    return f"{message}\n  at line {line}, column {column}:\n    {shown}\n    {caret}"


def deepest(text: str) -> int:
    """How many brackets of a text are open at once, at most; arrows do not close any."""
    depth = most = 0
    for found in _BRACKET.finditer(text):
        depth = depth + 1 if found[0] in "([{<" else max(0, depth - (found[0] != "->"))
        most = max(most, depth)
    return most


def shortened(message: str) -> str:
    """A message without the middle of what it quotes: a name, or a line of a text, may have megabytes."""
    return message if len(message) <= _LONG else f"{message[: _LONG // 2]} ... {message[-_LONG // 2 :]}"


def in_bytes(text: str, line: int, column: int) -> int:
    """The column in characters of a column in bytes of UTF-8, as MLIR and LLVM count."""
    code = next(iter(text.split("\n", line)[line - 1 : line]), "")
    return len(code.encode(errors="replace")[: max(column, 1) - 1].decode(errors="ignore")) + 1


def placed(text: str, diagnostic: Diagnostic, buffer: str) -> Diagnostic:
    """A diagnostic of a text that its parser calls `buffer`, located in INPUT, with columns in characters."""
    place = diagnostic.location
    if place is not None and (place.file == buffer or place.file.endswith(f"/{buffer}")):
        place = Location(INPUT, place.line, in_bytes(text, place.line, place.column))
    notes = tuple(placed(text, note, buffer) for note in diagnostic.notes)
    return replace(diagnostic, location=place, notes=notes)


def explained(text: str, diagnostic: Diagnostic) -> str:
    """The message of a diagnostic, with the line that it is about if it is one of the text's."""
    place = diagnostic.location
    message = shortened(diagnostic.message.strip())
    return told(text, message, place.line, place.column) if place and place.file == INPUT else message
