"""Looks on at Inductor's pattern matcher: which pattern matched, and what it made of the nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irwidget.inductor import printing, private
from irwidget.inductor.data import Rewrite
from irwidget.inductor.recorder import Recorder

_ENTRIES = ("lowering_pattern", "graph_pattern", "replacement_pattern")


class Rewrites:
    """The rewrites of one compilation, told to its recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def watch(self) -> None:
        """Look on from now on, for the rest of this process."""
        for name in _ENTRIES:
            private.wrap(name, self._applying)

    def _applying(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(entry: Any, match: Any, graph: Any, node: Any) -> None:
            known = set(graph.nodes)
            matched = [(one.name, printing.node_line(one)) for one in match.nodes]
            place = printing.node_place(node)
            try:
                original(entry, match, graph, node)
            except Exception as error:
                self._recorder.broken = (error, place, printing.node_line(node))
                raise
            made = [(one.name, printing.node_line(one)) for one in graph.nodes if one not in known]
            rewrite = Rewrite(
                _name(entry),
                self._recorder.phase,
                tuple(line for _, line in matched),
                tuple(line for _, line in made),
                tuple(dict.fromkeys(name for name, _ in (*matched, *made))),
                place,
                max(self._recorder.graph, 0),
                self._recorder.direction,
                self._subgraph(graph),
            )
            if set(rewrite.before) != set(rewrite.after):
                self._recorder.rewrites.append(rewrite)

        return apply

    def _subgraph(self, graph: Any) -> str:
        """The branch, loop's body or region that a graph is, as Inductor names it when it lowers it."""
        parts = self._recorder.root.named_modules() if self._recorder.root is not None else ()
        return next((path.replace(".", "_") for path, one in parts if getattr(one, "graph", None) is graph), "")


def _name(entry: Any) -> str:
    """What a pattern is called: the name it has been given, or the function that handles it."""
    handler = getattr(entry, "handler", None)
    name = getattr(entry, "pattern_name", None) or getattr(handler, "__name__", None)
    return str(name) if name else type(entry).__name__
