"""The pass diff as a Jupyter widget: traits only. What it looks like is in js/."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anywidget
import traitlets

from irwidget import display
from irwidget.errors import UsageError
from irwidget.journal import Journal
from irwidget.trace import Dump, Trace, predecessors, reading
from irwidget.views import base, bufferization, fallbacks
from irwidget.views.answering import answer
from irwidget.views.bundle import bundle
from irwidget.views.experimenting import Experiments
from irwidget.views.packing import Packer, first_shown, has_graphs, letters, opening, pack, repeated, settled
from irwidget.views.reducing import Reductions
from irwidget.views.schema.experiments import Experiment
from irwidget.views.schema.reducing import Reduction

_PARTLY = 1.5
"""Seconds after which the browser gets what has arrived of a long lowering."""
MOST_BEFORE = 20_000_000
"""Bytes, packed, of the run before this one that are kept to compare with."""
_AT_ONCE = 3_000_000
"""Letters of dumps that are packed before the view is shown; of more, only the two stages that it opens with."""


class PassDiff(base.BundledView):
    """Every pass of one or several lowerings as a diff.

    The traits are the state of the view: set them from Python, or observe them, as with any ipywidget. Stages are
    numbered from 0, the input; negative numbers count from the end.
    """

    _code = "viewer"

    trace = traitlets.Int(0).tag(sync=True)
    """Which of several lowerings is shown."""
    against = traitlets.Int(-1).tag(sync=True)
    """The lowering that the left side is of, to compare two; -1: the same as the right."""
    left = traitlets.Int(0).tag(sync=True)
    """The stage on the left."""
    right = traitlets.Int(0).tag(sync=True)
    """The stage on the right; equal to `left`, it is shown alone."""
    query = traitlets.Unicode().tag(sync=True)
    """Text looked for in all stages."""
    search_regex = traitlets.Bool(False).tag(sync=True)
    """Whether `query` is a regular expression (JavaScript's)."""
    search_case = traitlets.Bool(False).tag(sync=True)
    """Whether small letters and capitals differ in `query`."""
    search_word = traitlets.Bool(False).tag(sync=True)
    """Whether `query` finds whole words only."""
    ignore_renumbering = traitlets.Bool(True).tag(sync=True)
    """Whether lines that differ only in renumbered names count as equal; the view says how many these are."""
    layout_mode = traitlets.Enum(("auto", "split", "unified"), "auto").tag(sync=True)
    """Two panes or one; `auto`: two where there is room for them."""
    wrap = traitlets.Bool(False).tag(sync=True)
    """Wrap long lines."""
    fold = traitlets.Bool(True).tag(sync=True)
    """Hide equal lines far from a change."""
    blame = traitlets.Bool(False).tag(sync=True)
    """Show which pass last changed each line."""
    symbol = traitlets.Unicode().tag(sync=True)
    """Show only the function with this name."""
    passes = traitlets.Unicode().tag(sync=True)
    """List only the passes with this in their name, or, where none has it, with its letters in this order."""
    by_time = traitlets.Bool(False).tag(sync=True)
    """List the slowest passes first."""
    rail = traitlets.Bool(None, allow_none=True).tag(sync=True)
    """Show the list of passes as a narrow rail; None: where there is little room."""

    columns = traitlets.List(traitlets.Int()).tag(sync=True)
    """Stages shown side by side, linked by source line, instead of the diff; -1: the source. Empty: the diff."""
    ops = traitlets.Bool(False).tag(sync=True)
    """Show the operations beside the panes: what the pass did to them, their tree, their graph."""
    notes = traitlets.List().tag(sync=True)
    """What has been written on lines, each as `schema.lowerings.Note`; the notebook and pages keep it."""
    last = traitlets.Bool(False).tag(sync=True)
    """Whether what the cell made the last time is kept, to compare with."""
    inside = traitlets.List().tag(sync=True)
    """For each lowering the stages that are made of passes which Python could run one by one."""
    compared = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    """The two lowerings side by side, as `schema.experiments.ComparisonOutcome`; None where nobody compared them."""
    experiments = traitlets.List().tag(sync=True)
    """Lowerings that go on from an edited dump, or with other passes, each as
    `schema.experiments.Experiment`."""
    cells = traitlets.List().tag(sync=True)
    """For each lowering the text of its cell, which can be edited; "" where it has none."""
    leavable = traitlets.List().tag(sync=True)
    """For each lowering the stages whose pass can be left out, to run all the others."""
    editable = traitlets.Bool(False).tag(sync=True)
    """Whether dumps can be edited here: there is a kernel, and what was lowered."""
    reducible = traitlets.List().tag(sync=True)
    """Failures that can be made small here, each as `schema.reducing.Reducible`."""
    reductions = traitlets.List().tag(sync=True)
    """Failures that are being made small, or have been, each as `schema.reducing.Reduction`."""
    data = traitlets.Bytes().tag(sync=True)
    graph = anywidget.WidgetTrait().tag(sync=True)
    """The code that draws graphs; only there when the lowering has left some."""

    def __init__(
        self, traces: Sequence[Trace], *, keep: bool = False, lowerings: Sequence[Any] = (), **state: Any
    ) -> None:
        """`keep`: whether `irwidget.recent()` lists it; `lowerings`: what the traces are of, which has `edit`."""
        self._keep = keep
        self._changing = threading.RLock()
        """Held where other lowerings are shown: threads send what was shown before meanwhile."""
        self._packed = b""
        """All of it, packed; empty until then."""
        self._before = b""
        """What the cell showed before, packed."""
        self._waits = True
        """Whether what a notebook keeps may wait for texts; an interrupt ends that."""
        editable = len(lowerings) == len(traces) and all(hasattr(one, "edit") for one in lowerings)
        self._experimenting = Experiments(self, lowerings if editable else ())
        self._reducing = Reductions(self, self._experimenting.shown)
        if not traces or not all(trace.dumps for trace in traces):
            raise UsageError("There is nothing to show: a pass diff takes lowerings with at least one dump each.")
        self.traces: tuple[Trace, ...] = tuple(traces)
        which = first_shown(traces)
        left, right = self._opened = opening(traces[which])
        """Where the view has opened."""
        packer = self._packer(self.traces)
        shown = {(which, left), (which, right)}
        packer.add(shown if letters(traces, _AT_ONCE) > _AT_ONCE else None)
        super().__init__(
            data=packer.data, graph=bundle("graph") if has_graphs(traces) else None, inside=_inside(traces),
            editable=editable, cells=self._experimenting.cells(), leavable=self._experimenting.leavable(),
            reducible=self._reducing.possible(), **{"trace": which, "left": left, "right": right} | state,
        )  # fmt: skip
        self.on_msg(self._asked)
        if packer.complete:
            self._fill(packer, (left, right))
        else:
            threading.Thread(target=self._fill, args=(packer, (left, right)), daemon=True).start()

    def _packer(self, traces: Sequence[Trace]) -> Packer:
        return Packer(traces, Journal() if self._keep else None)

    @traitlets.validate("left", "right")
    def _stage(self, proposal: Any) -> int:
        which = self.against if proposal.trait.name == "left" and self.against >= 0 else self.trace
        count = len(self.traces[which].dumps)
        value = int(proposal.value)
        if not -count <= value < count:
            raise UsageError(f"There is no stage {value}: this lowering has the stages 0 to {count - 1}.")
        return value % count

    @traitlets.validate("columns")
    def _shown_together(self, proposal: Any) -> list[int]:
        last = len(self.traces[self.trace].dumps) - 1
        for stage in proposal.value:
            if not -1 <= stage <= last:
                raise UsageError(f"There is no column {stage}: there are the stages 0 to {last}, and -1, the source.")
        return list(proposal.value)

    @traitlets.validate("trace", "against")
    def _which(self, proposal: Any) -> int:
        value = int(proposal.value)
        if not (-1 if proposal.trait.name == "against" else 0) <= value < len(self.traces):
            raise UsageError(f"There is no lowering {value}: this view has {len(self.traces)}, counted from 0.")
        return value

    def stages(self) -> list[str]:
        """The names of the stages that `left` and `right` number."""
        return repeated([dump.name for dump in self.traces[self.trace].dumps])

    def open_inside(self, trace: int, stage: int) -> None:
        """Put the passes that a stage is made of in its place, and show the first; UsageError when it has none."""
        whole = self.traces[trace] if 0 <= trace < len(self.traces) else None
        dump = whole.dumps[stage] if whole and 0 <= stage < len(whole.dumps) else None
        if whole is None or dump is None or whole.inside is None or not whole.inside.has(dump):
            raise UsageError(f"There are no passes inside stage {stage} of lowering {trace}.")
        opened = replace(whole, dumps=(*whole.dumps[:stage], *whole.inside.open(dump), *whole.dumps[stage + 1 :]))
        traces = (*self.traces[:trace], opened, *self.traces[trace + 1 :])
        self._show_instead(traces)
        with self.hold_sync():
            self.trace, self.left, self.right, self.columns = trace, max(stage - 1, 0), stage, []

    def why_copies(self, trace: int, stage: int) -> bytes:
        """Why operands got buffers of their own in a stage of one-shot-bufferize, as JSON. Raises IRWidgetError."""
        lowering, index = self._experimenting.lowering_of(trace, stage)
        return json.dumps(bufferization.said(lowering.bufferization(index))).encode()

    def follow(self, before: base.Shown) -> None:
        """Take over the options, and, of the same lowering, the pass; and keep it to compare with."""
        if not isinstance(before, PassDiff) or not before.traces:
            return
        with self.hold_sync():
            for name in (*(_plain().keys() - {"trace", "against", "left", "right", "last", "editable"}), "notes"):
                setattr(self, name, getattr(before, name))
            if _named(self.traces) != _named(before.traces[: len(self.traces)]):
                return
            if max(before.columns, default=-1) < len(self.traces[self.trace].dumps):
                self.columns = before.columns
            if len(self.traces) == 1 and before._packed and len(before._packed) <= MOST_BEFORE:
                self._before, self.last = before._packed, True
            if (before.left, before.right) != opening(before.traces[before.trace]) and before.trace < len(self.traces):
                self._open_at(before)
            self._experimenting.recall(before.experiments)

    def _open_at(self, before: PassDiff) -> None:
        """Show the passes that another view shows, where this one has them."""
        old = before.stages()
        self.trace = before.trace
        labels = self.stages()
        if old[before.right] in labels and (before.against >= 0 or old[before.left] in labels):
            self.right = labels.index(old[before.right])
            beside = old[before.left] if before.against < 0 else ""
            self.left = (
                labels.index(beside) if beside else max(predecessors(self.traces[self.trace].dumps)[self.right], 0)
            )

    def compare_with_last(self) -> None:
        """Show what the cell made the last time on the left. Raises UsageError when it is not kept."""
        if not self._before:
            raise UsageError("There is no earlier run of this cell to compare with.")
        now, before = self.traces[0], reading.unpacked(self._before).traces[0]
        old = replace(before, name=f"{before.name or 'input'}, the last run")
        name = repeated([dump.name for dump in old.dumps])
        beside = self.stages()[self.right]
        self._show_instead((now, old))
        with self.hold_sync():
            self.last = False
            self.against = 1
            self.left = name.index(beside) if beside in name else len(name) - 1

    def put(self, traces: tuple[Trace, ...], at: tuple[int, int, int, int] | None) -> None:
        """Show other lowerings; `at`: which, which beside it, the dump of that one and of the first.

        Without `at` the reader stays where he is, as far as that is still there.
        """
        if self.comm is None:
            return
        trace, against, left, right = at or self._stays(traces)
        packer = self._packer(traces)
        packer.add({(trace if against < 0 else against, left), (trace, right)})
        with self._changing, self.hold_sync():
            self._hold(traces, packer)
            self.trace, self.against, self.left, self.right = trace, against, left, right
            self.cells, self.reducible = self._experimenting.cells(), self._reducing.possible()
        self._reducing.moved()
        threading.Thread(target=self._fill, args=(packer, (-1, -1)), daemon=True).start()

    def _stays(self, traces: tuple[Trace, ...]) -> tuple[int, int, int, int]:
        """Where the reader is among other lowerings; where one that he looks at is gone, how the first opens."""
        trace, against = (_place(one, self.traces, traces) for one in (self.trace, self.against))
        if trace is None or against is None:
            return 0, -1, *opening(traces[0])
        return trace, against, self.left, self.right

    def tell(self, experiments: list[Experiment]) -> None:
        """Have the page know of the experiments as they are now."""
        if self.comm is not None:
            self.experiments = experiments

    def tell_reduced(self, reductions: list[Reduction]) -> None:
        """Have the page know how reductions go."""
        if self.comm is not None:
            self.reductions = reductions

    def _show_instead(self, traces: tuple[Trace, ...]) -> None:
        """Pack other lowerings, and send them."""
        packer = self._packer(traces)
        while packer.add():
            pass
        with self._changing, self.hold_sync():
            self._hold(traces, packer)
        self._fill(packer, (-1, -1))

    def _hold(self, traces: tuple[Trace, ...], packer: Packer) -> None:
        """Have other dumps, and what belongs to them."""
        self.traces = traces
        self.inside, self.data = _inside(traces), packer.data
        self.leavable = self._experimenting.leavable()

    def grow(self, traces: Sequence[Trace], *, last: bool = False) -> None:
        """Show the same lowerings with the dumps that have come since; `last`: no more will come.

        What the reader has chosen stays. A view that stands where it has opened goes on to the last change.
        """
        if self.comm is None or not traces:
            return
        same = self.trace < len(traces) and self.against < len(traces)
        at = self.trace if same else 0
        opened = opening(traces[at])
        stays = same and self.against < 0 and max(self.left, self.right) < len(traces[at].dumps)
        stays = stays or (same and self.against >= 0 and self.left < len(traces[self.against].dumps))
        follows = not stays or (self.left, self.right) == self._opened
        left, right = opened if follows else (self.left, self.right)
        packer = self._packer(tuple(traces)) if last else Packer(tuple(traces))
        beside = at if follows or self.against < 0 else self.against
        packer.add({(beside, left), (at, right)} if letters(traces, _AT_ONCE) > _AT_ONCE else None)
        with self._changing, self.hold_sync():
            self._packed = b""
            self._hold(tuple(packer.traces), packer)
            if follows:
                self.trace, self.against = at, -1
                self.left, self.right = self._opened = opened
        chosen = (left, right) if follows else (-1, -1)
        if packer.complete:
            self._fill(packer, chosen)
        else:
            threading.Thread(target=self._fill, args=(packer, chosen), daemon=True).start()

    def saved(self) -> list[dict[str, Any]]:
        if not self._waits or not all(map(fallbacks.is_awaited, self.traces)):
            raise base.Omitted("The texts of this lowering had not come when it was shown")
        if any(map(fallbacks.is_large, self.traces)):
            raise base.Omitted(f"The notebook keeps lowerings of up to {fallbacks.LARGE:,} lines")
        state = {name: getattr(self, name) for name in _plain()}
        data = self._packed or pack(self.traces)
        state |= {"columns": self.columns, "graph": None, "last": False, "editable": False, **self._beside_texts()}
        return [{"bundle": self._code, "state": state, "data": data}]

    def page(self) -> bytes:
        """The view as an offline page, with its notes; UTF-8."""
        said = self._beside_texts()
        results = [SimpleNamespace(trace=trace, results={}, **said) for trace in self.traces]
        title = "; ".join(f"{trace.name} to {trace.target}" if trace.name else trace.target for trace in self.traces)
        return display.page(results, title).encode()

    def _beside_texts(self) -> dict[str, Any]:
        """What the reader has made in the view, and what it says of two lowerings."""
        made = {"notes": self.notes, "experiments": self.experiments, "cells": self.cells}
        return {**made, "compared": self.compared}

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        """A message from the page: on a thread of its own, so that the kernel stays free."""
        match content:
            case {"id": int(number), "kind": "inside", "trace": int(trace), "stage": int(stage)}:
                answer(self, number, lambda: self.open_inside(trace, stage))
            case {"id": int(number), "kind": "bufferization", "trace": int(trace), "stage": int(stage)}:
                answer(self, number, lambda: self.why_copies(trace, stage))
            case {"id": int(number), "kind": "last"}:
                answer(self, number, self.compare_with_last)
            case {"id": int(number), "kind": "page"}:
                answer(self, number, self.page)
            case {"id": int(number), "kind": "experiments"}:
                answer(self, number, lambda: self._experimenting.answer(content))
            case {"id": int(number), "kind": "reduce"}:
                answer(self, number, lambda: self._reducing.answer(content))
            case _:
                pass

    def _fill(self, packer: Packer, chosen: tuple[int, int]) -> None:
        """Send the rest: what was too much to be packed at once, and the dumps that are still on their way.

        `chosen` is where the view opened when some had not arrived: unless the user has moved on, it follows. What
        there is no memory for is said to be not available.
        """
        try:
            self._send_rest(packer, chosen)
        except MemoryError:
            if self._shows(packer):
                packer.finish(at_once=True)
                self.data = packer.data

    def _send_rest(self, packer: Packer, chosen: tuple[int, int]) -> None:
        sent = time.monotonic()
        late = False
        # What is on the screen first: the worker prints it first, too.
        for place in (
            *self._on_screen(),
            *((i, j) for i, one in enumerate(packer.traces) for j in range(len(one.dumps))),
        ):
            here = packer.traces[place[0]].dumps[place[1]].ready
            late = late or not here
            if not here and not packer.wait(place):
                continue  # The compiler is gone; what it left behind is still worth showing, and the rest named.
            if not self._shows(packer):
                return
            wanted = self._on_screen()
            awaited = packer.lacks(wanted) and all(packer.traces[i].dumps[j].ready for i, j in wanted)
            if late and (awaited or time.monotonic() - sent > _PARTLY):
                _ = packer.add(wanted) if awaited else packer.add_nearest(wanted)
                chosen = self._give(packer, chosen)
                sent = time.monotonic()
        while packer.add_nearest(self._on_screen()):
            if not self._shows(packer):
                return
            if time.monotonic() - sent > _PARTLY:
                chosen = self._give(packer, chosen)
                sent = time.monotonic()
        if not self._shows(packer):
            return
        packer.finish()
        self._give(packer, chosen)
        self._packed = packer.data

    def _on_screen(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The two dumps that are compared, each as a trace and its dump."""
        return (self.trace if self.against < 0 else self.against, self.left), (self.trace, self.right)

    def _give(self, packer: Packer, chosen: tuple[int, int]) -> tuple[int, int]:
        """Give the page what is packed. Gives where the view stands, if nobody but us has moved it."""
        with self._changing, self.hold_sync():
            if not self._shows(packer):
                return chosen
            self.data = packer.data
            here = self.against < 0 and chosen == (self.left, self.right)
            if here and settled(packer.traces[self.trace]):
                self.left, self.right = chosen = opening(packer.traces[self.trace])
        return chosen

    def _shows(self, packer: Packer) -> bool:
        """Whether what is packed is still to be seen."""
        return self.comm is not None and self.traces is packer.traces

    def close(self) -> None:
        """Take the view off the page and let go of the dumps; IPython's `Out` may keep the object itself."""
        super().close()
        self._experimenting.stop()
        self._reducing.stop_all()
        self.traces, self._packed, self._before = (), b"", b""
        self.set_trait("data", b"")

    def __repr__(self) -> str:
        shown = ", ".join(f"{trace.name} -> {trace.target}" for trace in self.traces)
        return f"<PassDiff {shown or 'closed: its cell has run again'}>"

    def fallbacks(self) -> tuple[str, str]:
        try:
            return fallbacks.html(self.traces), fallbacks.text(self.traces)
        except KeyboardInterrupt:  # no more waiting for texts: the view shows them as they come
            self._waits = False
        return fallbacks.html(self.traces, listed=True), fallbacks.text(self.traces, listed=True)


def untouched() -> dict[str, Any]:
    """The state of a view that nobody has touched: names and values of the traits that are plain data."""
    return {name: trait.default_value for name, trait in _plain().items()}


def _plain() -> dict[str, Any]:
    kinds = (traitlets.Bool, traitlets.Int, traitlets.Unicode, traitlets.Enum)
    found: dict[str, Any] = PassDiff.class_own_traits(sync=True)  # pyright: ignore[reportUnknownMemberType]
    return {name: trait for name, trait in found.items() if isinstance(trait, kinds)}


def _place(number: int, before: Sequence[Trace], now: Sequence[Trace]) -> int | None:
    """Where a lowering is now, -1 for none; None where it is gone. As many as before are the same in order, renamed."""
    if number < 0 or len(before) == len(now):
        return number
    return next((i for i, one in enumerate(now) if one is before[number]), None)


def _named(traces: Sequence[Trace]) -> list[tuple[str, str]]:
    return [(trace.name, trace.target) for trace in traces]


def _inside(traces: Sequence[Trace]) -> list[list[int]]:
    return [[stage for stage, dump in enumerate(trace.dumps) if _opens(trace, dump)] for trace in traces]


def _opens(trace: Trace, dump: Dump) -> bool:
    return trace.inside is not None and trace.inside.has(dump)
