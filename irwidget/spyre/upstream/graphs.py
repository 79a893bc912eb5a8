"""A captured graph on its way to the front end's process: packed here, and there made ready for Inductor."""

from __future__ import annotations

import contextlib
import importlib
import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch
from irwidget.private_torch import NEEDED_TO_UNPICKLE_GRAPHS

if TYPE_CHECKING:
    from irwidget.spyre.capture import CapturedGraph
    from irwidget.spyre.hints import Hint

DEVICE = "spyre"


def packed(captured: CapturedGraph, options: Mapping[str, Any]) -> bytes:
    """The graph as bytes, with what its inputs look like and where its nodes come from; no values of tensors."""
    nodes = list(captured.graph.graph.nodes)
    notes = [node.meta.get("custom") or {} for node in nodes]
    out = io.BytesIO()
    torch.save(
        {
            "nodes": [_plain(node) for node in nodes],
            "constants": {n.target: getattr(captured.graph, str(n.target)) for n in nodes if n.op == "get_attr"},
            "inputs": [
                {
                    "size": i.size,
                    "stride": i.stride,
                    "dtype": i.dtype,
                    "layout": (i.layout.device_size, i.layout.stride_map, i.layout.format.name, i.layout.tag),
                    "dims": i.dims,
                }
                for i in captured.inputs
            ],
            "mutated": [k for k, i in enumerate(captured.inputs) if i.name in captured.mutated],
            "places": [(*note.get("line", ("", 0)), note.get("module", "")) for note in notes],
            "hints": [[_hint(one) for one in note.get("hints", ())] for note in notes],
            "options": dict(options),
        },
        out,
        pickle_protocol=pickle.HIGHEST_PROTOCOL,  # of what an older one takes, modules are none
    )
    return out.getvalue()


def _hint(one: Hint) -> tuple[int, dict[str, Any]]:
    """The number of a scope, and what is asked for in it, as it is called there."""
    asked: dict[str, Any] = {k: dict(v) for k, v in (("work_div", one.work_div), ("slices", one.slices)) if v}
    return one.scope, asked | ({"named_dims": list(one.named_dims)} if one.named_dims else {})


@dataclass(frozen=True, slots=True)
class _Ref:
    """A node among the arguments of another one."""

    name: str


def _plain(node: torch.fx.Node) -> tuple[Any, ...]:
    """A node without its graph. (A GraphModule that is unpickled is traced anew: what reads no input is gone.)"""
    of = private_torch.pytree.tree_map_only(torch.fx.Node, lambda n: _Ref(n.name), (node.args, node.kwargs))
    target = str(node.target) if isinstance(node.target, private_torch.OpOverload) else node.target
    return node.op, node.name, target, *of


def rebuilt(sent: Mapping[str, Any]) -> torch.fx.GraphModule:
    """The graph that `packed` has taken apart, node by node, by their names."""
    graph, made = torch.fx.Graph(), dict[str, torch.fx.Node]()
    for op, name, target, args, kwargs in sent["nodes"]:
        if op == "call_function" and isinstance(target, str):
            namespace, packet, overload = target.split(".")
            target = getattr(getattr(getattr(torch.ops, namespace), packet), overload)
        args, kwargs = private_torch.pytree.tree_map_only(_Ref, lambda ref: made[ref.name], (args, kwargs))
        made[name] = graph.create_node(op, target, args, kwargs, name)
    return torch.fx.GraphModule(sent["constants"], graph)


def unpacked(data: bytes) -> dict[str, Any]:
    """In the front end's process: what `packed` has packed."""
    with contextlib.suppress(ImportError):
        importlib.import_module(NEEDED_TO_UNPICKLE_GRAPHS)
    return torch.load(io.BytesIO(data), weights_only=False)  # from our own process


def prepared(sent: Mapping[str, Any]) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """In the front end's process: the graph over tensors of the device, and these; hints and named dims are its own.

    Raises ValueError where it takes no names of dims.
    """
    from irwidget.spyre.upstream import private, stub

    module = rebuilt(sent)
    for node, hints, (file, line, path) in zip(module.graph.nodes, sent["hints"], sent["places"], strict=True):
        if hints:
            node.meta["custom"] = {private.hint_key(scope): asked for scope, asked in hints}
        if file:
            node.meta["stack_trace"] = f'  File "{file}", line {line}, in {path or "forward"}\n'
    _on_device(module)
    _write_back(module, sent["mutated"])
    mode = private_torch.FakeTensorMode(shape_env=private_torch.ShapeEnv())
    fakes: list[torch.Tensor] = []
    for given in sent["inputs"]:
        with mode:
            dtype = getattr(torch, given["dtype"])
            fakes.append(torch.empty_strided(given["size"], given["stride"], dtype=dtype, device=DEVICE))
        size, strides, form, tag = given["layout"]
        arrangement = stub.ElementArrangement[tag]
        stub.set_layout(
            fakes[-1], stub.SpyreTensorLayout(list(size), list(strides), stub.DataFormats[form], arrangement)
        )
    named = [(fake, given["size"], given["dims"]) for fake, given in zip(fakes, sent["inputs"], strict=True)]
    if any(dims for _, _, dims in named):
        private.name_dims(named)
    return module, fakes


def _on_device(module: torch.fx.GraphModule) -> None:
    """What the graph makes on the host that it was captured on is made on the device."""

    def moved(value: Any) -> Any:
        return torch.device(DEVICE, 0) if isinstance(value, torch.device) else value

    for node in module.graph.nodes:
        node.args = private_torch.pytree.tree_map(moved, node.args)
        node.kwargs = private_torch.pytree.tree_map(moved, node.kwargs)
    module.recompile()


def _write_back(module: torch.fx.GraphModule, mutated: list[int]) -> None:
    """Inputs that are written to: their last values, which the graph returns, are copied into them instead."""
    if not mutated:
        return
    graph = module.graph
    output = next(n for n in graph.nodes if n.op == "output")
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    values = list(output.args[0])
    with graph.inserting_before(output):
        for i, value in zip(mutated, values[-len(mutated) :], strict=True):
            copied = value.args[:2] if value.target is torch.ops.aten.copy.default else ()
            source = copied[1] if copied and copied[0] is placeholders[i] else value
            graph.call_function(torch.ops.aten.copy_.default, (placeholders[i], source))
    output.args = ([value for value in values[: -len(mutated)] if isinstance(value, torch.fx.Node)],)
    graph.eliminate_dead_code()
    module.recompile()
