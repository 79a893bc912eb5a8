"""Cut elementwise ops on very large tensors into chunks, on request (docs/spyre-rules.md: Padding and chunks)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from irwidget.spyre.coordinates import stick_of
from irwidget.spyre.division import host_bytes, largest_divisor, tensors_of
from irwidget.spyre.hardware import SPAN_LIMIT
from irwidget.spyre.ir import Graph, Op
from irwidget.spyre.layout import DeviceLayout
from irwidget.spyre.options import SpyreSwitches


def best_outer_split(layout: DeviceLayout, itemsize: int, cores: int) -> tuple[int, int]:
    """(split, bytes of one core's span) after the best split of the outermost device dim of several elements."""
    size = layout.device_size
    outer = next((i for i in range(len(size) - 1) if size[i] > 1), None)
    if outer is None:
        return 1, prod(size) * itemsize
    split = largest_divisor(size[outer], cores)
    return split, size[outer] // split * prod(size[outer + 1 :]) * itemsize


def chunk_large_tensors(graph: Graph, options: SpyreSwitches) -> Graph:
    """Split pointwise ops that no division brings under 256 MiB per core into stick-aligned chunks."""
    ops: list[Op] = []
    number = graph.next_number()
    for op in graph.ops:
        cut = _cut(graph, op, options) if op.kind == "pointwise" and not op.is_mutation else None
        if cut is None:
            ops.append(op)
            continue
        variable, chunk = cut
        ops.append(Op(op.name, op.buffer, "empty", "empty", target=op.target, rule="tile"))
        for start in range(0, op.space[variable], chunk):
            ops.append(_chunk(op, variable, start, min(chunk, op.space[variable] - start), number))
            number += 1
    return graph.with_ops(ops)


def _cut(graph: Graph, op: Op, options: SpyreSwitches) -> tuple[str, int] | None:
    """The variable to cut and the size of a chunk; None when the op fits as it is."""
    out = graph.buffers[op.target]
    itemsize = host_bytes(out.dtype)
    _, span = best_outer_split(out.device, itemsize, options.cores)
    total = prod(out.device.device_size) * itemsize
    if span <= SPAN_LIMIT and total <= SPAN_LIMIT * options.cores:
        return None
    tensor = tensors_of(graph, op)[-1]
    coordinate = next((c for c in tensor.coordinates[:-1] if c.variables), None)
    if coordinate is None:
        return None
    variable = coordinate.variables[0]
    stick = stick_of(tensor.coordinates, out.device.elements_per_stick).variable
    eps = out.device.elements_per_stick if stick == variable else 1
    units = -(-op.space[variable] // eps)
    per_unit = total // units
    per_core = min(max(1, SPAN_LIMIT // per_unit), units // options.cores)
    chunk = per_core * options.cores
    return (variable, chunk * eps) if 0 < chunk < units else None


def _chunk(op: Op, variable: str, start: int, length: int, number: int) -> Op:
    ranges = tuple((v, length if v == variable else n) for v, n in op.ranges)
    reads = tuple(
        replace(r, index=replace(r.index, offset=r.index.offset + start * r.index.step(variable))) for r in op.reads
    )
    write = replace(op.write, offset=op.write.offset + start * op.write.step(variable))
    return replace(op, name=f"op{number}", buffer=f"buf{number}", ranges=ranges, reads=reads, write=write)
