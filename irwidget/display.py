"""How results are shown: by the first registered view that fits them. Knows no view."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irwidget import output, private_ipython
from irwidget.registry import View, views


def cell_id(shell: Any = None) -> str | None:
    """The front end's id of the cell that runs.

    None where there is no page: in a terminal, and in a notebook that is executed without one. `shell` is IPython's,
    by default the one that runs.
    """
    return private_ipython.cell_id(shell)


_views: dict[str, tuple[str, int]] = {}
"""For each cell its last run, and how many views that has shown."""


def place(shell: Any = None) -> str | None:
    """Where on the page the next view stands: the cell that runs, and how many views this run of it has shown before.

    The same again when the cell runs again, whose views are replaced by it. None where there is no page.
    """
    cell, run = cell_id(shell), private_ipython.run_id(shell)
    if cell is None:
        return None
    last, count = _views.get(cell, (run, 0))
    count = count if last == run else 0
    _views[cell] = run, count + 1
    return f"{cell} {count}"


def view_of(results: Sequence[Any]) -> View:
    """The view that the first of some results names (`view`), or the first that fits them; these have a `trace`."""
    if name := getattr(results[0], "view", ""):
        return views.find(name, "view")
    return next(view for view in views if views.ask(view, lambda view: view.fits(results), False))


def shown(results: Sequence[Any], key: str | None) -> Any:
    """What a notebook displays; showing again with the same key replaces the view before."""
    return view_of(results).show(results, key)


def grow(view: Any, results: Sequence[Any], *, last: bool = False) -> None:
    """Have a view that `shown` gave show what has come since; `last`: nothing more will. A view may not know how."""
    if hasattr(view, "grow"):
        view.grow([one.trace for one in results], last=last)


def mimebundle(results: Sequence[Any]) -> Any:
    """The same as IPython asks an object for it, in the cell that runs."""
    return shown(results, place())._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]


def page(results: Sequence[Any], title: str, path: str | Path | None = None) -> str:
    """The same as one offline page; written to `path` when given."""
    made = view_of(results).page(results, title)
    if path is not None:
        output.write(path, made)
    return made


def text(results: Sequence[Any]) -> str:
    """What a terminal shows."""
    return view_of(results).text(results)
