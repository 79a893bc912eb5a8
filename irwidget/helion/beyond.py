"""Lanes beyond the end of a dim that scans and reductions with a function of the user's combine with those inside.

Helion puts `other` (0 where a kernel says nothing) into those that `hl.reduce` combines, and masks nothing of what is
scanned, where a reversed scan begins with them. Its eager mode has no such lanes, nor has a dim that the module takes
whole, which Triton pads to a power of two.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.node import map_arg

from irwidget.helion import private
from irwidget.helion.aten import restored_arguments
from irwidget.helion.bound import Binding
from irwidget.helion.symbols import static_value
from irwidget.private_torch import OpOverload, disable_current_modes

_TRIED = (-2.5, 0.0, 1.0, 3.0)
"""Values that `other` must leave as they are to be taken for one that says nothing."""


def combined(binding: Binding, node: Any) -> str:
    """Which lanes beyond the end Helion's Triton combines by a scan or a reduction, in words; empty where none count.

    Call inside `binding.entered()`.
    """
    said = [_of_dim(binding, node, dim) for dim in _dims(node) if _count(binding, node)]
    return next(filter(None, said), "")


def _tiles(operand: Any) -> list[Any]:
    return list(operand) if isinstance(operand, (list, tuple)) else [operand]


def _dims(node: Any) -> list[int]:
    """The dims along which a node combines elements, of which it may take all as one row."""
    rank = _tiles(node.args[1])[0].meta["val"].ndim
    return [*range(rank)] if node.args[2] is None else [node.args[2] % rank]


def _of_dim(binding: Binding, node: Any, dim: int) -> str:
    size = _tiles(node.args[1])[0].meta["val"].shape[dim]
    block = private.block_behind(binding.env, size)
    if block is None:
        return ""
    info = binding.env.block_sizes[block]
    extent, lanes = static_value(binding, info.size), binding.block_sizes.get(block)
    if not info.reduction:
        whole = isinstance(extent, int) and lanes is not None and extent % lanes == 0
        return "" if whole else "the lanes of a tile that lie beyond the end of its loop"
    if not isinstance(extent, int) or extent < 1:
        return ""
    padded = 1 << (extent - 1).bit_length()
    return "" if padded == extent else f"the {padded} lanes to which it pads a dim of {extent}"


def _count(binding: Binding, node: Any) -> bool:
    """Whether what is combined depends on lanes beyond the end."""
    if private.op_name(node) == "_associative_scan":
        return len(node.args) > 3 and bool(node.args[3])
    masked = _tiles(node.args[1])
    # Helion masks nothing that is 0 there as it was read
    others = [one.args[1] if private.op_name(one) == "_mask_to" else 0 for one in masked]
    try:
        with disable_current_modes():  # Helion's, in which tensors have no values
            return not _neutral(binding.infos[node.args[0]].graph, others, [one.meta["val"].dtype for one in masked])
    except Exception:  # whatever the user's function computes, it is not known
        return True


def _neutral(graph: torch.fx.Graph, others: list[Any], dtypes: list[torch.dtype]) -> bool:
    """Whether a function of two elements (of tuples: all of one, then all of the other) gives each beside `others`."""
    for tried in _TRIED:
        own, beyond = (
            [torch.full([1], value, dtype=torch.float64).to(dtype) for value, dtype in zip(values, dtypes, strict=True)]
            for values in ([tried] * len(dtypes), others)
        )
        for given in ([*own, *beyond], [*beyond, *own]):
            made = _evaluated(graph, given)
            if not all(torch.equal(one.reshape(1).to(like.dtype), like) for one, like in zip(made, own, strict=True)):
                return False
    return True


def _evaluated(graph: torch.fx.Graph, given: list[torch.Tensor]) -> list[torch.Tensor]:
    """What a graph of ATen nodes computes. Raises NotImplementedError for one of others."""
    values: dict[Any, Any] = {}
    rest = iter(given)
    for node in graph.nodes:
        if node.op == "placeholder":
            values[node] = next(rest)
        elif node.op == "output":
            return [values[one] for one in _tiles(node.args[0])]
        elif isinstance(node.target, OpOverload):
            args, kwargs = map_arg(restored_arguments(node), values.__getitem__)
            values[node] = node.target(*args, **kwargs)
        else:
            raise NotImplementedError(private.op_name(node))
    return []
