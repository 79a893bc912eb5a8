"""Programs that take gradients themselves, by autograd or torch.func, which torch.export cannot trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from irwidget.private_torch import TorchDispatchMode, get_decompositions, make_fx, pytree, written_arguments

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import GraphModule

aten = torch.ops.aten
_APART: Any = (aten.silu_backward, aten.mish_backward, aten.native_batch_norm)
"""Taken apart at once: the first two stay whatever torch.export's table says, the last writes without saying so."""
_KEPT = (aten.silu_backward.default, aten.mish_backward.default)


def are_left(exported: ExportedProgram) -> bool:
    """Whether there are operators in it that `run_decompositions` keeps, and torch-mlir has not."""
    return any(node.target in _KEPT for node in exported.graph.nodes)


def program(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ExportedProgram:
    """The exported program of a model that takes gradients: it is run once with its inputs, and left as it was.

    The program takes all of them by position. Raises what PyTorch raises.
    """
    call, count = getattr(model, "forward", model), len(args)
    args = (*args, *kwargs.values())

    def forward(*given: Any) -> Any:
        return call(*given[:count], **dict(zip(kwargs, given[count:], strict=True)))

    own = pytree.tree_map_only(torch.Tensor, lambda x: x.detach().requires_grad_(x.requires_grad), args)
    written = _Written()
    try:
        with torch.random.fork_rng(devices=[]), written:
            table: Any = get_decompositions(_APART)
            traced = make_fx(forward, decomposition_table=table, record_stack_traces=True)(*own)
    finally:
        written.put_back()
    return torch.export.export(_named(traced, model), args, strict=False)


class _Written(TorchDispatchMode):
    """Keeps what is written over."""

    def __init__(self) -> None:
        super().__init__()
        self._before: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._kept: set[tuple[Any, ...]] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for tensor in pytree.tree_leaves(written_arguments(func, args, kwargs)):
            self._keep(tensor)
        return func(*args, **kwargs)

    def _keep(self, tensor: Any) -> None:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided:
            return
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if key not in self._kept:
            self._kept.add(key)
            self._before.append((tensor.detach(), tensor.detach().clone()))

    def put_back(self) -> None:
        """Write what there was, the last first: they may overlap."""
        for tensor, before in reversed(self._before):
            tensor.copy_(before)


def _named(traced: GraphModule, model: Any) -> GraphModule:
    """A traced model whose parameters and buffers have the names that they have in the model."""
    if not isinstance(model, torch.nn.Module):
        return traced
    names = {id(tensor): name for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    states: dict[str, Any] = {}
    for node in traced.graph.find_nodes(op="get_attr"):
        value = getattr(traced, str(node.target))
        node.target = name = names.get(id(value), str(node.target))
        states[name] = value
    return torch.fx.GraphModule(states, traced.graph)
