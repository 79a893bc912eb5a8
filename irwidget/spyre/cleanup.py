"""Small passes over the loop IR: dead code, scalar literals, constants, formats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from irwidget.spyre.coordinates import Index
from irwidget.spyre.formats import check_format, device_format
from irwidget.spyre.ir import Buffer, Graph, Op, Read, Refusals
from irwidget.spyre.opspec import accesses_of, opfunc

_EXPLICIT = {"clip": 2, "softplus": 2, "layernormscale": 1}
"""OpFuncs whose scalars travel beside them; upstream still makes a float32 constant for each, read by nobody."""


def eliminate_dead_code(graph: Graph) -> Graph:
    """Drop ops whose result nobody reads; a host op without results is a check, and stays."""
    followed = zip(graph.ops, [*graph.ops[1:], None], strict=False)
    checks = [a for a, b in followed if a.kind == "fallback" and (b is None or b.kind != "multi_output")]
    needed = {*graph.output_buffers, *graph.mutated, *(op.buffer for op in checks)}
    kept: list[Op] = []
    for op in reversed(graph.ops):
        if op.target in needed or op.buffer in needed:
            kept.append(op)
            needed.update(read.buffer for read in op.tensor_reads)
            if op.kind == "multi_output":
                needed.add(_producer(graph, op))
    return graph.with_ops(reversed(kept))


def _producer(graph: Graph, op: Op) -> str:
    before = graph.ops[: graph.ops.index(op)]
    return next(other.buffer for other in reversed(before) if other.kind == "fallback")


def split_multi_ops(graph: Graph) -> Graph:
    """Every scalar literal becomes a 0-d constant tensor of its own."""
    buffers = dict(graph.buffers)
    ops: list[Op] = []
    number = graph.next_number()
    for op in graph.ops:
        reads: list[Read] = []
        for read in op.reads:
            if read.buffer:
                reads.append(read)
                continue
            name = f"buf{number}"
            buffers[name] = Buffer(name, (), (), read.dtype, "constant", value=read.scalar)
            ops.append(Op(f"op{number}", name, "constant", "constant", target=name))
            reads.append(replace(read, buffer=name, index=Index()))
            number += 1
        for _, value in op.constants[: _EXPLICIT.get(op.func, 0)]:
            name = f"buf{number}"
            buffers[name] = Buffer(name, (), (), "float32", "constant", value=value)
            ops.append(Op(f"op{number}", name, "constant", "constant", target=name))
            number += 1
        ops.append(replace(op, reads=tuple(reads)))
    return graph.with_ops(ops, buffers)


def promote_constants(graph: Graph) -> Graph:
    """Merge equal constants and move them to the front."""
    first: dict[tuple[str, Any, bool], str] = {}
    renamed: dict[str, str] = {}
    constants: list[Op] = []
    for op in graph.ops:
        if op.kind == "constant":
            buffer = graph.buffers[op.target]
            negative = str(buffer.value).startswith("-")  # zeros are equal, and differ
            kept = first.setdefault((buffer.dtype, buffer.value, negative), op.target)
            renamed[op.target] = kept
            if kept == op.target:
                constants.append(op)
    rest = [op.reading(renamed) for op in graph.ops if op.kind != "constant"]
    outputs = tuple(
        replace(view, buffer=renamed.get(view.buffer, view.buffer)) if hasattr(view, "buffer") else view
        for view in graph.outputs
    )
    return replace(graph.with_ops((*constants, *rest)), outputs=outputs)


def validate_ops(graph: Graph, refusals: Refusals) -> Graph:
    """Refuse data formats that an OpFunc does not take."""
    for op in graph.ops:
        if not op.computed:
            continue
        func = "identity" if op.func == "copy" else op.func
        with refusals.of(op.node):
            for dtype in [read.dtype for read in op.data_reads] + [graph.buffers[op.target].dtype]:
                check_format(func, dtype, op.where())
    return graph


def validate_copies(graph: Graph, refusals: Refusals) -> Graph:
    """Refuse copies that move the sticks of a format other than float16's, once their layouts say which do."""
    for op in graph.ops:
        if not op.computed or op.func != "copy":
            continue
        dtype = graph.buffers[op.target].dtype
        if device_format(dtype).name != "SEN169_FP16":
            with refusals.of(op.node):
                check_format(opfunc(op, accesses_of(graph, op)), dtype, op.where())
    refusals.raise_first()
    return graph
