"""Products of a batch by one matrix, which are views around an `mm` for Inductor (docs/spyre-rules.md: Op selection).

Upstream makes a batched product of that again, where both views are still there.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node

from irwidget.spyre.notes import custom

aten = torch.ops.aten
_VIEWS = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
_MATMUL = "irwidget_spyre.matmul.default"


def is_flattened(node: Node) -> bool:
    """Whether this is a product of a batch by one matrix for which a view takes all rows as one dim."""
    if str(node.target) != _MATMUL or custom(node).get("origin") != "matmul":
        return False
    a, b = (_value(arg) for arg in node.args)
    return b.dim() == 2 and is_one_of_rows(a)


def is_one_of_rows(x: torch.Tensor) -> bool:
    """Whether a batch is multiplied by one matrix in a view that takes all its rows as one dim: PyTorch's rule."""
    outer = zip(x.stride()[:-2], x.stride()[1:-1], x.shape[1:-1], strict=True)
    return x.dim() > 2 and all(step == inner * n for step, inner, n in outer)


def flatten(graph: GraphModule) -> None:
    """Inductor's rule: two views in a row that undo each other are none, and then a product is one of all rows.

    So are both of `x @ a @ b`, and that of a batch which is a view of rows.
    """
    for node in list(graph.graph.nodes):
        if is_flattened(node) and (_undone(node.args[0], _rows(node.args[0])) or _read_as_rows(node)):
            _flatten(graph, node)


def _flatten(graph: GraphModule, node: Node) -> None:
    given, weight = node.args
    value, shape = _value(node), _rows(node)
    rows = given.args[0] if _undone(given, _rows(given)) else None  # pyright: ignore[reportOptionalMemberAccess,reportAttributeAccessIssue]
    with graph.graph.inserting_before(node):
        if rows is None:
            rows = graph.graph.call_function(aten.view.default, (given, _rows(given)))
            rows.meta = _like(node, aten.view.default(_value(given), _rows(given)), "view")
        product = graph.graph.call_function(node.target, (rows, weight))  # pyright: ignore[reportArgumentType]
        product.meta = _like(node, aten.view.default(value, shape), "mm")
        whole = graph.graph.call_function(aten._unsafe_view.default, (product, list(value.shape)))
        whole.meta = _like(node, value, "_unsafe_view")
    node.replace_all_uses_with(whole)
    graph.graph.erase_node(node)
    _erase_unread(graph, given)
    reader = next(iter(whole.users), None)
    if reader is not None and is_view(reader) and _undone(reader.args[0], list(_value(reader).shape)):
        reader.replace_all_uses_with(product)
        graph.graph.erase_node(reader)
        graph.graph.erase_node(whole)


def batch(graph: GraphModule) -> None:
    """Upstream's rule: a product of rows that are a view of a batch is batched, where a view makes it one again."""
    for node in list(graph.graph.nodes):
        if str(node.target) != _MATMUL or any(_value(arg).dim() != 2 for arg in node.args):
            continue
        view, reader = node.args[0], next(iter(node.users), None)
        if not is_view(view) or not is_view(reader) or len(node.users) != 1:
            continue
        source, made = view.args[0], _value(reader)  # pyright: ignore[reportOptionalMemberAccess,reportAttributeAccessIssue]
        if made.dim() < 3 or made.shape[:-1] != _value(source).shape[:-1]:
            continue
        with graph.graph.inserting_before(node):
            whole = graph.graph.call_function(node.target, (source, node.args[1]))  # pyright: ignore[reportArgumentType]
        whole.meta = _like(node, made, "matmul")
        reader.replace_all_uses_with(whole)  # pyright: ignore[reportOptionalMemberAccess]
        for one in (reader, node):
            graph.graph.erase_node(one)  # pyright: ignore[reportArgumentType]
        _erase_unread(graph, view)


def _read_as_rows(node: Node) -> bool:
    """Whether its one reader begins by taking all rows as one dim."""
    reader = next(iter(node.users))
    if len(node.users) != 1 or node not in reader.args:
        return False
    return (is_flattened(reader) and reader.args[0] is node) or (
        is_view(reader) and list(_value(reader).shape) == _rows(node)
    )


def _undone(node: Any, shape: list[int]) -> bool:
    """Whether a view of `node` in that shape undoes it: a view, and nobody else reads it."""
    return is_view(node) and len(node.users) == 1 and list(_value(node.args[0]).shape) == shape


def _rows(node: Any) -> list[int]:
    """The shape of a tensor with all its rows in one dim."""
    *outer, last = _value(node).shape
    return [prod(outer), last]


def _erase_unread(graph: GraphModule, node: Any) -> None:
    if is_view(node) and not node.users:
        graph.graph.erase_node(node)


def _like(node: Node, value: torch.Tensor, origin: str) -> dict[str, Any]:
    """What is known of a node that takes part in what `node` was."""
    return {**node.meta, "val": value, "custom": {**custom(node), "origin": origin}}


def is_view(node: Any) -> bool:
    """Whether this takes the elements of a tensor in another shape."""
    return isinstance(node, Node) and str(node.target) in _VIEWS


def _value(node: Any) -> torch.Tensor:
    return node.meta["val"]
