"""The order in which Inductor fills buffers that nobody asks the strides of (docs/spyre-rules.md: Op selection)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cmp_to_key
from math import prod

import torch
from torch.fx import GraphModule, Node

from irwidget.spyre.coordinates import Index
from irwidget.spyre.emitting import packet, same_view
from irwidget.spyre.ir import Buffer, Graph, Op
from irwidget.spyre.layout import row_major
from irwidget.spyre.returned import in_dims, returned_views, with_copies

Strides = tuple[int, ...]

_RESHAPES = ("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze")
_MADE_AT_ONCE = ("mean", "exx2")
"""Reductions before which upstream does not ask how their operands are read."""
_MANY_RESULTS, _FEW_SUMMED = 2048, 32
"""Inductor asks that of a reduction that has fewer results (64 for each core) and sums more than these."""


def fill_in_order(
    graph: Graph,
    module: GraphModule,
    buffer_of: Callable[[Node], str | None],
    origins: Mapping[Node, tuple[str, ...]],
) -> Graph:
    """The graph with the strides that Inductor gives its buffers; it has those of eager before.

    A buffer is laid out in the order in which what makes it reads its operands: as soon as a view is taken of it or
    a reduction to few elements reads it, else after everything else. Until then it counts as contiguous, which a
    view in another shape makes it. Results and what a host op is given keep eager's strides; a returned view that has
    others of its buffer then is a copy. `module` is the FX graph that `graph` was lowered from, `buffer_of` the buffer
    that holds a node's value, `origins` have what a kernel's name says of views.
    """
    views = returned_views(graph, module)
    filling = _Filling(
        graph,
        {node.name for node in module.graph.nodes if _is_as_read(node)},
        {graph.outputs[number].buffer for number in views},
    )
    made: dict[str, list[Op]] = {}
    for op in graph.ops:
        made.setdefault(op.node, []).append(op)
    results = _results(graph, module)
    for node in module.graph.nodes:
        if node.op != "call_function" or not isinstance(node.meta.get("val"), torch.Tensor):
            continue
        mine = made.get(node.name, ())
        for op in mine:
            filling.read_by(op)
        name = buffer_of(node)
        if name is None:
            continue
        if any(op.target == name for op in mine):
            if node in results or _is_multiplied_again(node):
                filling.fix(name, graph.buffers[name].stride)
        elif node.all_input_nodes and not same_view(node, node.all_input_nodes[0]):
            if packet(node) in _RESHAPES:
                filling.fix(name, row_major(graph.buffers[name].size))
            else:
                filling.decide(name)
    for op in graph.ops:
        filling.decide(op.target)
    return with_copies(filling.applied(), module, views, filling.moved, origins)


def _results(graph: Graph, module: GraphModule) -> set[Node]:
    """The nodes that the function returns; new values of inputs, which come after them, are copied."""
    (values,) = next(node.args for node in module.graph.nodes if node.op == "output")
    returned = list(values)[: len(values) - len(graph.mutated)]  # pyright: ignore[reportArgumentType]
    return {node for node in returned if isinstance(node, Node)}


def _is_multiplied_again(node: Node) -> bool:
    """Whether one of its several readers is a product of two matrices, for which Inductor keeps eager's strides."""
    products = (user for user in node.users if packet(user) == "matmul")
    return len(node.users) > 1 and any(
        all(factor.meta["val"].dim() == 2 for factor in one.all_input_nodes) for one in products
    )


class _Filling:
    """The strides that have been decided so far, of the buffers that may have others than eager's."""

    def __init__(self, graph: Graph, as_read: set[str], viewed: set[str]) -> None:
        """`as_read` has the names of the nodes whose copies are free, too, `viewed` the results that may be copied."""
        self.graph = graph
        kept = _kept(graph)
        free = [op for op in graph.ops if _is_free(op) and (op.rule != "clone" or op.node in as_read)]
        self.makers = {op.target: op for op in free if op.target not in kept}
        self.returned = graph.output_buffers - viewed
        self.decided: dict[str, Strides] = {}

    def fix(self, name: str, strides: Strides) -> None:
        """Give a buffer these strides, unless it has been given others; those of dims of one element do not matter."""
        if name in self.makers and name not in self.decided:
            buffer = self.graph.buffers[name]
            apart = any(n > 1 and a != b for n, a, b in zip(buffer.size, buffer.stride, strides, strict=True))
            self.decided[name] = strides if apart and name not in self.returned else buffer.stride

    def decide(self, name: str) -> None:
        """Lay a buffer out in the order of the reads of what makes it."""
        if name in self.makers and name not in self.decided:
            self.fix(name, self._filled(self.makers[name]))

    def read_by(self, op: Op) -> None:
        """What a new op's way of reading asks of its operands: that of one which it broadcasts is a view."""
        if op.kind == "pointwise" and not op.is_mutation and op.rule != "layernormnorm":
            size = self.graph.buffers[op.target].size
            for read in op.tensor_reads:
                if self.graph.buffers[read.buffer].size != size:
                    self.decide(read.buffer)
        count, summed = prod(n for _, n in op.ranges), prod(n for _, n in op.reduced)
        asked = op.kind in ("reduction", "matmul", "topk") and op.func not in _MADE_AT_ONCE and not op.unit_batch
        if not asked or count == 1 or count >= _MANY_RESULTS or summed <= _FEW_SUMMED:
            return
        for read in op.tensor_reads:
            if any(read.index.step(variable) for variable, _ in op.reduced):
                self.decide(read.buffer)

    def strides(self, name: str) -> Strides:
        """The strides that a buffer has for those who read it now."""
        buffer = self.graph.buffers[name]
        return self.decided.get(name, row_major(buffer.size) if name in self.makers else buffer.stride)

    def _filled(self, op: Op) -> Strides:
        size = self.graph.buffers[op.target].size
        names = _variables(op, size)
        read = [self.moved(r.buffer, r.index) for r in op.tensor_reads]
        steps = [[0 if v is None else abs(index.step(v)) for v in names] for index in read]
        order = _loop_order(steps, size) if steps else list(reversed(range(len(size))))
        strides, step = [1] * len(size), 1
        for dim in order:
            strides[dim], step = step, step * size[dim]
        return tuple(strides)

    def moved(self, name: str, index: Index) -> Index:
        """An index into a buffer with eager's strides, in one with those that it has now."""
        buffer, strides = self.graph.buffers[name], self.strides(name)
        if name not in self.makers or strides == buffer.stride:
            return index
        steps = tuple((variable, _moved(step, buffer, strides)) for variable, step in index.steps)
        return replace(index, steps=steps, offset=_moved(index.offset, buffer, strides))

    def applied(self) -> Graph:
        ops: list[Op] = []
        for op in self.graph.ops:
            reads = tuple(replace(r, index=self.moved(r.buffer, r.index)) if r.buffer else r for r in op.reads)
            write = self.moved(op.target, op.write) if op.target in self.makers else op.write
            ops.append(replace(op, reads=reads, write=write))
        buffers = {
            name: replace(buffer, stride=self.strides(name)) if name in self.makers else buffer
            for name, buffer in self.graph.buffers.items()
        }
        return self.graph.with_ops(ops, buffers)


def _is_free(op: Op) -> bool:
    """Whether an op makes a buffer whose strides Inductor leaves open."""
    return op.computed and op.kind != "topk" and not op.is_mutation


def _is_as_read(node: Node) -> bool:
    """Whether this is a copy that asks for no strides."""
    return packet(node) == "clone" and node.kwargs.get("memory_format") in (None, torch.preserve_format)


def _kept(graph: Graph) -> set[str]:
    """Buffers that have eager's strides in any case."""
    kept = {op.target for op in graph.ops if op.is_mutation}
    for op in graph.ops:
        space = op.space
        for read in op.tensor_reads:
            apart = read.index.gathers or read.index.wraps
            if op.kind == "fallback" or apart or not in_dims(read.index, space, graph.buffers[read.buffer]):
                kept.add(read.buffer)
    return kept


def _moved(step: int, buffer: Buffer, strides: Sequence[int]) -> int:
    """So many elements in a dense buffer's own strides, in others."""
    moved = 0
    dims = sorted(zip(buffer.stride, strides, buffer.size, strict=True), reverse=True)
    for own, other, size in dims:
        if size > 1:
            count, step = divmod(step, own)
            moved += count * other
    return moved


def _variables(op: Op, size: Sequence[int]) -> list[str | None]:
    """The loop variable of each dim of what an op makes; dims of one element have none."""
    names = iter(op.ranges)
    return [None if n == 1 else next(names)[0] for n in size]


def _loop_order(steps: Sequence[Sequence[int]], size: Sequence[int]) -> list[int]:
    """Inductor's `pick_loop_order`: dims, the innermost first, by the vote of how each operand is stepped through."""

    def compare(a: int, b: int) -> int:
        if size[a] == 1 or size[b] == 1:
            return (size[a] == 1) - (size[b] == 1)
        first = sum(one[b] == 0 or one[a] < one[b] for one in steps)
        second = sum(one[a] == 0 or one[b] < one[a] for one in steps)
        return second - first or b - a

    order = list(reversed(range(len(size))))  # Inductor's start, which shows where the vote is no order
    order.sort(key=cmp_to_key(compare))
    return order
