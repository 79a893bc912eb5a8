"""Which results of a program have the memory of its inputs, as eager's have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from irwidget.private_torch import storage_id
from irwidget.spyre.formats import dtype_name
from irwidget.spyre.ir import BufferView
from irwidget.spyre.tensorspec import Input


def fake_of(node: Any) -> Any:
    """The fake value of a node; None of what is no node."""
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else None


def of_results(graph: torch.fx.Graph, inputs: Sequence[Input], mutated: Sequence[str]) -> tuple[BufferView | None, ...]:
    """Of each result of a graph that has the memory of an input, also of what was written there: where in it.

    `mutated` names the inputs whose new values the graph returns last.
    """
    (values,) = next(n.args for n in graph.nodes if n.op == "output")
    made = [fake_of(one) for one in values]  # pyright: ignore[reportGeneralTypeIssues, reportOptionalIterable]
    count = len(made) - len(mutated)
    named = {one.name: one for one in inputs}
    given = zip([n for n in graph.nodes if n.op == "placeholder"], named, strict=True)
    owners: dict[int, tuple[torch.Tensor, Input]] = {}
    for value, name in [*((fake_of(n), name) for n, name in given), *zip(made[count:], mutated, strict=True)]:
        if isinstance(value, torch.Tensor):
            owners.setdefault(storage_id(value), (value, named[name]))
    return tuple(_within(one, owners) for one in made[:count])


def _within(value: Any, owners: Mapping[int, tuple[torch.Tensor, Input]]) -> BufferView | None:
    """Where a result lies in the memory that it has from one of these, each what an input is or becomes.

    What one becomes may have other strides than the input has; then it is known of the whole only.
    """
    if not isinstance(value, torch.Tensor):
        return None
    owner, given = owners.get(storage_id(value), (None, None))
    if owner is None or given is None or owner.dtype != value.dtype:
        return None
    place = (tuple(value.shape), tuple(value.stride()), int(value.storage_offset()) - int(owner.storage_offset()))
    if tuple(owner.stride()) != given.stride:
        if place != (tuple(owner.shape), tuple(owner.stride()), 0):
            return None
        place = (given.size, given.stride, 0)
    return BufferView(given.name, *place, dtype_name(value.dtype))
