"""The final schedule as data: which kernel runs which operations, what each reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from irwidget import private_torch
from irwidget.inductor import printing, private
from irwidget.inductor.data import Direction, InductorOp
from irwidget.trace import Location

Kind = Literal["loops", "template", "extern", "fallback", "none"]


@dataclass
class Drawn:
    """The schedule of one graph."""

    graph: int
    direction: Direction
    ops: list[InductorOp]

    def assign(self, kernels: Mapping[str, str]) -> None:
        """Name the kernel of each operation."""
        self.ops = [replace(op, kernel=kernels.get(op.name, op.kernel)) for op in self.ops]

    def places(self, ops: Iterable[str]) -> Location | None:
        """The user's line that some operations compute in the end."""
        wanted = set(ops)
        found = [op.places[-1] for op in self.ops if op.name in wanted and op.places]
        return found[-1] if found else None


def drawn(graph: Any, index: int, direction: Direction) -> Drawn:
    """The operations of a graph whose code has been made, in their order."""
    nodes = [(one, node.get_name()) for node in graph.scheduler.nodes for one in node.get_nodes()]
    ops = [_op(one, group, index, direction, graph.removed_buffers) for one, group in nodes]
    return Drawn(index, direction, _used(ops))


def _used(ops: Sequence[InductorOp]) -> list[InductorOp]:
    """Those that no node is behind, such as one that lays out a weight anew, have the lines of what reads them."""
    found = list(ops)
    for i in reversed(range(len(found))):
        if not found[i].places:
            users = (one for one in found[i + 1 :] if one.places and found[i].writes.keys() & one.reads.keys())
            found[i] = replace(found[i], places=next((one.places for one in users), ()))
    return found


def _op(node: Any, group: str, graph: int, direction: Direction, removed: Collection[str]) -> InductorOp:
    kind, called = _kind(node)
    origins = sorted(printing.origins_of(node), key=private_torch.position)
    places = dict.fromkeys(place for one in origins if (place := printing.node_place(one)))
    return InductorOp(
        node.get_name(),
        called,
        kind,
        group,
        graph,
        direction,
        tuple(one.name for one in origins),
        tuple(dict.fromkeys(printing.target_name(one.target) for one in origins)),
        tuple(places),
        _sizes(node.read_writes.reads),
        _sizes(node.read_writes.writes),
        *_loops(node),
        frozenset(name for name in _sizes(node.read_writes.writes) if name in removed),
    )


def _loops(node: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The extents of a loop nest: those that it keeps, and those that it reduces over."""
    ranges = node.get_ranges() if hasattr(node, "get_ranges") else ()
    kept, reduced = (tuple(map(str, one)) for one in ranges) if len(ranges) == 2 else ((), ())
    return kept, reduced


def _kind(node: Any) -> tuple[Kind, str]:
    """What sort of code an operation becomes, and what is called where that is not generated."""
    inner = getattr(node, "node", None)
    if node.is_template():
        return "template", ""
    if node.is_extern():
        called = (
            getattr(inner, "python_kernel_name", None) or getattr(inner, "op_overload", None) or type(inner).__name__
        )
        return "fallback" if type(inner).__name__ == "FallbackKernel" else "extern", str(called)
    return ("loops", "") if private.has_loops(node) or node.is_foreach() else ("none", "")


def _sizes(deps: Iterable[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for dep in deps:
        try:
            size = int(dep.numbytes_hint())
        except Exception:  # a size that is no number, or a dependency that only orders
            size = -1
        found[dep.name] = max(size, found.get(dep.name, -1))
    return dict(sorted(found.items()))
