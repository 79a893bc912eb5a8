"""The texts of dumps, beside them: a store knows what has arrived."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from irwidget.trace.location import Location


def lines_of(text: str) -> list[str]:
    """The lines of a dump; only newlines count, as in the tools that print dumps."""
    return text.removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a dump and what belongs to its lines."""

    text: str
    changed: bool = True
    """Whether the text differs from that of the dump before it."""
    locations: tuple[Location | None, ...] = ()
    """For each line, the user's source line that it came from; empty when nothing is known."""


class Texts(Protocol):
    """Where the contents of some dumps are, or will be. They are numbered from 0."""

    def content(self, index: int) -> Content:
        """The content; waits for it. Raises ToolError when it will never come."""
        ...

    def text(self, index: int) -> str:
        """The text alone, which may be here before what belongs to its lines; waits for it. Raises as `content`."""
        ...

    def ready(self, index: int) -> bool:
        """Whether `content` would answer at once."""
        ...

    def arrived(self, index: int) -> str | None:
        """The text; None while it is on its way."""
        ...


@dataclass(frozen=True, slots=True)
class KnownTexts:
    """Contents that are here."""

    contents: Sequence[Content]

    def content(self, index: int) -> Content:
        """The content."""
        return self.contents[index]

    def text(self, index: int) -> str:
        """The text."""
        return self.contents[index].text

    def ready(self, index: int) -> bool:
        """True."""
        return True

    def arrived(self, index: int) -> str | None:
        """The text."""
        return self.contents[index].text


class Computed:
    """One content that this process makes when somebody asks for it, once."""

    def __init__(self, make: Callable[[], Content]) -> None:
        self._make = make
        self._made: Content | None = None
        self._lock = threading.Lock()

    def content(self, index: int) -> Content:
        """The content. Raises what making it raises."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def text(self, index: int) -> str:
        """The text. Raises what making it raises."""
        return self.content(index).text

    def ready(self, index: int) -> bool:
        """True: nobody else has to be waited for."""
        return True

    def arrived(self, index: int) -> str | None:
        """The text. Raises what making it raises."""
        return self.content(index).text
