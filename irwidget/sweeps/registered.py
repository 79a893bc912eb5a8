"""The views of sweeps, as they are registered; what draws them is imported when one is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irwidget.registry import View


def _show(results: Sequence[Any], key: str | None) -> Any:
    from irwidget.sweeps.view import SweepMap

    return SweepMap(results[0])


def _page(results: Sequence[Any], title: str) -> str:
    from irwidget.sweeps import view

    return view.page(results[0], title)


def _text(results: Sequence[Any]) -> str:
    from irwidget.sweeps import view

    return view.text(results[0])


def _show_comparison(results: Sequence[Any], key: str | None) -> Any:
    from IPython.display import HTML

    from irwidget.sweeps import view

    return HTML(view.comparison_html(results[0]))


def _comparison_page(results: Sequence[Any], title: str) -> str:
    from irwidget.sweeps import view

    return view.comparison_page(results[0], title)


def _comparison_text(results: Sequence[Any]) -> str:
    from irwidget.sweeps import view

    return view.comparison_text(results[0])


VIEWS = (
    View("sweep", lambda _: False, _show, _page, _text),
    View("sweep comparison", lambda _: False, _show_comparison, _comparison_page, _comparison_text),
)
"""The heat map of a sweep, and what differs between two; both ask for their view by its name."""
