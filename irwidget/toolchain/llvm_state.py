"""LLVM IR and assembly between tools: text with line numbers inside, shown without them."""

from __future__ import annotations

from dataclasses import dataclass

from irwidget.toolchain import llvm_debug
from irwidget.toolchain.tool import TextState
from irwidget.trace import Content, Location

LINES = "lines"
"""The file that the line numbers inside are of: line n stands for the n-th place of a DebugText."""


@dataclass(frozen=True, slots=True)
class DebugText(TextState):
    """Text whose line numbers are ours: they become the dump's locations and are left out of what is shown."""

    lines: tuple[Location, ...] = ()

    def render(self, elide: bool) -> Content:
        shown = llvm_debug.content(self.language, self.text)
        return Content(shown.text, True, places(self, shown.locations))


def places(before: TextState, numbered: tuple[Location | None, ...]) -> tuple[Location | None, ...]:
    """The places that the line numbers inside stand for. Line information that a user wrote stays in the text."""
    lines = before.lines if isinstance(before, DebugText) else ()
    return tuple(
        lines[mark.line - 1] if mark and mark.file.endswith(LINES) and 0 < mark.line <= len(lines) else None
        for mark in numbered
    )


def same_kind(before: TextState, language: str, text: str) -> TextState:
    """The text that a tool made of a state. Line information that a user wrote stays visible."""
    if isinstance(before, DebugText):
        return DebugText(language, text, lines=before.lines)
    return TextState(language, text)
