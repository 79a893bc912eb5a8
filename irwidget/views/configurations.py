"""The table of an autotuner's configurations, as text and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from IPython.display import HTML

from irwidget.views import offline
from irwidget.views.markup import aligned, table, tag

_LEFT_OUT = ("instructions",)
"""Columns of a hundred numbers: the rows have them."""


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The head, and what stands below it."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in _LEFT_OUT]
    return [tuple(names), *(tuple(_cell(name, row.get(name)) for name in names) for row in rows)]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        known: Mapping[Any, Any] = value
        return ", ".join(f"{count} x {kind}" for kind, count in known.items())
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.0%}" if name == "occupancy" else str(value)


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for each configuration."""
    return "\n".join(line.rstrip() for line in aligned(_cells(rows)))


def show(rows: Sequence[Mapping[str, Any]], key: str | None) -> HTML:
    """The table, in a notebook."""
    return HTML(html(rows))


def html(rows: Sequence[Mapping[str, Any]]) -> str:
    """The same as HTML."""
    head, *body = _cells(rows)
    return table(head, body)


def page(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    """The same as one offline page."""
    return offline.document(tag("h1", title) + html(rows), title, [])
