"""The views that irwidget brings, as it registers them; what draws them is imported when one is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irwidget import views
from irwidget.registry import View


def programs_of(results: Sequence[Any]) -> list[Any]:
    """The programs for Spyre, each once: lowering one model to several IR types compiles it once."""
    found = [one.results["program"] for one in results if "program" in one.results]
    return list({id(program): program for program in found}.values())


def _show(results: Sequence[Any], key: str | None) -> Any:
    return views.show([one.trace for one in results], programs=programs_of(results), key=key, lowerings=results)


def _page(results: Sequence[Any], title: str) -> str:
    of_a_view = {name: [*getattr(results[0], name, ())] for name in ("notes", "experiments", "cells")}
    kept: dict[str, Any] = {**of_a_view, "compared": getattr(results[0], "compared", None)}
    return views.page([one.trace for one in results], title, programs_of(results), kept)


def _text(results: Sequence[Any]) -> str:
    return views.text([one.trace for one in results])


def _is_program(results: Sequence[Any]) -> bool:
    return len(results) == 1 and results[0].results.get("program") is results[0]


def _show_program(results: Sequence[Any], key: str | None) -> Any:
    from irwidget.views.spyre import show

    return show(results[0], key=key)


_COMPARISON = View.of_one("comparison", "irwidget.views.comparison")


def _is_experiment(results: Sequence[Any]) -> bool:
    return len(results) == 1 and "original" in results[0].results


def _beside(result: Any) -> Any:
    from irwidget.experiments.comparison import compare

    return compare(result.results["original"], result)


def _show_experiment(results: Sequence[Any], key: str | None) -> Any:
    return _COMPARISON.show([_beside(results[0])], key)


def _experiment_page(results: Sequence[Any], title: str) -> str:
    return _COMPARISON.page([_beside(results[0])], title)


def _experiment_text(results: Sequence[Any]) -> str:
    return _COMPARISON.text([_beside(results[0])])


def _is_compiled(results: Sequence[Any]) -> bool:
    if not any("compilation" in one.results for one in results):
        return False
    from irwidget.views import schedule

    return schedule.fits(results)


def _show_compiled(results: Sequence[Any], key: str | None) -> Any:
    from irwidget.views import schedule

    return schedule.show(results, key)


def _compiled_page(results: Sequence[Any], title: str) -> str:
    from irwidget.views import schedule

    return schedule.page(results, title)


def _compiled_text(results: Sequence[Any]) -> str:
    from irwidget.views import schedule

    return "\n\n".join([*schedule.texts(results), _text(results)])


def _are_layouts(results: Sequence[Any]) -> bool:
    return len(results) == 1 and results[0].results.get("layouts") is results[0]


VIEWS = (
    _COMPARISON,
    View.of_one("configurations", "irwidget.views.configurations"),
    View("experiment", _is_experiment, _show_experiment, _experiment_page, _experiment_text),
    View("spyre program", _is_program, _show_program, _page, _text),
    View("schedule", _is_compiled, _show_compiled, _compiled_page, _compiled_text),
    View.of_one("layouts", "irwidget.views.layouts", _are_layouts),
    View("lowerings", lambda _: True, _show, _page, _text),
)
"""Two lowerings side by side; the table of an autotuner's configurations; an experiment beside its original; the
program of Spyre by itself; the layouts of a dump; the diff of passes, below the programs or beside the links of Helion
kernels."""
