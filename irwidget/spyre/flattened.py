"""Products of a batch by one matrix, which are views around an `mm` for Inductor (docs/spyre-rules.md: Op selection).

Upstream makes a batched product of that again, where both views are still there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node

from irwidget.spyre.notes import custom

aten = torch.ops.aten
_VIEWS = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
_MATMUL = "irwidget_spyre.matmul.default"
_Flat = Callable[[Any], list[int]]
"""The shape of a tensor whose outer dims are one."""


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

    So are both of `x @ a @ b`, and that of a batch which is a view of rows. A product of matrices in several batch
    dims is one of them in one, where it is viewed so.
    """
    for node in list(graph.graph.nodes):
        if is_flattened(node) and (_undone(node.args[0], _rows(node.args[0])) or _read_flat(node, _rows)):
            _flatten(graph, node, "mm", _rows, node.args[:1])
        elif _is_batch_of_batches(node) and _read_flat(node, _matrices):
            _flatten(graph, node, "bmm", _matrices, node.args)


def _is_batch_of_batches(node: Node) -> bool:
    """Whether this is a product of matrices in several batch dims, which a view takes as one."""
    if str(node.target) != _MATMUL or custom(node).get("origin") != "matmul":
        return False
    return all(_value(arg).dim() == _value(node).dim() > 3 for arg in node.args)


def _flatten(graph: GraphModule, node: Node, name: str, flat: _Flat, operands: Sequence[Any]) -> None:
    """Make a product of `operands` in one batch dim, or in none, with views around it."""
    value = _value(node)
    with graph.graph.inserting_before(node):
        viewed = [_flat_operand(graph, node, given, flat) for given in operands]
        product = graph.graph.call_function(node.target, (*viewed, *node.args[len(viewed) :]))  # pyright: ignore[reportArgumentType]
        product.meta = _like(node, aten.view.default(value, flat(node)), name)
        product.meta["custom"]["batches"] = flat is _matrices
        whole = graph.graph.call_function(aten._unsafe_view.default, (product, list(value.shape)))
        whole.meta = _like(node, value, "_unsafe_view")
    node.replace_all_uses_with(whole)
    graph.graph.erase_node(node)
    for given in operands:
        _erase_unread(graph, given)
    reader = next(iter(whole.users), None)
    if reader is not None and is_view(reader) and _undone(reader.args[0], list(_value(reader).shape)):
        reader.replace_all_uses_with(product)
        graph.graph.erase_node(reader)
        graph.graph.erase_node(whole)


def _flat_operand(graph: GraphModule, node: Node, given: Any, flat: _Flat) -> Node:
    """A view of an operand, or what that is a view of in that shape."""
    shape = flat(given)
    if _undone(given, shape):
        return given.args[0]
    view = graph.graph.call_function(aten.view.default, (given, shape))
    view.meta = _like(node, aten.view.default(_value(given), shape), "view")
    if flat is _matrices:
        view.meta["custom"]["batches"] = True
    return view


def batch(graph: GraphModule) -> None:
    """Upstream's rules: a product of rows that are a view of a batch is batched, where a view makes it one again.

    So is one of batches in several dims, which views take as one, both operands and then the result.
    """
    for node in list(graph.graph.nodes):
        reader = next(iter(node.users), None)
        if str(node.target) != _MATMUL or not is_view(reader) or len(node.users) != 1:
            continue
        operands = _batched(node, _value(reader).shape)
        if operands is None:
            continue
        with graph.graph.inserting_before(node):
            whole = graph.graph.call_function(node.target, operands)  # pyright: ignore[reportArgumentType]
        whole.meta = _like(node, _value(reader), "matmul")
        reader.replace_all_uses_with(whole)  # pyright: ignore[reportOptionalMemberAccess]
        views = node.args
        for one in (reader, node):
            graph.graph.erase_node(one)  # pyright: ignore[reportArgumentType]
        for view in views:
            _erase_unread(graph, view)


def _batched(node: Node, shape: torch.Size) -> tuple[Any, Any] | None:
    """The operands of a product before views took their outer dims as one, where these are those of `shape`, too."""
    a, b = node.args
    if not (isinstance(a, Node) and is_view(a)):
        return None
    dims, outer = {_value(arg).dim() for arg in (a, b)}, shape[:-2]
    source = a.args[0]
    if dims == {2}:
        same = len(shape) >= 3 and shape[:-1] == _value(source).shape[:-1]
        return (source, b) if same else None
    if dims != {3} or not (isinstance(b, Node) and is_view(b)) or len(shape) < 4:
        return None
    sources = (source, b.args[0])
    same = all(_value(one).shape == (*outer, *_value(arg).shape[1:]) for one, arg in zip(sources, (a, b), strict=True))
    return sources if same else None


def _read_flat(node: Node, flat: _Flat) -> bool:
    """Whether its one reader begins by taking the outer dims as one."""
    reader = next(iter(node.users))
    if len(node.users) != 1 or node not in reader.args:
        return False
    return (flat is _rows and is_flattened(reader) and reader.args[0] is node) or (
        is_view(reader) and list(_value(reader).shape) == flat(node)
    )


def _undone(node: Any, shape: list[int]) -> bool:
    """Whether a view of `node` in that shape undoes it: a view, and nobody else reads it."""
    return is_view(node) and len(node.users) == 1 and list(_value(node.args[0]).shape) == shape


def _rows(node: Any) -> list[int]:
    """The shape of a tensor with all its rows in one dim."""
    *outer, last = _value(node).shape
    return [prod(outer), last]


def _matrices(node: Any) -> list[int]:
    """The shape of a tensor with all its matrices in one dim."""
    *outer, rows, last = _value(node).shape
    return [prod(outer), rows, last]


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
