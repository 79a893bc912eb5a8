"""A Helion kernel in columns: its source, its Device IR nodes, the MLIR of each node, and the Triton of each line."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import traitlets

from irwidget.errors import IRWidgetError, UsageError, near
from irwidget.helion import linking
from irwidget.trace import Location, Trace, lines_of
from irwidget.views import base
from irwidget.views.markup import capped, folded, joined, shortened, tag
from irwidget.views.packing import repeated, step_name
from irwidget.views.widget import PassDiff

TEXT_LINES = 60
HTML_LINES = 200


def linked_stages(trace: Trace) -> list[int]:
    """The dumps that the view can show: IR that came from the nodes, where it differs from the dump before.

    Waits for them, and leaves out what will never come.
    """
    texts: list[str | None] = []
    for dump in trace.dumps:
        try:
            texts.append(dump.content.text)
        except IRWidgetError:
            texts.append(None)
    return [
        i for i, dump in enumerate(trace.dumps)
        if dump.language in ("mlir", "llvm") and texts[i] is not None and (i == 0 or texts[i] != texts[i - 1])
    ]  # fmt: skip


def companions(trace: Trace, others: Sequence[Trace]) -> list[Trace]:
    """Those of some lowerings that are of the Triton program of the same kernel, in the order of a lowering."""
    file = trace.nodes[0].location.file if trace.nodes and trace.nodes[0].location else None
    same = [
        one for one in others
        if not one.nodes and file in one.sources and one.name.removeprefix("_helion_") == trace.name
    ]  # fmt: skip
    return [one for one in same if one.target == "helion_triton"] + [one for one in same if "triton" in one.target[:6]]


def _programs(others: Sequence[Trace]) -> Iterator[tuple[str, str, str, tuple[Location | None, ...]]]:
    """Name, language, text and places of what the fourth column shows: the Triton program, and each step's result."""
    before = ""
    for other in others:
        for index, dump in enumerate(other.dumps):
            after = other.dumps[index + 1] if index + 1 < len(other.dumps) else None
            if dump.language == "fx" or (after is not None and after.step == dump.step):
                continue
            with contextlib.suppress(IRWidgetError):  # a failed one is shown below, with its message
                content, step = dump.content, other.step_of(dump)
                name = "program" if dump.language == "python" else step.name if step else dump.name
                if content.text != before:
                    yield name, dump.language, content.text, content.locations
                before = content.text


def pack(trace: Trace, beside: Sequence[Trace] = ()) -> bytes:
    """Source, nodes, and the lines of every stage with the node of each, as gzipped JSON.

    `lines` are numbers into `table`; `owners` are numbers of nodes, -1 for none; `row` is that of the source, as are
    `rows` for the lines of what becomes of the Triton program, in the lowerings `beside`.
    """
    source = linking.source_lines(trace.nodes, trace.sources)
    rows = {(line.file, line.number): row for row, line in enumerate(source)}
    numbers = {node.name: number for number, node in enumerate(trace.nodes)}
    table: dict[str, int] = {}
    labels = repeated([dump.name for dump in trace.dumps])
    stages: list[dict[str, Any]] = []
    for index in linked_stages(trace):
        dump = trace.dumps[index]
        owners = linking.owners_of(dump.content)
        stages.append(
            {
                "index": index,
                "name": labels[index],
                "step": step_name(trace, dump),
                "language": dump.language,
                "lines": [table.setdefault(line, len(table)) for line in lines_of(dump.text)],
                "owners": [-1 if owner is None else numbers.get(owner, -1) for owner in owners],
            }
        )
    programs: list[dict[str, Any]] = []
    for name, language, content, places in _programs(beside):
        lines = lines_of(content)
        found = [rows.get((place.file, place.line), -1) if place else -1 for place in places[: len(lines)]]
        programs.append(
            {
                "name": name,
                "language": language,
                "lines": [table.setdefault(line, len(table)) for line in lines],
                "rows": found + [-1] * (len(lines) - len(found)),
            }
        )
    data = {
        "name": trace.name,
        "source": [[line.file, line.number, line.text] for line in source],
        "nodes": [
            {
                "name": node.name, "target": node.target, "text": node.text, "depth": node.depth,
                "symbolic": node.symbolic,
                "row": rows.get((node.location.file, node.location.line), -1) if node.location else -1,
            }
            for node in trace.nodes
        ],
        "table": list(table), "stages": stages, "programs": programs,
    }  # fmt: skip
    return base.packed(data)


def state_of(trace: Trace, beside: Sequence[Trace] = ()) -> dict[str, Any]:
    """The traits of a view that nobody has touched yet; `data` as base64."""
    return {
        "stage": linked_stages(trace)[-1],
        "program": 0,
        "pinned": [],
        "hide_symbols": True,
        "form": "columns",
        "data": base64.b64encode(pack(trace, beside)).decode(),
    }


class KernelLinks(base.BundledView):
    """Source, Device IR and MLIR of a kernel, side by side; what belongs together lights up together.

    `beside` are lowerings of the same kernel to `helion_triton` or to an IR type of Triton's: what became of each line
    of the kernel there is a fourth column. The traits are the state of the view: set them from Python, or observe them.
    """

    _code = "helion"

    stage = traitlets.Int(0).tag(sync=True)
    """The dump whose lines are shown, numbered as in the lowering."""
    program = traitlets.Int(0).tag(sync=True)
    """What the fourth column shows: the place among the results of Triton's steps."""
    pinned = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Names of the nodes that stay lit, as in `for_loop_0.acc`."""
    hide_symbols = traitlets.Bool(True).tag(sync=True)
    """Leave out the nodes that only compute sizes."""
    form = traitlets.Enum(("columns", "in place"), "columns").tag(sync=True)
    """Three columns, or the source with the MLIR of each line folded under it."""

    data = traitlets.Bytes().tag(sync=True)

    def __init__(self, trace: Trace, beside: Sequence[Trace] = (), **state: Any) -> None:
        if not trace.nodes:
            raise UsageError("There is nothing to link: this lowering did not start from a Helion kernel.")
        self.trace = trace
        self._stages = linked_stages(trace)
        super().__init__(data=pack(trace, beside), **({"stage": self._stages[-1]} | state))

    @traitlets.validate("stage")
    def _stage(self, proposal: Any) -> int:
        value = int(proposal.value)
        value += len(self.trace.dumps) if value < 0 else 0
        if value not in self._stages:
            known = ", ".join(map(str, self._stages))
            raise UsageError(f"Stage {proposal.value} has no linked IR of its own: choose one of {known}.")
        return value

    @traitlets.validate("pinned")
    def _pinned(self, proposal: Any) -> list[str]:
        known = [node.name for node in self.trace.nodes]
        for name in proposal.value:
            if name not in known:
                raise UsageError(f"There is no node {name!r}. {near(name, known)}")
        return list(proposal.value)

    @property
    def links(self) -> tuple[linking.SourceLink, ...]:
        """For each node: the kernel's line, the node, and the lines of the stage that is shown."""
        return linking.links(self.trace.nodes, linking.owners_of(self.trace.dumps[self.stage].content))

    def __repr__(self) -> str:
        return f"<KernelLinks {self.trace.name}: {len(self.trace.nodes)} nodes>"

    def fallbacks(self) -> tuple[str, str]:
        return html(self.trace), text(self.trace)

    def saved(self) -> list[dict[str, Any]]:
        state = {
            "stage": self.stage,
            "program": self.program,
            "pinned": self.pinned,
            "hide_symbols": self.hide_symbols,
            "form": self.form,
        }
        return [{"bundle": self._code, "state": state, "data": self.data}]


class KernelView(base.Stack):
    """Lowerings of Helion kernels: the links of each, and all their passes as a diff below."""

    def __init__(self, traces: Sequence[Trace], *, keep: bool = False, lowerings: Sequence[Any] = ()) -> None:
        """`keep`: whether `irwidget.recent()` lists it; `lowerings`: what the traces are of."""
        self.traces = tuple(traces)
        self.links = tuple(KernelLinks(trace, companions(trace, traces)) for trace in traces if trace.nodes)
        """One view for each lowering that started from a kernel."""
        self.passes = PassDiff(traces, keep=keep, lowerings=lowerings)
        """The pass diff."""
        super().__init__(children=[*self.links, self.passes])

    def close(self) -> None:
        super().close()
        self.traces, self.links = (), ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{trace.name} -> {trace.target}" for trace in self.traces)
        return f"<KernelView {shown or 'closed: its cell has run again'}>"


def text(trace: Trace) -> str:
    """The source with the MLIR of each line below it, at most 60 lines."""
    title = f"{trace.name}: source and MLIR, {len(trace.nodes)} nodes"
    return "\n".join([title, *_in_place(trace, TEXT_LINES)])


def html(trace: Trace) -> str:
    """The same as HTML that reads well without styles and scripts, at most 200 lines."""
    summary = joined([tag("code", trace.name), ": each line with its MLIR"])
    return folded(summary, tag("pre", "\n".join(_in_place(trace, HTML_LINES))))


def _in_place(trace: Trace, most: int) -> list[str]:
    return capped([shortened(line) for line in linking.in_place(trace).splitlines()], most)
