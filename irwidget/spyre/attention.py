"""Inductor's pattern of an attention written by hand, which is one op before the front end sees it.

See docs/spyre-rules.md: Op selection.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.fx import GraphModule, Node

aten = torch.ops.aten


def fuse_attention(graph: GraphModule) -> GraphModule:
    """`softmax(q @ k.mT * number, -1) @ v` of three 4-D tensors as the attention that it is, in a graph of its own.

    The division by a number is the same; nothing but `v` may meet what lies between. The given graph stays.
    """
    if not any(_matched(node) for node in graph.graph.nodes):
        return graph
    made = GraphModule(graph, copy.deepcopy(graph.graph))
    for node in list(made.graph.nodes):
        found = _matched(node)
        if found is None:
            continue
        with made.graph.inserting_before(node):
            whole = made.graph.call_function(aten.scaled_dot_product_attention.default, found[0], {"scale": found[1]})
        whole.meta = dict(node.meta)
        node.replace_all_uses_with(whole)
    made.graph.eliminate_dead_code()
    made.recompile()
    return made


def _matched(node: Node) -> tuple[tuple[Node, Node, Node], float] | None:
    """What `node` attends to and its scale, where it is the last matmul of an attention."""
    weights, v = _operands(node, aten.matmul.default)
    softmax: Any = weights if _is(weights, aten.softmax.int) else None
    if softmax is None or v is None or softmax.args[1] not in (-1, 3) or softmax.kwargs.get("dtype"):
        return None
    if len(softmax.args) > 2 and softmax.args[2] is not None:
        return None
    scaled: Any = softmax.args[0]
    scale = _scale(scaled)
    scores = scaled.args[0] if scale is not None else None
    q, transposed = _operands(scores, aten.matmul.default)
    k = _transposed(transposed)
    if scale is None or q is None or k is None or not all(_alone(n) for n in (softmax, scaled, scores, transposed)):
        return None
    shapes = [one.meta["val"].shape for one in (q, k, v)]
    if any(len(shape) != 4 or shape[:2] != shapes[0][:2] for shape in shapes):
        return None
    return ((q, k, v), scale) if len({one.meta["val"].dtype for one in (q, k, v)}) == 1 else None


def _scale(node: Any) -> float | None:
    """The number that scores are multiplied by."""
    times = _is(node, aten.mul.Tensor) or _is(node, aten.mul.Scalar)
    by = _is(node, aten.div.Tensor) or _is(node, aten.div.Scalar)
    if not (times or by) or not isinstance(node.args[0], Node) or node.kwargs:
        return None
    number = node.args[1]
    if not isinstance(number, int | float) or not number:
        return None
    return float(number) if times else 1.0 / number


def _operands(node: Any, target: Any) -> tuple[Node | None, Node | None]:
    if not _is(node, target):
        return None, None
    a, b = node.args
    return a, b


def _transposed(node: Any) -> Node | None:
    """What `node` is with its last two dims exchanged."""
    if _is(node, aten.mT.default):
        return node.args[0]
    if _is(node, aten.transpose.int) and {d % 4 for d in node.args[1:]} == {2, 3}:
        return node.args[0]
    if _is(node, aten.permute.default) and [d % 4 for d in node.args[1]] == [0, 1, 3, 2]:
        return node.args[0]
    return None


def _alone(node: Any) -> bool:
    return len(node.users) == 1


def _is(node: Any, target: Any) -> bool:
    return isinstance(node, Node) and node.target is target
