"""What Inductor's joint graph leaves out: numbers that change nothing, and views that undo each other.

See docs/spyre-rules.md: Op selection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from irwidget.private_torch import storage_id
from irwidget.spyre.notes import custom

aten = torch.ops.aten
_FULL = "aten.full.default"
_VIEWS = ("squeeze", "unsqueeze", "alias", "view", "slice", "t", "expand", "permute", "_unsafe_view", "reshape")
_EXPAND = "aten.expand.default"
_SAME = ("aten.alias.default", "aten.slice.Tensor")
_RESHAPES = ("aten.view.default", "aten.reshape.default")
_PERMUTES = ("aten.permute.default", "aten.t.default", "aten.transpose.int", "aten.mT.default", "aten.numpy_T.default")
_NEUTRAL = {"aten.add.Tensor": 0, "aten.sub.Tensor": 0, "aten.mul.Tensor": 1, "aten.div.Tensor": 1}
_COMMUTES = ("aten.add.Tensor", "aten.mul.Tensor")


def leave_out(graph: GraphModule) -> None:
    """Fold tensors of one number, then leave out sums and products that change nothing, and views that do not."""
    constants = _folded(graph)
    nodes: list[Node] = list(graph.graph.nodes)
    kept_apart = [n for n in nodes if n.op == "placeholder"] + nodes[-1].all_input_nodes
    returned = frozenset(storage_id(n.meta["val"]) for n in kept_apart if isinstance(n.meta.get("val"), torch.Tensor))
    for node in nodes:
        kept = _kept(node, constants, returned) if str(node.target) in _NEUTRAL else None
        if kept is None:
            continue
        if kept.op == "call_function":
            kept.meta["custom"] = {**custom(kept), **_origin(node)}
        graph.meta.setdefault("aliases", {})[storage_id(node.meta["val"])] = kept
        node.replace_all_uses_with(kept)
        graph.graph.erase_node(node)
    for node in list(graph.graph.nodes):
        _leave_out_view(graph, node)
        _leave_out_join(graph, node, returned)
    graph.graph.eliminate_dead_code()


def _folded(graph: GraphModule) -> dict[Node, float]:
    """Tensors of one number, each made anew as such; one that is seen in several views stays as it is.

    What only others of them read is none of these.
    """
    values: dict[Node, tuple[torch.Tensor, Node]] = {}
    for node in graph.graph.nodes:
        found = _value_of(node, values)
        if found is not None:
            values[node] = found
    values = {node: found for node, found in values.items() if not node.users or not values.keys() >= node.users.keys()}
    seen = Counter(root for _, root in values.values())
    made: dict[Node, float] = {}
    for node, (value, root) in values.items():
        fake = node.meta["val"]
        if seen[root] > 1 or not fake.is_contiguous() or fake.dtype == torch.uint8:  # as Inductor
            continue
        if str(node.target) == _FULL:
            made[node] = float(node.args[1])  # pyright: ignore[reportArgumentType]
            continue
        with graph.graph.inserting_after(node):
            whole = graph.graph.call_function(aten.full.default, (list(fake.shape), value.item()))
        whole.meta = {**node.meta, "custom": {**custom(node), **_origin(node)}}
        made[whole] = float(value.item())
        node.replace_all_uses_with(whole)
        graph.graph.erase_node(node)
    return made


def _value_of(node: Node, values: Mapping[Node, tuple[torch.Tensor, Node]]) -> tuple[torch.Tensor, Node] | None:
    """The one number that fills a tensor, and the node whose memory it is."""
    fake = node.meta.get("val")
    if node.op != "call_function" or not isinstance(fake, torch.Tensor):
        return None
    if str(node.target) == _FULL:
        number: Any = node.args[1]
        return torch.full([1], number, dtype=fake.dtype), node
    given = node.all_input_nodes
    if not given or any(one not in values for one in given):
        return None
    packet = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    if packet in _VIEWS:
        return values[given[0]]
    if torch.Tag.pointwise not in getattr(node.target, "tags", ()) or custom(node).get("in_place"):
        return None
    call: Any = node.target
    args = [values[one][0] if isinstance(one, Node) else one for one in node.args]
    kwargs = {name: value for name, value in node.kwargs.items() if name != "memory_format"}
    return call(*args, **kwargs).to(fake.dtype), node


def _kept(node: Node, constants: Mapping[Node, float], returned: frozenset[int]) -> Any:
    """The operand that a sum, difference, product or quotient is; None where it is another, or another's memory."""
    number, (a, b) = _NEUTRAL[str(node.target)], node.args[:2]
    if node.kwargs or not (isinstance(a, Node) and isinstance(b, Node)):
        return None
    if constants.get(b) == number:
        kept = a
    elif constants.get(a) == number and str(node.target) in _COMMUTES:
        kept = b
    else:
        return None
    aliased = storage_id(node.meta["val"]) in returned and storage_id(kept.meta["val"]) in returned
    return None if aliased or not _same(node, kept) else kept


def _leave_out_view(graph: GraphModule, node: Node) -> None:
    """Two views in a row that undo each other, and one that changes nothing."""
    target = str(node.target)
    source: Any = node.args[0] if node.args else None
    if not isinstance(source, Node) or any(user.op == "output" for user in node.users):
        return
    for pair in (_RESHAPES, _PERMUTES):
        if target in pair and str(source.target) in pair and len(source.users) == 1:
            outer: Any = source.args[0]
            if _same(node, outer) and not custom(source).get("fused"):  # a pattern's is there too late
                node.replace_all_uses_with(outer)
                graph.graph.erase_node(node)
                graph.graph.erase_node(source)
                return
    size: Any = node.args[1] if len(node.args) > 1 else None
    written = target == _EXPAND and list(size) == list(source.meta["val"].shape)  # a -1 in it is another view
    mine = target in _RESHAPES or ((target in _SAME or written) and "origin" not in custom(node))
    if not mine or not _same(node, source):
        return
    if written and source.op == "call_function":
        source.meta["custom"] = {"aten": "expand", **custom(source)}  # by which LX planning knows it from there on
    node.replace_all_uses_with(source)
    graph.graph.erase_node(node)


def _leave_out_join(graph: GraphModule, node: Node, returned: frozenset[int]) -> None:
    """All parts of one split that nobody else reads, joined again along its dim, which both are given alike."""
    parts: Any = node.args[0] if str(node.target) == "aten.cat.default" else ()
    split: Any = parts[0].args[0] if parts and parts[0].target is getitem else None
    if split is None or str(split.target) != "aten.split_with_sizes.default" or split.args[2:] != node.args[1:]:
        return
    source, sizes = split.args[:2]
    whole = [(part.target, part.args) for part in parts] == [(getitem, (split, i)) for i in range(len(sizes))]
    alone = len(split.users) == len(parts) and all(len(part.users) == 1 for part in parts)
    aliased = returned.issuperset(storage_id(one.meta["val"]) for one in (node, source))
    if len(node.args) > 1 and whole and alone and not aliased and _same(node, source):
        node.replace_all_uses_with(source)
        graph.graph.erase_node(node)


def _same(a: Node, b: Node) -> bool:
    x, y = a.meta["val"], b.meta["val"]
    return (x.shape, x.stride(), x.dtype) == (y.shape, y.stride(), y.dtype)


def _origin(node: Node) -> dict[str, Any]:
    """The name of what is left out, which what stays in its place has."""
    return {"origin": custom(node).get("origin", node.target.overloadpacket.__name__)}  # pyright: ignore
