"""The schedule of torch.compile as a Jupyter widget, as text and as HTML. What it looks like is in js/."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from irwidget.errors import UsageError
from irwidget.inductor.picture import picture
from irwidget.views import base
from irwidget.views.base import packed
from irwidget.views.fallbacks import html as passes_html
from irwidget.views.markup import aligned, capped, folded, joined, table, tag
from irwidget.views.offline import document, state_of, view
from irwidget.views.widget import PassDiff

_ROWS = 60
Drawn = Mapping[str, Any]
"""What `picture` gives."""


class ScheduleView(base.BundledView):
    """The kernels of a compilation in order: loops, buffers, bytes, what was fused, and why two are not one.

    `launch` is the number of the selected kernel, `other` of the one that it is compared with, -1 for none. Set them
    from Python or observe them.
    """

    _code = "schedule"

    launch = traitlets.Int(0).tag(sync=True)
    other = traitlets.Int(-1).tag(sync=True)
    data = traitlets.Bytes().tag(sync=True)

    def __init__(self, drawn: Drawn, **state: Any) -> None:
        self.drawn = drawn
        super().__init__(data=packed(drawn), **state)

    @traitlets.validate("launch", "other")
    def _within(self, proposal: Any) -> int:
        count, value = len(self.drawn["launches"]), int(proposal.value)
        least = -1 if proposal.trait.name == "other" else 0
        if not least <= value < count:
            raise UsageError(f"There is no kernel {value}: this schedule has {count}, counted from 0.")
        return value

    def close(self) -> None:
        """Take the view off the page and let go of its data."""
        super().close()
        self.set_trait("data", b"")

    def saved(self) -> list[dict[str, Any]]:
        return [{"bundle": self._code, "state": {"launch": self.launch, "other": self.other}, "data": self.data}]

    def fallbacks(self) -> tuple[str, str]:
        return html(self.drawn), text(self.drawn)


class Compiled(base.Stack):
    """Schedules, and below them the passes of the lowerings."""

    def __init__(self, schedules: Sequence[ScheduleView], passes: PassDiff) -> None:
        super().__init__(children=[*schedules, passes])
        self.schedules, self.passes = tuple(schedules), passes


def fits(results: Sequence[Any]) -> bool:
    """Whether lowerings have a schedule to show."""
    return bool(_drawn(results))


def _drawn(results: Sequence[Any]) -> list[Drawn]:
    """The schedule of each compilation, once: lowering one model to several IR types compiles it once."""
    found: dict[int, Drawn] = {}
    for one in results:
        compilation = one.results.get("compilation")
        shown = any(dump.name == "why" for dump in one.trace.dumps)
        if compilation is not None and shown and id(compilation.captured) not in found:
            device = str(one.trace.facts.get("device", ""))
            found[id(compilation.captured)] = picture(compilation, one.trace.name, device)
    return [one for one in found.values() if one["launches"]]


def show(results: Sequence[Any], key: str | None) -> Compiled:
    """Make the views; showing again with the same key closes those before."""
    passes = PassDiff([one.trace for one in results], keep=True, lowerings=results)
    return base.replace(key, Compiled([ScheduleView(drawn) for drawn in _drawn(results)], passes))


def page(results: Sequence[Any], title: str) -> str:
    """An HTML page that shows the same, without a kernel or a network."""
    traces = [one.trace for one in results]
    views = [view(_state(drawn), html(drawn), "schedule") for drawn in _drawn(results)]
    views.append(view(state_of(traces), passes_html(traces)))
    return document("\n".join([tag("h1", title), *views]), title, ["schedule", "viewer"])


def _state(drawn: Drawn) -> dict[str, Any]:
    return {"launch": 0, "other": -1, "data": base64.b64encode(packed(drawn)).decode()}


# Fallbacks


def size(count: int) -> str:
    """Bytes for people."""
    if count < 0:
        return "?"
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= step:
            return f"{count / step:.4g} {unit}"
    return f"{count} B"


_HEAD = ("", "kernel", "loops", "reads", "writes", "computes", "lines")


def _rows(drawn: Drawn) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number, one in enumerate(drawn["launches"]):
        lines = sorted({op["line"] for op in one["ops"] if op["line"]})
        targets = dict.fromkeys(target for op in one["ops"] for target in op["targets"])
        inside = ", ".join(part for part in (one["direction"], one["subgraph"]) if part)
        part = f" [{inside}]" if inside else ""
        rows.append((
            str(number), one["kernel"] + part, loops(one), size(one["reads"]), size(one["writes"]),
            ", ".join(targets), ", ".join(map(str, lines)),
        ))  # fmt: skip
    return rows


def loops(one: Mapping[str, Any]) -> str:
    """`64 x 32, over 128`."""
    kept, reduced = " x ".join(one["loops"]), " x ".join(one["reduced"])
    return f"{kept or '1'}, over {reduced}" if reduced else kept


def title(drawn: Drawn) -> str:
    """One line about the schedule."""
    made = sum(one["kind"] in ("loops", "template") for one in drawn["launches"])
    called = sum(one["kind"] in ("extern", "fallback") for one in drawn["launches"])
    peaks = ", ".join(f"peak {size(one['peak'])} (unfused {size(one['unfused'])})" for one in drawn["memory"])
    return f"{drawn['name']} on {drawn['device']}: {made} generated, {called} called{'; ' if peaks else ''}{peaks}"


def texts(results: Sequence[Any]) -> list[str]:
    """The schedules of lowerings as text."""
    return [text(drawn) for drawn in _drawn(results)]


def text(drawn: Drawn) -> str:
    """The schedule as aligned columns, and why neighbours are not one kernel."""
    rows = capped(aligned([_HEAD, *_rows(drawn)], right=(0, 3, 4)), _ROWS)
    return "\n".join([title(drawn), *rows, *capped(_between(drawn), _ROWS)])


def _between(drawn: Drawn) -> list[str]:
    """The answer for each kernel and the next."""
    return [
        f"{one['first']} and {one['second']}: {' '.join(one['text'].split())}"
        for one in drawn["pairs"]
        if one["second"] == one["first"] + 1
    ]


def html(drawn: Drawn) -> str:
    """The same as HTML that reads well without styles."""
    shown = [table(_HEAD, _rows(drawn)[:_ROWS])]
    between = capped(_between(drawn), _ROWS)
    if between:
        shown.append(folded("why are they not one kernel", joined([tag("p", one) for one in between])))
    return tag("div", tag("p", tag("strong", title(drawn))), *shown)
