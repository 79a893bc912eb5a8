"""Round the K of matmul operands up to whole sticks (docs/spyre-rules.md: Padding and chunks)."""

from __future__ import annotations

from dataclasses import replace

from irwidget.spyre.coordinates import Index, index_of, ranges_of
from irwidget.spyre.ir import Buffer, Graph, Op, Read
from irwidget.spyre.layout import device_layout, row_major


def pad_matmuls(graph: Graph) -> Graph:
    """Copy B of a float16 matmul with a ragged K into a zero-filled buffer of whole sticks; A stays as it is."""
    number = graph.next_number()
    buffers = dict(graph.buffers)
    ops: list[Op] = []
    for op in graph.ops:
        if op.kind == "matmul":
            k, size = op.reduced[0]
            eps = buffers[op.target].device.elements_per_stick
            if size % eps and eps == 64:
                made, read = _padded(number, op, k, -(-size // eps) * eps, buffers)
                ops.extend(made)
                number += 4
                op = replace(op, reads=(op.reads[0], read))
        ops.append(op)
    return graph.with_ops(ops, buffers)


def _padded(number: int, op: Op, k: str, padded: int, buffers: dict[str, Buffer]) -> tuple[list[Op], Read]:
    """Three ops: an uninitialised buffer and its zero (a constant), the fill of the last sticks, the copy."""
    read = op.reads[1]
    space = op.space
    walked = [v for v, _ in op.ranges if read.index.step(v)]
    batch, n = walked[:-1], walked[-1:]
    order = [*batch, k, *n]
    units = (1,) * max(read.rank - len(order), 0)
    size = (*units, *(padded if v == k else space[v] for v in order))
    stride = row_major(size)
    eps = 64
    name, zero = f"buf{number}", f"buf{number + 1}"
    layout = device_layout(size, read.dtype, None, stride)
    buffers[name] = Buffer(name, size, stride, read.dtype, layout=layout)
    if zero not in buffers:
        buffers[zero] = Buffer(zero, (), (), read.dtype, "constant", value=0.0, layout=device_layout((), read.dtype))
    at = len(units) + order.index(k)
    region = (*size[:at], eps, *size[at + 1 :])
    common = {
        "kind": "pointwise",
        "func": "copy",
        "target": name,
        "aten": "constant_pad_nd",
        "line": op.line,
        "node": op.node,
        "module": op.module,
    }
    empty = Op(f"op{number}", name, "empty", "empty", target=name)
    constant = Op(f"op{number + 1}", zero, "constant", "constant", target=zero)
    fill = Op(
        name=f"op{number + 2}",
        buffer=f"buf{number + 2}",
        ranges=ranges_of(region),
        rule="copy_into",
        reads=(Read(zero, Index(), dtype=read.dtype),),
        write=index_of(region, stride, (padded - eps) * stride[at]),
        **common,  # pyright: ignore[reportArgumentType]
    )
    original = (*units, *(space[v] for v in order))
    steps = (*(0 for _ in units), *(read.index.step(v) for v in order))
    copy = Op(
        name=f"op{number + 3}",
        buffer=f"buf{number + 3}",
        ranges=ranges_of(original),
        rule="copy_into",
        reads=(Read(read.buffer, index_of(original, steps, read.index.offset), dtype=read.dtype),),
        write=index_of(original, stride),
        **common,  # pyright: ignore[reportArgumentType]
    )
    made = Read(name, Index(tuple(zip(order, stride[len(units) :], strict=True))), dtype=read.dtype)
    return [empty, constant, fill, copy], made
