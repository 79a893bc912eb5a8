"""Text and HTML for where no widget can be: tables, elements, and the one place where anything is escaped."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence


class Markup(str):
    """HTML; any other string is text, and is escaped."""

    __slots__ = ()


def visible(text: str) -> str:
    """The text with what cannot be seen (control characters, reversed text, lone surrogates) as Python's escapes."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text.expandtabs(4))


def escaped(text: str) -> Markup:
    """Text as HTML; a Markup is HTML already. Newlines are kept."""
    if isinstance(text, Markup):
        return text
    return Markup("\n".join(html.escape(visible(line)) for line in text.split("\n")))


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Texts and markup one after the other, with a text between two."""
    return Markup(escaped(between).join(map(escaped, parts)))


def tag(name: str, *children: str, **attributes: str | bool) -> Markup:
    """An element. An attribute that is True has no value, one that is False is left out."""
    given = "".join(
        f" {key}" if value is True else f' {key}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not False
    )
    return Markup(f"<{name}{given}>{joined(children)}</{name}>")


def row(cells: Iterable[str], cell: str = "td") -> Markup:
    """A row of a table."""
    return tag("tr", *(tag(cell, one) for one in cells))


def table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> Markup:
    """A table with a head, which is left out when it is empty."""
    top = [tag("thead", row(head, "th"))] if head else []
    return tag("table", *top, tag("tbody", *map(row, rows)))


def folded(summary: str, *body: str, opened: bool = False) -> Markup:
    """What is seen when it is asked for."""
    return tag("details", tag("summary", summary), *body, open=opened)


WIDTH = 160
"""Letters of a line of text that are shown."""


def shortened(line: str) -> str:
    """A line as it is shown: no wider than a screen, and with what cannot be seen as escapes."""
    return visible(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")


def capped(lines: Sequence[str], most: int) -> list[str]:
    """At most so many lines; the last then says how many more there are."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"... {len(lines) - most + 1} more lines"]


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Rows of a table as lines; the columns in `right` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
