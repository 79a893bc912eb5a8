"""Views that a function returns: a copy where the buffer's dims lie in another order than the function has them in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from torch.fx import GraphModule, Node

from irwidget.spyre.coordinates import Index, index_of, ranges_of
from irwidget.spyre.ir import Buffer, BufferView, Graph, Op, Read
from irwidget.spyre.layout import row_major
from irwidget.spyre.notes import custom


def returned_views(graph: Graph, module: GraphModule) -> dict[int, Node]:
    """Results that are views of buffers of which nothing else is returned, by number, and their nodes."""
    (values,) = next(node.args for node in module.graph.nodes if node.op == "output")
    found: dict[str, dict[int, Node]] = {}
    for number, (view, node) in enumerate(zip(graph.outputs, values, strict=False)):  # pyright: ignore
        if isinstance(view, BufferView):
            found.setdefault(view.buffer, {})[number] = node
    makers = {op.target: op.node for op in graph.ops}
    return {
        number: node
        for name, nodes in found.items()
        if all(_may_be_copied(graph, graph.outputs[n], makers.get(name), node) for n, node in nodes.items())
        for number, node in nodes.items()
    }


def _may_be_copied(graph: Graph, view: BufferView, maker: str | None, node: Node) -> bool:
    spread = any(n > 1 and not step for n, step in zip(view.size, view.stride, strict=True))
    index = index_of(view.size, view.stride, view.offset)
    return node.name != maker and not spread and in_dims(index, dict(ranges_of(view.size)), graph.buffers[view.buffer])


def in_dims(index: Index, space: Mapping[str, int], buffer: Buffer) -> bool:
    """Whether each variable walks along one dim of the buffer."""
    for variable, step in index.steps:
        dims = [(s, n) for s, n in zip(buffer.stride, buffer.size, strict=True) if n > 1 and s and step % s == 0]
        if not any(step // s * (space[variable] - 1) < n for s, n in dims):
            return False
    return True


def with_copies(
    graph: Graph,
    module: GraphModule,
    views: Mapping[int, Node],
    moved: Callable[[str, Index], Index],
    origins: Mapping[Node, tuple[str, ...]],
) -> Graph:
    """The graph with these results in their buffers' strides: views of them, or copies made where the view is taken.

    `moved` gives an index into a buffer with eager's strides in its own ones.
    """
    order = {node.name: i for i, node in enumerate(module.graph.nodes)}
    outputs = list(graph.outputs)
    for number, node in views.items():
        view: BufferView = outputs[number]
        index = moved(view.buffer, index_of(view.size, view.stride, view.offset))
        steps = dict(index.steps)
        strides = _strides(view.size, [steps[v] for v, _ in ranges_of(view.size)], view.stride)
        if _order(view.size, strides) == _order(view.size, view.stride):
            outputs[number] = replace(view, stride=strides, offset=index.offset)
            continue
        before = [i for i, op in enumerate(graph.ops) if order.get(op.node, -1) <= order[node.name]]
        at = 1 + max((i for i in before if graph.ops[i].rule != "copy_back"), default=-1)
        graph, outputs[number] = _copied(graph, view, index, at, node, origins.get(node, ()))
    return replace(graph, outputs=tuple(outputs))


def _strides(size: Sequence[int], steps: Sequence[int], given: Sequence[int]) -> tuple[int, ...]:
    """A stride for each dim: those of one element keep theirs."""
    found = iter(steps)
    return tuple(own if n == 1 else next(found) for n, own in zip(size, given, strict=True))


def _order(size: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The dims of more than one element, from the innermost out."""
    return sorted((d for d, n in enumerate(size) if n > 1), key=lambda d: strides[d])


def _copied(
    graph: Graph, view: BufferView, index: Index, at: int, node: Node, origins: tuple[str, ...]
) -> tuple[Graph, BufferView]:
    """The graph with a view copied into a dense buffer of its own, before the op `at`, and that buffer."""
    name = f"buf{graph.next_number()}"
    outermost_first = sorted(range(len(view.size)), key=lambda d: -view.stride[d])
    dense = row_major([view.size[d] for d in outermost_first])
    stride = tuple(step for _, step in sorted(zip(outermost_first, dense, strict=True)))
    note = custom(node)
    copy = Op(
        f"op{name[3:]}",
        name,
        "pointwise",
        "copy",
        ranges_of(view.size),
        reads=(Read(view.buffer, index, dtype=view.dtype),),
        write=index_of(view.size, stride),
        target=name,
        aten="permute",
        origins=origins,
        line=note.get("line", ("", 0)),
        hints=note.get("hints", ()),
        node=node.name,
        module=note.get("module", ""),
    )
    made = Buffer(name, view.size, stride, view.dtype)
    ops = (*graph.ops[:at], copy, *graph.ops[at:])
    whole = BufferView(name, view.size, stride, 0, view.dtype)
    return graph.with_ops(ops, {**graph.buffers, name: made}), whole
