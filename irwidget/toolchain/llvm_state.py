"""LLVM IR and assembly between tools: text with debug information inside, shown without it."""

from __future__ import annotations

from dataclasses import dataclass

from irwidget.dumps import Content
from irwidget.toolchain import llvm_debug
from irwidget.toolchain.tool import TextState


@dataclass(frozen=True, slots=True)
class DebugText(TextState):
    """Text whose line information is ours: it becomes the dump's locations and is left out of what is shown."""

    def render(self, elide: bool) -> Content:
        return llvm_debug.content(self.language, self.text)


def same_kind(before: TextState, language: str, text: str) -> TextState:
    """The text that a tool made of a state. Line information that a user wrote stays visible."""
    return DebugText(language, text) if isinstance(before, DebugText) else TextState(language, text)
