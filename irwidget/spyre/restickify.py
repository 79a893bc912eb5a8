"""Choose layouts at least cost and insert the copies that move sticks (docs/spyre-rules.md: Layout choice)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from irwidget.errors import UnsupportedError
from irwidget.spyre.candidates import EdgeCost, LayoutRule, Propagation, edge_cost, host_layout
from irwidget.spyre.coordinates import device_coordinates, index_of, ranges_of, stick_of
from irwidget.spyre.ir import Buffer, Graph, Op, Read, Refusals
from irwidget.spyre.layout import DeviceLayout
from irwidget.spyre.options import SpyreSwitches


@dataclass(frozen=True, slots=True)
class Edge:
    """An operand of an op, for the report of what restickifying costs."""

    op: str
    operand: int
    buffer: str
    cost: float
    restickified: bool


@dataclass(frozen=True)
class LayoutChoice:
    """The committed layouts and why they were taken."""

    layouts: Mapping[str, DeviceLayout]
    cost: float
    edges: tuple[Edge, ...]
    states: int
    """How many assignments the search kept at the end."""
    targets: Mapping[tuple[str, int], DeviceLayout]
    """(op, operand) -> layout to restickify to."""


@dataclass(slots=True)
class _State:
    cost: float
    chosen: dict[str, DeviceLayout]


class _Costs:
    """Edge costs, computed once per (operand, layout, result layout)."""

    def __init__(self, graph: Graph, found: Propagation) -> None:
        self.graph, self.found = graph, found
        self.memo: dict[tuple[str, int, DeviceLayout, DeviceLayout], EdgeCost] = {}

    def edge(
        self, op: Op, number: int, read: Read, layout: DeviceLayout, result: DeviceLayout, rule: LayoutRule
    ) -> EdgeCost:
        key = (op.name, number, layout, result)
        if key not in self.memo:
            sink = device_coordinates(result, op.write, op.space)
            if rule.kind == "FixedInOut":
                required = rule.required[number] if number < len(rule.required) else None
                sink = () if op.kind != "pointwise" else sink
            else:
                required = stick_of(sink, result.elements_per_stick).variable
            self.memo[key] = edge_cost(op, read, self.found.buffers[read.buffer], layout, required, sink)
        return self.memo[key]


def choose_layouts(graph: Graph, found: Propagation, options: SpyreSwitches, refusals: Refusals) -> LayoutChoice:
    """Beam search over assignments, ops in order, cheapest states kept (greedy keeps one).

    Raises what this pass or one before it has refused.
    """
    width = 1 if options.restickify_solver == "greedy" else options.beam_width
    costs = _Costs(graph, found)
    fixed = {name: layouts[0] for name, layouts in found.layouts.items() if len(layouts) == 1}
    states = [_State(0, {})]
    for op in graph.ops:
        rule = found.rules.get(op.name)
        if rule is None:
            continue
        if rule.kind == "AnyIn" and len(rule.candidates) == 1:
            continue
        with refusals.of(op.node):
            grown = _extend(op, rule, states, fixed, costs)[:width]
            if grown and grown[0].cost < inf:
                states = grown
                continue
            if not op.is_mutation:
                fixed[op.target] = host_layout(found.buffers[op.target])
            raise _stuck(op, rule, found)
    refusals.raise_first()
    best = states[0]
    layouts = {**fixed, **best.chosen}
    edges, targets = _edges(graph, found, layouts, costs)
    return LayoutChoice(layouts, best.cost, edges, len(states), targets)


def _extend(
    op: Op,
    rule: LayoutRule,
    states: list[_State],
    fixed: Mapping[str, DeviceLayout],
    costs: _Costs,
) -> list[_State]:
    grown: list[_State] = []
    several = len(rule.candidates) > 1 and not op.is_mutation
    for state in states:
        for candidate in rule.candidates:
            cost = state.cost
            if rule.kind != "AnyIn":
                for number, read in enumerate(op.data_reads):
                    layout = state.chosen.get(read.buffer) or fixed[read.buffer]
                    cost += costs.edge(op, number, read, layout, candidate, rule).cost
            chosen = {**state.chosen, op.target: candidate} if several else state.chosen
            grown.append(_State(cost, chosen))
    grown.sort(key=lambda state: state.cost)
    return grown


def _edges(
    graph: Graph,
    found: Propagation,
    layouts: Mapping[str, DeviceLayout],
    costs: _Costs,
) -> tuple[tuple[Edge, ...], dict[tuple[str, int], DeviceLayout]]:
    edges: list[Edge] = []
    targets: dict[tuple[str, int], DeviceLayout] = {}
    for op in graph.ops:
        rule = found.rules.get(op.name)
        if rule is None or rule.kind == "AnyIn":
            continue
        for number, read in enumerate(op.data_reads):
            edge = costs.edge(op, number, read, layouts[read.buffer], layouts[op.target], rule)
            edges.append(Edge(op.name, number, read.buffer, edge.cost, edge.target is not None))
            if edge.target is not None:
                targets[op.name, number] = edge.target
    return tuple(edges), targets


def _stuck(op: Op, rule: LayoutRule, found: Propagation) -> UnsupportedError:
    lines = [
        f"  {read.buffer}: {' or '.join(str(layout) for layout in found.layouts[read.buffer])}"
        for read in op.data_reads
    ]
    what = (
        "matmul operands cannot be restickified"
        if op.kind == "matmul"
        else (
            "no mechanism to resolve stick incompatibility (a restickify moves the sticks of a dense tensor between two"
            " dims; it cannot gather many sticks into one or scatter one into many)"
        )
    )
    return UnsupportedError(
        f"Spyre backend does not support: {op.func} ({op.buffer}): {what}.\n"
        + "\n".join(lines)
        + f"\n  result: {' or '.join(str(layout) for layout in rule.candidates)}{op.where()}"
    )


def commit_layouts(graph: Graph, choice: LayoutChoice) -> Graph:
    """Write the chosen layouts on the buffers."""
    buffers = {
        name: replace(buffer, layout=choice.layouts.get(name, buffer.layout)) for name, buffer in graph.buffers.items()
    }
    return graph.with_ops(graph.ops, buffers)


def insert_restickify(graph: Graph, choice: LayoutChoice) -> Graph:
    """A copy per disagreeing operand right before its consumer; one for all reads that ask for the same."""
    number = graph.next_number()
    buffers = dict(graph.buffers)
    ops: list[Op] = []
    for op in graph.ops:
        reads = list(op.reads)
        made: dict[tuple[str, DeviceLayout], str] = {}
        positions = [i for i, read in enumerate(op.reads) if read.buffer and read.role != "index"]
        for operand, position in enumerate(positions):
            target = choice.targets.get((op.name, operand))
            if target is None:
                continue
            read = op.reads[position]
            if (read.buffer, target) not in made:
                copy, buffer = _copy(number, op, buffers[read.buffer], target)
                ops.append(copy)
                buffers[buffer.name] = buffer
                made[read.buffer, target] = buffer.name
                number += 1
            reads[position] = replace(read, buffer=made[read.buffer, target])
        ops.append(replace(op, reads=tuple(reads)))
    return graph.with_ops(ops, buffers)


def _copy(number: int, consumer: Op, source: Buffer, layout: DeviceLayout) -> tuple[Op, Buffer]:
    """A copy of the whole buffer whose only difference is the layout."""
    name = f"buf{number}"
    index = index_of(source.size, source.stride)
    read = Read(source.name, index, dtype=source.dtype)
    op = Op(
        f"op{number}",
        name,
        "pointwise",
        "copy",
        tuple((v, n) for v, n in ranges_of(source.size) if index.step(v)),  # what is expanded is there once
        reads=(read,),
        write=index,
        target=name,
        aten="restickify",
        line=consumer.line,
        node=consumer.node,
        module=consumer.module,
        rule="restickify",
        origins=(),
        hints=consumer.hints,
    )
    return op, Buffer(name, source.size, source.stride, source.dtype, layout=layout)
