"""Inductor's patterns of an attention written by hand, which is one op before the front end sees it.

See docs/spyre-rules.md: Op selection.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from irwidget.spyre.notes import custom

aten = torch.ops.aten
_CASTS: tuple[Any, ...] = (aten.to.dtype, aten._to_copy.default, aten.type_as.default)


def fuse_attention(graph: GraphModule) -> GraphModule:
    """`softmax(q @ k.mT, -1) @ v`, scaled or masked as Inductor's patterns have it, as the attention that it is.

    The result is a graph of its own; nothing but `v` may meet what lies between. The given graph stays.
    """
    if not any(_matched(node) for node in graph.graph.nodes):
        return graph
    made = GraphModule(graph, copy.deepcopy(graph.graph))
    nodes: list[Any] = list(made.graph.nodes)
    for node in nodes:
        found = _matched(node)
        if found is None:
            continue
        with made.graph.inserting_before(node):
            whole = found.written(made.graph)
        whole.meta = {**node.meta, "custom": {**custom(node), "fused": True}}
        node.replace_all_uses_with(whole)
    made.graph.eliminate_dead_code()
    made.recompile()
    return made


@dataclass(frozen=True, slots=True)
class _Scores:
    """What a softmax is taken of: `q @ k.mT * number + mask`, its parts None where they are not there."""

    q: Node
    k: Node
    scale: float
    by: str
    """How it is scaled: `mul`, `div` or not at all."""
    mask: Node | None


@dataclass(frozen=True, slots=True)
class _Attention:
    scores: _Scores
    v: Node

    @property
    def operands(self) -> tuple[Node, Node, Node]:
        return self.scores.q, self.scores.k, self.v

    @property
    def batch(self) -> torch.Size:
        """What the matrices of all three are multiplied for: an operand may be the same for some."""
        return torch.broadcast_shapes(*(one.meta["val"].shape[:-2] for one in self.operands))

    def _permutes(self) -> bool:
        """Whether Inductor's pattern of this permutes q, k and v itself, which kernels are named after."""
        copied = self.scores.by == "div" and all(_copied(one, self.batch) for one in self.operands)
        return copied if self.scores.mask is None else not self.scores.by

    def written(self, graph: torch.fx.Graph) -> Node:
        """The one op, at the graph's place of insertion."""
        operands: list[Node] = list(self.operands)
        three = operands[0].meta["val"].dim() == 3
        batch = self.batch
        if three:
            operands = [graph.call_function(aten.unsqueeze.default, (one, 0)) for one in operands]
        elif self.scores.by == "mul" and all(_copied(one, batch) for one in operands):
            operands = [graph.call_function(aten.contiguous.default, (one,)) for one in operands]
        elif self._permutes():
            operands = [graph.call_function(aten.permute.default, (one.args[0], [0, 2, 1, 3])) for one in operands]
        mask = () if self.scores.mask is None else (self.scores.mask,)
        target: Any = aten.scaled_dot_product_attention.default
        whole = graph.call_function(target, (*operands, *mask), {"scale": self.scores.scale})
        return graph.call_function(aten.squeeze.dim, (whole, 0)) if three else whole


def _matched(node: Node) -> _Attention | None:
    """What `node` attends to, where it is the last matmul of an attention that a pattern is of."""
    products: tuple[Any, ...] = (aten.matmul.default, aten.bmm.default)
    product: Any = next((one for one in products if node.target is one), None)
    if product is None:
        return None
    weights, v = _operands(node, product)
    softmax = _softmax(weights)
    if softmax is None or v is None:
        return None
    scores = _scores(softmax.args[0], product)
    if scores is None:
        return None
    values = [one.meta["val"] for one in (scores.q, scores.k, v)]
    rank = 3 if product is aten.bmm.default else 4
    same = len({(one.dtype, one.dim()) for one in values}) == 1 and values[0].dim() == rank
    same = same and (rank == 4 or len({one.shape[:-2] for one in values}) == 1)
    dtype = node.meta["val"].dtype
    casts = softmax.meta["val"].dtype != dtype
    if not same or values[0].dtype != dtype or (casts and dtype != torch.float16):
        return None
    found = _Attention(scores, v)
    return found if _has_pattern(found, rank) else None


def _has_pattern(found: _Attention, rank: int) -> bool:
    """Whether Inductor has a pattern of this: it has some with copies of operands, others without, and few of each."""
    scores = found.scores
    if rank == 3:
        return not scores.by and scores.mask is None
    copies = sum(_copied(one, found.batch) for one in found.operands)
    if copies not in (0, 3):
        return False
    if scores.by == "mul":
        return scores.mask is None
    if scores.by == "div" and not copies:
        return True
    return all(_permuted(one) for one in found.operands)


def _softmax(weights: Any) -> Node | None:
    """The softmax over the last dim that the weights are, behind casts and dropout that leaves all."""
    node: Any = weights
    while isinstance(node, Node) and _alone(node):
        if node.target in _CASTS or (_is(node, aten.dropout.default) and not (node.args[1] and node.args[2])):
            node = node.args[0]
        else:
            break
    if not _is(node, aten.softmax.int) or not _alone(node):
        return None
    last = node.meta["val"].dim() - 1
    return node if node.args[1] in (-1, last) else None


def _scores(node: Any, product: Any) -> _Scores | None:
    """The scores that `node` is."""
    while isinstance(node, Node) and _alone(node) and node.target in _CASTS:
        node = node.args[0]
    mask: Any = None
    if _is(node, aten.add.Tensor) and len(node.args) == 2 and not node.kwargs and _alone(node):
        node, mask = node.args
        whole = isinstance(mask, Node) and isinstance(mask.meta.get("val"), torch.Tensor)
        if not whole or not mask.meta["val"].dim():
            return None
    by, scale = _scale(node)
    if by:
        if not _alone(node):
            return None
        node = node.args[0]
    q, transposed = _operands(node, product)
    k = _transposed(transposed)
    if q is None or k is None or not _alone(node) or not _alone(transposed):
        return None
    if mask is not None and mask.meta["val"].dtype != q.meta["val"].dtype:
        return None
    return _Scores(q, k, scale, by, mask)


def _scale(node: Any) -> tuple[str, float]:
    """How scores are scaled, and the number that they are multiplied by."""
    times = _is(node, aten.mul.Tensor) or _is(node, aten.mul.Scalar)
    by = _is(node, aten.div.Tensor) or _is(node, aten.div.Scalar)
    if not (times or by) or not isinstance(node.args[0], Node) or node.kwargs:
        return "", 1.0
    number = node.args[1]
    if not isinstance(number, int | float) or number <= 0:  # of what is not positive no root is taken
        return "", 1.0
    return ("mul", float(number)) if times else ("div", 1.0 / number)


def _operands(node: Any, target: Any) -> tuple[Any, Any]:
    if not _is(node, target):
        return None, None
    a, b = node.args
    return a, b


def _transposed(node: Any) -> Node | None:
    """What `node` is with its last two dims exchanged."""
    if not isinstance(node, Node):
        return None
    rank = node.meta["val"].dim()
    given: Any = node.args
    if _is(node, aten.mT.default):
        return given[0]
    if _is(node, aten.transpose.int) and {d % rank for d in given[1:]} == {rank - 2, rank - 1}:
        return given[0]
    exchanged = [*range(rank - 2), rank - 1, rank - 2]
    if _is(node, aten.permute.default) and [d % rank for d in given[1]] == exchanged:
        return given[0]
    return None


def _copied(node: Node, batch: torch.Size) -> bool:
    """Whether no view takes the two batch dims as one, so that a matmul copies them first."""
    value = node.meta["val"]
    value = value.expand(*batch, *value.shape[-2:])
    return 1 not in value.shape[:2] and value.stride(0) != value.stride(1) * value.shape[1]


def _permuted(node: Node) -> bool:
    """Whether this is a tensor with its heads and its rows exchanged."""
    given: Any = node.args
    if _is(node, aten.transpose.int):
        return {d % 4 for d in given[1:]} == {1, 2}
    return _is(node, aten.permute.default) and [d % 4 for d in given[1]] == [0, 2, 1, 3]


def _alone(node: Node) -> bool:
    """Whether one node reads it; what is given its dtype alone does not."""
    return sum(not (_is(user, aten.type_as.default) and user.args[0] is not node) for user in node.users) == 1


def _is(node: Any, target: Any) -> bool:
    """Whether this is a node of that op."""
    return isinstance(node, Node) and node.target is target
