"""Rewrites of the FX graph after decomposition (docs/spyre-rules.md: Op selection)."""

from __future__ import annotations

from operator import getitem
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from irwidget.private_torch import pytree, storage_id
from irwidget.spyre import flattened, neutral
from irwidget.spyre.notes import custom

_FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def rewrite(graph: GraphModule, mutated: int = 0) -> GraphModule:
    """Join casts, move nodes to their users, drop copies that change nothing, name matmuls, fold `mm + c` into addmm.

    The last `mutated` outputs are the new values of inputs. The graph that is given stays as it is: it is a dump.
    """
    graph = _copied(graph)
    neutral.leave_out(graph)
    _join_casts(graph)
    flattened.flatten(graph)
    _move_to_users(graph, mutated)
    _drop_copies(graph, mutated)
    _drop_whole_scatters(graph)
    flattened.batch(graph)
    for node in graph.graph.nodes:
        if _name(node) == "matmul":
            _name_matmul(node)
    for node in graph.graph.nodes:
        if node.op == "call_function" and str(node.target) == "aten.add.Tensor" and not node.kwargs.get("alpha"):
            _fold_addmm(node)
    graph.recompile()
    return graph


def _copied(graph: GraphModule) -> GraphModule:
    """The same graph with nodes of its own; what they hold is shared."""
    made, nodes = Graph(), dict[Node, Node]()
    last = made.output(made.graph_copy(graph.graph, nodes))
    for old in graph.graph.nodes:
        (last if old.op == "output" else nodes[old]).meta = dict(old.meta)
    module = GraphModule(graph, made)
    module.meta = dict(graph.meta)
    return module


def _join_casts(graph: GraphModule) -> None:
    """Inductor's rule: of two casts between floating types, the second casts what the first would have."""
    for node in reversed(graph.graph.nodes):
        inner: Any = node.args[0] if _is_cast(node) else None
        if not (isinstance(inner, Node) and _is_cast(inner) and len(inner.users) == 1):
            continue
        if _value(inner).itemsize < _value(node).itemsize:
            continue  # it rounds
        node.args = inner.args
        if _value(inner.args[0]).dtype == _value(node).dtype:
            node.target, node.kwargs = torch.ops.aten.clone.default, {}
            node.meta["custom"] = {"origin": "_to_copy", **custom(node)}
        graph.graph.erase_node(inner)


def _is_cast(node: Node) -> bool:
    floating = str(node.target) == "aten._to_copy.default" and node.meta["val"].dtype in _FLOATING
    return floating and node.meta["val"].stride() == _value(node.args[0]).stride()


def _value(node: Any) -> torch.Tensor:
    return node.meta["val"]


def _move_to_users(graph: GraphModule, mutated: int) -> None:
    """Inductor's rule: what a node reads stands right before it, in the order of its arguments.

    Where inputs are written, that is by copies at the end: what these and the results read stays where it is.
    """
    seen: set[Node] = set()
    for node in reversed(graph.graph.nodes):
        seen.add(node)
        for read in () if mutated and node.op == "output" else node.all_input_nodes:
            if read.op == "call_function" and read.target is not getitem and seen.issuperset(read.users):
                node.prepend(read)


def _drop_copies(graph: GraphModule, mutated: int) -> None:
    """Inductor's rule: a copy with the size and strides of its source is its source, unless outputs would alias."""
    nodes = list(graph.graph.nodes)
    inputs = {storage_id(n.meta["val"]) for n in nodes if n.op == "placeholder"}
    # Upstream's graph still has the strides of what these are copied into.
    moved = {storage_id(n.meta["val"]) for n in nodes if _name(n) == "copied"}
    returned = [a for n in nodes if n.op == "output" for a in n.args[0]]
    results = [a for a in returned[: len(returned) - mutated] if isinstance(a, Node)]
    outputs = {storage_id(n.meta["val"]) for n in results}
    for node in nodes:
        if not _is_copy(node):
            continue
        if custom(node).get("aten") == "pow" or custom(node).get("kept"):  # a power of 1.0 is computed
            continue
        source: Any = node.args[0]
        made, given = node.meta["val"], source.meta["val"]
        moves = made.stride() != given.stride() and not _is_in_place(node)
        if moves or (made.shape, made.dtype) != (given.shape, given.dtype):
            continue
        if storage_id(given) in moved and node.kwargs.get("memory_format") is torch.contiguous_format:
            continue
        if storage_id(made) in outputs and storage_id(given) in inputs | outputs:
            continue
        graph.meta.setdefault("aliases", {})[storage_id(made)] = source
        node.replace_all_uses_with(source)
        graph.graph.erase_node(node)


def _is_copy(node: Node) -> bool:
    """Whether its result has the values of its first operand."""
    target, among = str(node.target), node.args[1] if len(node.args) > 1 else ()
    if target in ("aten.repeat.default", "aten.constant_pad_nd.default"):
        return set(among) <= {1 if target == "aten.repeat.default" else 0}  # pyright: ignore[reportArgumentType]
    return target in ("aten.clone.default", "aten._to_copy.default")


def _is_in_place(node: Node) -> bool:
    """Whether a copy that has the strides of its place, as its source does, is only read to be written there."""
    pieces = all(str(u.target) == "aten.slice_scatter.default" and u.args[0] is not node for u in node.users)
    return bool(custom(node).get("in_place")) and pieces


def _drop_whole_scatters(graph: GraphModule) -> None:
    """Inductor's rule: what is scattered over all of a tensor is the result."""
    for node in list(graph.graph.nodes):
        if str(node.target) != "aten.slice_scatter.default":
            continue
        piece: Any = node.args[1]
        value = node.meta["val"]
        made = [part for user in node.users for part in pytree.tree_leaves(user.meta.get("val"))]
        viewed = any(isinstance(part, torch.Tensor) and storage_id(part) == storage_id(value) for part in made)
        returned = any(user.op == "output" for user in node.users)
        if piece.meta["val"].shape == value.shape and piece.meta["val"].dtype == value.dtype and not viewed | returned:
            node.replace_all_uses_with(piece)
            graph.graph.erase_node(node)


def _name(node: Node) -> str:
    return str(node.target).split(".")[1] if str(node.target).startswith("irwidget_spyre.") else ""


def _name_matmul(node: Node) -> None:
    """`mm`, `bmm`, or no name where the front end makes the batched node itself.

    A 3-D by 2-D product is a view, mm, view that is turned back into a bmm with a shared weight; one of rank 4
    and more, also a convolution's of several images, is a bmm on collapsed dims that is turned back into an N-D
    one. Both lose their name.
    """
    note = dict(custom(node))
    a, b = (_rank(arg) for arg in node.args[:2])
    note["convolution"] = "conv" in str(note.get("origin"))
    whole = b >= 3
    if note.get("origin") == "matmul":
        whole = whole or not flattened.is_flattened(node)
        note["origin"] = "mm" if (a, b) == (2, 2) else "bmm" if a == 3 and whole else ""
        if a >= 3 and b == 2:
            note["shared_weight"] = True
    elif a >= 4 and b >= 4 and node.meta["val"].shape[0] > 1:
        note["origin"] = ""
    if a >= 3 and whole:
        note["expands"] = note.get("batches") or custom(node).get("origin") not in ("bmm", "einsum")
    note["unit_batch"] = note.get("shared_weight") or _is_direct(node)
    node.meta["custom"] = note


def _is_direct(node: Node) -> bool:
    """Whether a batch of one is multiplied by an input as it is, with no view around that would have flattened it."""
    a, b = node.args[:2]
    (reader, *others) = (*node.users, None)
    base = b.args[0] if isinstance(b, Node) and str(b.target) == "aten.expand.default" else b
    split = not others[1:] and flattened.is_view(reader) and _rank(reader) > 3
    given = isinstance(base, Node) and base.op in ("placeholder", "get_attr")
    return _rank(a) == 3 == _rank(b) and given and not split and not flattened.is_view(a)


def _rank(value: Any) -> int:
    return value.meta["val"].dim()


def _fold_addmm(node: Node) -> None:
    """`add(mm, c)` where c spreads over the product becomes addmm, whose addition reads c first.

    Of a product added to itself c is computed once more: Inductor's rule, which the real front end has from it.
    """
    x, y = node.args[0], node.args[1]
    for product, other in ((y, x), (x, y)):
        if not (isinstance(product, Node) and isinstance(other, Node)) or _name(product) != "matmul":
            continue
        value, shape = other.meta["val"], product.meta["val"].shape
        if len(product.users) != 1 or len(shape) != 2 or _rank(product.args[0]) != 2 or _rank(product.args[1]) != 2:
            continue
        if value.dtype != product.meta["val"].dtype or not _spreads(value.shape, shape):
            continue
        if other is product:
            with node.graph.inserting_before(product):
                other = node.graph.node_copy(product)
                other.meta["val"] = product.meta["val"].clone()
        node.args = (other, product)
        node.prepend(product)  # which stands for the one op at the place of the sum
        for changed in (product, node) if "origin" in custom(node) else (product,):  # a plain sum keeps its name, too
            changed.meta["custom"] = {**custom(changed), "origin": "addmm"}
        return


def _spreads(shape: torch.Size, over: torch.Size) -> bool:
    if len(shape) > len(over):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(over), strict=False))
