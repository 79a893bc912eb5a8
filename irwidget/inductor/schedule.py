"""The final schedule as data: which kernel runs which operations, what each reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from irwidget import private_torch
from irwidget.inductor import printing, private, traffic
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
    """The operations of a graph whose code has been made, in their order; those of a branch, a loop's condition and
    body, or a region follow the first that runs it.
    """
    return Drawn(index, direction, _used(list(_ops(graph, "", index, direction, set()))))


def _ops(graph: Any, subgraph: str, index: int, direction: Direction, seen: set[str]) -> Iterator[InductorOp]:
    nodes = [(one, group) for group in graph.scheduler.nodes for one in group.get_nodes()]
    shared = {group.get_name(): _shared(group.get_nodes()) for group in graph.scheduler.nodes}
    for node, group in nodes:
        runs = private.subgraphs(node)
        op = _op(node, group.get_name(), index, direction, graph.removed_buffers)
        op = replace(op, together=shared[group.get_name()])
        yield replace(op, subgraph=subgraph, runs=tuple(one.name for one in runs))
        for one in runs:
            if one.name not in seen and one.scheduler is not None:
                seen.add(one.name)
                with private.get("virtualized").set_graph_handler(one):
                    inside = list(_ops(one, one.name, index, direction, seen))
                yield from inside


def _used(ops: Sequence[InductorOp]) -> list[InductorOp]:
    """Those behind which no node has a line have the lines of what reads them, as one that lays out a weight anew, or
    of the call that runs them, as a loop's counter does.
    """
    found = list(ops)
    for i in reversed(range(len(found))):
        if not found[i].places:
            users = (one for one in found[i + 1 :] if one.places and found[i].writes.keys() & one.reads.keys())
            found[i] = replace(found[i], places=next((one.places for one in users), ()))
    callers: dict[str, tuple[Location, ...]] = {}
    for i, op in enumerate(found):
        found[i] = op if op.places else replace(op, places=callers.get(op.subgraph, ()))
        callers |= {name: found[i].places[-1:] for name in op.runs if name not in callers}
    return found


def _shared(nodes: Sequence[Any]) -> dict[str, int]:
    """Bytes of the buffers that several operations of a kernel read or write, of all of these together."""
    if len(nodes) < 2:
        return {}
    return {**traffic.together(list(map(traffic.reads, nodes))), **traffic.together(list(map(traffic.writes, nodes)))}


def _op(node: Any, group: str, graph: int, direction: Direction, removed: Collection[str]) -> InductorOp:
    kind, called = _kind(node)
    origins = sorted(printing.origins_of(node), key=private_torch.position)
    found = [place for one in origins if (place := printing.node_place(one))]
    written = traffic.writes(node)
    places = reversed(dict.fromkeys(reversed(found)))  # each once, and last the line of what is computed last
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
        traffic.touched(traffic.reads(node)),
        traffic.touched(written),
        *_loops(node),
        frozenset(name for name in written if name in removed),
        after=frozenset(dep.name for dep in node.read_writes.reads),
        device=getattr(node.get_device(), "type", ""),
        refused=_refused(node.node, origins) if kind == "fallback" else "",
    )


def _refused(call: Any, origins: Sequence[Any]) -> Literal["", "complex", "these"]:
    """What Inductor's loops for an operation of ATen are not for, where it calls ATen."""
    made = [getattr(one.meta.get("val"), "dtype", None) for one in origins]
    if any(dtype is not None and dtype.is_complex for dtype in (*made, *map(_dtype, call.inputs))):
        return "complex"
    return "these" if private.is_lowered(getattr(call, "op_overload", None)) else ""


def _dtype(value: Any) -> Any:
    """The dtype of a value of Inductor's, None for what has none."""
    try:
        return value.get_dtype()
    except (AttributeError, NotImplementedError):
        return None


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
