"""Copies back into inputs that the op which computes the value spares (docs/spyre-rules.md: Op selection)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from irwidget.spyre.candidates import Propagation
from irwidget.spyre.ir import Graph, Op


def write_at_once(graph: Graph, found: Propagation, chunked: bool) -> tuple[Graph, Propagation]:
    """Have ops write into inputs what a copy would bring there, and leave out the copy.

    `chunked` says that large tensors are cut, which keeps the copies of elementwise ops.
    """
    moved = {
        maker.name: op
        for op in graph.ops
        if op.aten == "copy_" and (maker := _maker(graph, found, op, chunked)) is not None
    }
    copies = {op.name for op in moved.values()}
    places = {op.reads[0].buffer: op.target for op in moved.values()}
    ops: list[Op] = []
    rules = {name: rule for name, rule in found.rules.items() if name not in copies}
    for op in graph.ops:
        if op.name in copies:
            continue
        ops.append(replace(op.reading(places), target=places.get(op.target, op.target)))
        if op.name in moved:
            rules[op.name] = replace(rules[op.name], candidates=found.layouts[moved[op.name].target][:1])
    buffers = {name: buffer for name, buffer in graph.buffers.items() if name not in places}
    layouts = {name: given for name, given in found.layouts.items() if name not in places}
    return graph.with_ops(ops, buffers), Propagation(layouts, rules, buffers)


def _maker(graph: Graph, found: Propagation, copy: Op, chunked: bool) -> Op | None:
    """The op that may write into the input itself: nobody reads the input, and nothing else writes either tensor."""
    source, target = copy.reads[0], copy.target
    written = Counter(op.target for op in graph.ops)
    maker = next((op for op in graph.ops if op.target == source.buffer and op.computed and not op.is_mutation), None)
    if maker is None or (chunked and maker.kind == "pointwise"):
        return None
    alone = written[source.buffer] == written[target] == 1
    kept = {source.buffer, target} & graph.output_buffers
    read = any(r.buffer == target for op in graph.ops for r in op.tensor_reads)
    mine, given = graph.buffers[source.buffer], graph.buffers[target]
    alike = source.index == copy.write and (mine.size, mine.stride, mine.dtype) == (
        given.size,
        given.stride,
        given.dtype,
    )
    fits = found.layouts[target][0] in found.layouts[source.buffer]
    return maker if alone and not kept and not read and alike and fits else None
