"""Which line of a kernel each line of Helion's Triton, and of what Triton makes of it, came from.

Helion writes the kernel's lines as comments before what it makes of them:
`# src[kernel.py:17]: for tile in hl.tile(n):`.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from irwidget.trace import Content, Location, Trace
from irwidget.trace.texts import Texts

_COMMENT = re.compile(r"^\s*# src\[(?P<file>.*):(?P<line>\d+)(?:-\d+)?\]:")


def places(text: str, files: Collection[str]) -> tuple[Location | None, ...]:
    """For each line of a Triton program of Helion's, the kernel's line; `files` are those that it may stand in.

    A line belongs to the comment above it; of several in a row, which announce the body of a loop too, to the first.
    """
    known = {Path(file).name: file for file in files}
    found: list[Location | None] = []
    current: Location | None = None
    announced = False
    for line in text.splitlines():
        if comment := _COMMENT.match(line):
            own = Location(known[comment["file"]], int(comment["line"])) if comment["file"] in known else None
            current = current if announced else own
            found.append(own)
        else:
            current = current if line[:1].isspace() else None
            found.append(current)
        announced = comment is not None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Relocated:
    """Texts whose lines are ascribed to other places than they say themselves."""

    texts: Texts
    place: Callable[[Location | None], Location | None]

    def content(self, index: int) -> Content:
        """The content."""
        content = self.texts.content(index)
        return replace(content, locations=tuple(map(self.place, content.locations)))

    def text(self, index: int) -> str:
        """The text."""
        return self.texts.text(index)

    def ready(self, index: int) -> bool:
        """Whether it is here."""
        return self.texts.ready(index)

    def arrived(self, index: int) -> str | None:
        """The text; None while it is on its way."""
        return self.texts.arrived(index)


def relocated(trace: Trace, program: str, sources: Mapping[str, str]) -> Trace:
    """A lowering of the Triton program in the file `program`, its lines ascribed to the Helion kernel's.

    `sources` are the texts of the kernel's files. Lines of the program that Helion ascribes to nothing stay.
    """
    lines = places("".join(linecache.getlines(program)), sources)

    def place(location: Location | None) -> Location | None:
        if location is None or location.file != program or not 0 < location.line <= len(lines):
            return location
        found = lines[location.line - 1]
        return location if found is None else replace(found, name=location.name)

    dumps = tuple(replace(dump, texts=_Relocated(dump.texts, place)) for dump in trace.dumps)
    said = tuple(replace(one, location=place(one.location)) for one in trace.diagnostics)
    return replace(trace, dumps=dumps, diagnostics=said, sources={**sources, **trace.sources})
