"""The heat map of a sweep: widget, offline page, and fallbacks in text and HTML."""

from __future__ import annotations

import base64
from typing import Any

import anywidget
import traitlets

from irwidget.sweeps.cells import Cell
from irwidget.sweeps.result import Sweep
from irwidget.views import base, fallbacks, offline
from irwidget.views.markup import aligned, folded, row, tag
from irwidget.views.widget import PassDiff

MARKS = {"ok": "ok", "unsupported": "unsup.", "failed": "failed", "export": "export", "tool": "tool", "usage": "usage",
         "timeout": "time", "crashed": "crash", "error": "error", "lost": "lost"}  # fmt: skip
"""What a cell of the heat map says."""
TEXT_FAILURES = 60
HTML_FAILURES = 200


def text(sweep: Sweep) -> str:
    """The matrix with a mark per cell, then where and why each failure is."""
    models, targets = sweep.models, sweep.targets
    cells = {(cell.model, cell.target): cell for cell in sweep.cells}
    rows = [("model", *targets)]
    for model in models:
        rows.append((model, *(_mark(cells.get((model, target))) for target in targets)))
    lines = [*aligned(rows), "", sweep.summary]
    failures = sweep.failures
    lines += [f"{cell.model} to {cell.target}: {why(cell)}" for cell in failures[:TEXT_FAILURES]]
    if len(failures) > TEXT_FAILURES:
        lines.append(f"... {len(failures) - TEXT_FAILURES} more failures")
    return "\n".join(lines)


def html(sweep: Sweep) -> str:
    """The same as HTML that reads well without styles and scripts."""
    cells = {(cell.model, cell.target): cell for cell in sweep.cells}
    rows = [
        tag("tr", tag("th", model), *(_html_cell(cells.get((model, target))) for target in sweep.targets))
        for model in sweep.models
    ]
    head = tag("thead", row(("model", *sweep.targets), "th"))
    failures = [tag("li", f"{cell.model} to {cell.target}: {why(cell)}") for cell in sweep.failures[:HTML_FAILURES]]
    return tag(
        "div",
        tag("p", tag("strong", sweep.summary)),
        tag("table", head, tag("tbody", *rows)),
        folded("Failures", tag("ul", *failures)) if failures else "",
    )


def _mark(cell: Cell | None) -> str:
    return MARKS[cell.status] if cell else "-"


def why(cell: Cell) -> str:
    """Status, pass, op and the first line of the message, as far as there are any."""
    first = cell.message.split("\n")[0]
    short = first if len(first) <= 160 else first[:159] + "…"
    return ": ".join(part for part in (cell.status, cell.where, short) if part)


def _html_cell(cell: Cell | None) -> str:
    return tag("td", _mark(cell), title=why(cell) if cell and not cell.ok else False)


def _data(sweep: Sweep) -> bytes:
    """What the browser gets: everything about the cells but the dumps."""
    cells = [
        {
            "model": cell.model, "target": cell.target, "status": cell.status, "mark": MARKS[cell.status],
            "message": cell.message, "step": cell.step, "pass": cell.pass_name, "op": cell.op, "place": cell.place,
            "seconds": cell.seconds, "passes": cell.passes, "lines": cell.lines, "dumps": bool(cell.dumps),
        }
        for cell in sweep.cells
    ]  # fmt: skip
    tools = [f"{name} {version}" for name, version in sweep.toolchain.items()]
    made = {"models": sweep.models, "targets": sweep.targets, "cells": cells, "tools": tools}
    return base.packed(made)


class SweepMap(base.BundledView):
    """A sweep as a heat map; a click on a cell shows its failure and its pass diff.

    The traits are the state of the view: `chosen` is the number of a cell of the sweep, `query` and `status` filter.
    """

    _code = "sweep"

    chosen = traitlets.Int(-1).tag(sync=True)
    """The number of the open cell; -1 for none."""
    query = traitlets.Unicode().tag(sync=True)
    """Show the models, targets, passes, ops and messages with this in them."""
    status = traitlets.Unicode().tag(sync=True)
    """Show the cells of this status; "!ok" for all that are not complete."""
    diff = anywidget.WidgetTrait().tag(sync=True)
    """The pass diff of the open cell."""
    data = traitlets.Bytes().tag(sync=True)

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        super().__init__(data=_data(sweep))

    @traitlets.validate("chosen")
    def _cell(self, proposal: Any) -> int:
        value = int(proposal.value)
        return value if -1 <= value < len(self.sweep.cells) else -1

    @traitlets.observe("chosen")
    def _open(self, _: Any) -> None:
        before, shown = self.diff, None
        cell = self.sweep.cells[self.chosen] if self.chosen >= 0 else None
        if cell is not None and cell.dumps:
            shown = PassDiff([self.sweep.lowering(cell.model, cell.target).trace])
        self.diff = shown
        if isinstance(before, PassDiff):
            before.close()

    def fallbacks(self) -> tuple[str, str]:
        return html(self.sweep), text(self.sweep)


def show(sweep: Sweep, key: str | None) -> SweepMap:
    """The heat map, in a notebook."""
    return SweepMap(sweep)


def page(sweep: Sweep, title: str) -> str:
    """The heat map as a page that needs no kernel and no network, with the dumps of every cell that kept them."""
    state = {
        "chosen": -1, "query": "", "status": "", "diff": None, "offline": True,
        "data": base64.b64encode(_data(sweep)).decode(),
    }  # fmt: skip
    parts = [tag("h1", title), offline.view(state, html(sweep), "sweep")]
    for number, cell in enumerate(sweep.cells):
        if cell.dumps:
            trace = sweep.lowering(cell.model, cell.target).trace
            shown = offline.view(offline.state_of([trace]), fallbacks.html([trace]))
            parts.append(f'<template id="irw-cell-{number}">{shown}</template>')
    return offline.document("\n".join(parts), title, ["viewer", "sweep"])
