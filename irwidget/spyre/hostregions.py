"""ATen ops on values that no device format holds, as calls on the host (docs/spyre-rules.md: Host module)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from irwidget.errors import UnsupportedError
from irwidget.private_torch import pytree
from irwidget.spyre.formats import device_format, dtype_name
from irwidget.spyre.notes import custom


class HostRegion:
    """ATen ops as one call: tensors that the device can have come in, one that it can have comes out."""

    def __init__(self, body: GraphModule, reason: str) -> None:
        self.body, self.reason = body, reason
        names = [_name(node) for node in body.graph.nodes if node.op == "call_function"]
        self.__name__ = "host_" + "_".join(dict.fromkeys(names))

    def __call__(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.body(*tensors)

    def __repr__(self) -> str:
        return self.__name__

    def statements(self, arguments: Sequence[str], result: str) -> list[str]:
        """The ops as Python, one a line, the last of them under the name `result`."""
        given = iter(arguments)
        names: dict[Node, str] = {}
        lines: list[str] = []
        for node in self.body.graph.nodes:
            if node.op == "placeholder":
                names[node] = next(given)
            elif node.op == "get_attr":
                names[node] = str(node.target)
            elif node.op == "call_function":
                names[node] = f"{result}_{node.name}"
                lines.append(f"{names[node]} = {_call(node, names)}")
        last = lines.pop().partition(" = ")[2]
        return [*lines, f"{result} = {last}"]


def gather_host_regions(module: GraphModule) -> GraphModule:
    """Of each value that the device can have and that is made of one that it cannot, all ops in between as one call.

    What several such values are made of is computed for each. Raises UnsupportedError where that would draw random
    numbers twice.
    """
    nodes: list[Node] = list(module.graph.nodes)
    unheld: dict[Node, str] = {}
    for node in nodes:
        of = [unheld[given] for given in node.all_input_nodes if given in unheld]
        several = node.op == "call_function" and not isinstance(node.meta.get("val"), torch.Tensor)
        why = _why_unheld(node) or (of[0] if of and several else "")
        if why and node.op in ("call_function", "get_attr"):
            unheld[node] = why
    ends = [n for n in nodes if n.op == "call_function" and n not in unheld and unheld.keys() & n.all_input_nodes]
    if not ends:
        return module
    taken: dict[Node, Node] = {}
    for end in ends:
        members = _made_of(end, unheld)
        for node in members:
            random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
            if random and taken.setdefault(node, end) is not end:
                raise UnsupportedError(f"{_name(node)}: {unheld[node]}, and two values are made of it.{_place(node)}")
        reason = next(unheld[node] for node in members if node in unheld)
        _replace(module, end, [n for n in nodes if n in members], reason)
    module.graph.eliminate_dead_code()
    module.recompile()
    _propagate(module)
    return module


def _why_unheld(node: Node) -> str:
    """Why the device cannot have the value of a node, or one of its values; empty where it can."""
    for value in pytree.tree_leaves(node.meta.get("val")):
        if isinstance(value, torch.Tensor):
            try:
                device_format(dtype_name(value.dtype))
            except UnsupportedError:
                return f"{dtype_name(value.dtype)} has no device format"
    return ""


def _made_of(end: Node, unheld: dict[Node, str]) -> set[Node]:
    found, open_ = {end}, [end]
    while open_:
        for node in open_.pop().all_input_nodes:
            if node in unheld and node not in found:
                found.add(node)
                open_.append(node)
    return found


def _replace(module: GraphModule, end: Node, members: list[Node], reason: str) -> None:
    """Put one call in the place of `end`."""
    body = Graph()
    outside = list(dict.fromkeys(i for node in members for i in node.all_input_nodes if i not in members))
    made: dict[Node, Node] = {}
    for node in outside:
        made[node] = body.placeholder(node.name)
    for node in members:
        made[node] = body.node_copy(node, made.__getitem__)
    body.output(made[end])
    region: Any = HostRegion(GraphModule(module, body), reason)
    with module.graph.inserting_before(end):
        call = module.graph.call_function(region, tuple(outside))
    call.meta = dict(end.meta)
    end.replace_all_uses_with(call)


def _propagate(module: GraphModule) -> None:
    """Give every value anew: what a call returns is no view of what it is given."""
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        if isinstance(node.target, HostRegion):
            value = node.meta["val"]
            node.meta["val"] = value.clone(memory_format=torch.contiguous_format)
            continue
        target: Any = node.target
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: n.meta.get("val", n))  # pyright: ignore
        if any(isinstance(one, Node) for one in pytree.tree_leaves((args, kwargs))):
            continue  # it is given a branch or a body
        node.meta["val"] = target(*args, **kwargs)


def _place(node: Node) -> str:
    file, line = custom(node).get("line", ("", 0))
    return f"\n  at {file}:{line}" if file else ""


def _name(node: Node) -> str:
    packet = getattr(node.target, "overloadpacket", None)
    return getattr(packet or node.target, "__name__", str(node.target))


def _call(node: Node, names: dict[Node, str]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, Node):
            return names[value]
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(text, value))}]"
        return "'cpu'" if isinstance(value, torch.device) else repr(value)

    parts = [*map(text, node.args), *(f"{key}={text(value)}" for key, value in node.kwargs.items())]
    if _name(node) == "getitem":
        return f"{parts[0]}[{parts[1]}]"
    return f"torch.ops.{str(node.target).replace('irwidget_spyre', 'spyre')}({', '.join(parts)})"
