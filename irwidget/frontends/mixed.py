"""Products of tensors of two dtypes: torch.export lets them through, and eager PyTorch refuses them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_arg

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

_PRODUCTS = frozenset(
    ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "matmul", "linear", "convolution", "addbmm")
)


def refused(program: ExportedProgram) -> tuple[Node, Exception] | None:
    """The first operation that eager PyTorch refuses because of the dtypes of its operands, and what it says."""
    for node in program.graph.nodes:
        if node.op == "call_function" and str(getattr(node.target, "__name__", "")).split(".")[0] in _PRODUCTS:
            dtypes = {one.meta["val"].dtype for one in node.all_input_nodes if _is_tensor(one)}
            if len(dtypes) > 1 and (error := _error(node, None)) is not None:
                common = reduce(torch.promote_types, dtypes)
                if _error(node, common) is None:
                    return node, error
    return None


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _error(node: Node, dtype: torch.dtype | None) -> Exception | None:
    """What the operation raises on tensors of one element, of their own dtypes or all of the one given."""

    def small(one: Node) -> Any:
        value = one.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return value
        return torch.zeros([1] * value.dim(), dtype=dtype or value.dtype)

    target: Any = node.target
    try:
        target(*map_arg(node.args, small), **map_arg(node.kwargs, small))
    except Exception as error:
        return error
    return None
