"""The layouts of a dump: its text, and beside it who owns each element of the tensor that the pointer is at."""

from __future__ import annotations

import base64
from typing import Any

import traitlets

from irwidget.errors import UsageError
from irwidget.layouts import Layouts
from irwidget.layouts import text as texts
from irwidget.layouts.moving import summary
from irwidget.layouts.placement import Layout
from irwidget.views import base, offline
from irwidget.views.markup import folded, tag
from irwidget.views.schema.layouts import LayoutLine, LayoutsData, TensorLayout

HTML_LAYOUTS = 40
"""Drawings in the HTML twin at most."""


def data_of(found: Layouts) -> LayoutsData:
    """What the browser gets."""
    number = {text: i for i, text in enumerate(found.by_type)}
    lines: list[LayoutLine] = [{"text": line, "values": [], "move": -1} for line in found.dump.text.splitlines()]
    for one in found.tensors:
        lines[one.line - 1]["values"].append({"name": one.name, "layout": number[one.type.text]})
    for i, (line, _, _) in enumerate(found.conversions):
        lines[line - 1]["move"] = i
    return {
        "title": f"{found.trace.name}, after {found.dump.name}",
        "lines": lines,
        "layouts": [_layout(one) for one in found.by_type.values()],
        "moves": [
            {
                "line": line,
                "source": number[one.source.type.text],
                "result": number[one.result.type.text],
                "summary": f"{name}: {summary(one)}",
            }
            for line, name, one in found.conversions
        ],
    }


def _layout(one: Layout) -> TensorLayout:
    known = one.linear
    return {
        "type": one.type.text,
        "encoding": one.encoding,
        "memory": one.type.memory,
        "bits": one.type.bits,
        "banks": one.banks,
        "shape": list(known.shape) if known else list(one.type.shape),
        "bases": {name: [list(vector) for vector in vectors] for name, vectors in known.bases.items()} if known else {},
        "padding": [list(pair) for pair in one.padding],
        "why": one.why,
    }


class LayoutsView(base.BundledView):
    """A dump and the layouts of its tensors; the line, the colours and the chosen element are its state."""

    _code = "layouts"

    line = traitlets.Int(0).tag(sync=True)
    """The line whose tensor is drawn, from 1; 0 for the first that has one."""
    colour = traitlets.Unicode("").tag(sync=True)
    """What an element is coloured by: `warp`, `thread`, `register`; `bank`, `offset`; "" for the first there is."""
    element = traitlets.List(traitlets.Int(), []).tag(sync=True)
    """The coordinates of the chosen element."""
    data = traitlets.Bytes().tag(sync=True)

    def __init__(self, found: Layouts) -> None:
        self.found = found
        super().__init__(data=base.packed(data_of(found)))

    @traitlets.validate("line")
    def _line(self, proposal: Any) -> int:
        count = self.found.dump.text.count("\n") + 1
        if not 0 <= int(proposal.value) <= count:
            raise UsageError(f"There is no line {proposal.value}: this dump has {count}, counted from 1.")
        return int(proposal.value)

    def fallbacks(self) -> tuple[str, str]:
        """The drawings of the first layouts as HTML, and their list as text."""
        return html(self.found), text(self.found)

    def saved(self) -> list[dict[str, Any]]:
        state = {"line": self.line, "colour": self.colour, "element": list(self.element)}
        return [{"bundle": self._code, "state": state, "data": self.data}]

    def close(self) -> None:
        """Take the view off the page and let go of its data."""
        super().close()
        self.set_trait("data", b"")


def show(found: Layouts, key: str | None) -> LayoutsView:
    """Make the view; showing again with the same key closes the view before."""
    return base.replace(key, LayoutsView(found))


def page(found: Layouts, title: str) -> str:
    """The same as one offline page."""
    data = base64.b64encode(base.packed(data_of(found))).decode()
    state = {"line": 0, "colour": "", "element": [], "data": data}
    return offline.document(tag("h1", title) + offline.view(state, html(found), "layouts"), title, ["layouts"])


def text(found: Layouts) -> str:
    """The layouts with their values, and the conversions."""
    return found.text


def html(found: Layouts) -> str:
    """The same as HTML, with the owners of the first elements of each layout."""
    drawn = [
        folded(texts.described(one), tag("pre", texts.drawn(one)))
        for one in list(found.by_type.values())[:HTML_LAYOUTS]
    ]
    return tag("div", tag("pre", found.text), *drawn)
