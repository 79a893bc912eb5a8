"""Functions that take gradients, of autograd or of `torch.func`, or that `torch.vmap` maps over a dim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter

from irwidget.private_torch import FunctionalTensorMode, dispatch_functionalize, is_transformed, make_fx, pytree

_SAID = (
    "FunctionalTensor on its own",
    "TensorWrapper",
    "Unable to cast NotImplemented",
    "does not require grad",
    "Cannot access data pointer of Tensor",
)
"""What PyTorch says where such a function is made functional while it is traced."""


def may_be_transformed(error: Exception) -> bool:
    """Whether a function that could not be traced at once may be one of these."""
    return any(said in str(error) for said in _SAID)


def has_transformed(graph: GraphModule) -> bool:
    """Whether a value in a graph is what only the function within a transform sees."""
    made = pytree.tree_leaves([node.meta.get("val") for node in graph.graph.nodes])
    held = [getattr(graph, str(node.target)) for node in graph.graph.find_nodes(op="get_attr")]
    return any(isinstance(one, torch.Tensor) and is_transformed(one) for one in (*made, *held))


def trace_transformed(call: Callable[..., Sequence[Any]], fakes: Sequence[torch.Tensor]) -> GraphModule:
    """The graph of what is left of the transforms: of ATen's operators, without writes into tensors.

    `call` takes flat tensors and returns flat values, its own arguments among them. Raises what PyTorch raises.
    """
    with torch.enable_grad():
        plain = make_fx(call)(*fakes)
    again = Interpreter(plain)
    again.extra_traceback = False
    return make_fx(dispatch_functionalize(again.run, mode=FunctionalTensorMode()))(*fakes)
