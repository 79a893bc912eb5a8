"""Parts of inputs that are written where they lie (docs/spyre-rules.md: Op selection)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from irwidget.private_torch import storage_id


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """What a scatter writes, and where: strides and offset are in elements of what it writes into."""

    piece: Node
    stride: tuple[int, ...]
    offset: int


def written_parts(module: GraphModule, mutated: Sequence[str]) -> dict[Node, WrittenPart]:
    """Inductor's rule: a scatter into an input needs no copy of it where the input becomes what comes of it.

    Nobody may read the former value later, nor may the piece be a part of it. The last outputs of the graph are the new
    values of the inputs `mutated`.
    """
    nodes = list(module.graph.nodes)
    values: Any = nodes[-1].args[0]
    found: dict[Node, WrittenPart] = {}
    for name, value in zip(mutated, values[len(values) - len(mutated) :], strict=True):
        chain: list[Node] = []
        while _is_scatter(value):
            chain.append(value)
            value = value.args[0]
        if value.op != "placeholder" or value.name != name:
            continue
        for node in reversed(chain):
            part = _part(node)
            if storage_id(part.piece.meta["val"]) == _base(node) or _read_later(nodes, node):
                break
            found[node] = part
    return found


def _is_scatter(value: Any) -> bool:
    return isinstance(value, Node) and str(value.target) == "aten.slice_scatter.default"


def _base(node: Node) -> int:
    """The storage that a scatter writes into a copy of."""
    base: Any = node.args[0]
    return storage_id(base.meta["val"])


def _part(node: Node) -> WrittenPart:
    """The part of a scatter's base; where several dims are sliced, a scatter is into a view that another scatters."""
    base: Any = node.args[0]
    view = base.meta["val"]
    while True:
        at = _sliced(view, node)
        piece: Any = node.args[1]
        inner = piece.args[0].meta["val"] if _is_scatter(piece) else None
        if inner is None or storage_id(inner) != storage_id(view) or not _same(inner, at):
            return WrittenPart(piece, at.stride(), at.storage_offset() - base.meta["val"].storage_offset())
        view, node = inner, piece


def _sliced(view: torch.Tensor, node: Node) -> torch.Tensor:
    """The view of a fake tensor that a scatter writes."""
    rest: Any = node.args[2:]
    return torch.ops.aten.slice.Tensor(view, *rest)


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return (a.shape, a.stride(), a.storage_offset()) == (b.shape, b.stride(), b.storage_offset())


def _read_later(nodes: Sequence[Node], node: Node) -> bool:
    """Whether what a scatter writes into is read after it, or returned as it was."""
    later = (given for other in nodes[nodes.index(node) + 1 :] for given in other.all_input_nodes)
    vals = (given.meta.get("val") for given in later)
    return any(isinstance(v, torch.Tensor) and storage_id(v) == _base(node) for v in vals)
