"""What differs between two sweeps, as text, in a notebook and as an offline page."""

from __future__ import annotations

from IPython.display import HTML

from irwidget.sweeps.cells import Cell
from irwidget.sweeps.result import SweepComparison
from irwidget.sweeps.view import why
from irwidget.views import offline
from irwidget.views.markup import folded, table, tag


def text(comparison: SweepComparison) -> str:
    """Which versions differ, and which cells do."""
    lines = [repr(comparison).strip("<>")]
    lines += [f"  {name}: {old} -> {new}" for name, (old, new) in comparison.versions.items()]
    for title, pairs in _groups(comparison):
        lines += ["", f"{title}:", *(f"  {new.model} to {new.target}: {_change(old, new)}" for old, new in pairs)]
    return "\n".join(lines)


def html(comparison: SweepComparison) -> str:
    """The same as HTML."""
    parts = [tag("p", tag("strong", repr(comparison).strip("<>")))]
    if comparison.versions:
        versions = [(name, old, new) for name, (old, new) in comparison.versions.items()]
        parts.append(table(("tool", "before", "after"), versions))
    for title, pairs in _groups(comparison):
        items = [tag("li", f"{new.model} to {new.target}: {_change(old, new)}") for old, new in pairs]
        parts.append(folded(title, tag("ul", *items), opened=True))
    return tag("div", *parts)


def _groups(comparison: SweepComparison) -> list[tuple[str, tuple[tuple[Cell, Cell], ...]]]:
    groups = [("Regressed", comparison.regressed), ("Fixed", comparison.fixed), ("Fail elsewhere", comparison.moved)]
    return [(title, pairs) for title, pairs in groups if pairs]


def _change(old: Cell, new: Cell) -> str:
    if new.ok:
        return f"ok, was {why(old)}"
    return why(new) if old.ok else f"{why(new)}; was {why(old)}"


def show(comparison: SweepComparison, key: str | None) -> HTML:
    """What differs, in a notebook."""
    return HTML(html(comparison))


def page(comparison: SweepComparison, title: str) -> str:
    """The same as a page that needs no kernel and no network."""
    return offline.document(tag("h1", title) + html(comparison), title, [])
