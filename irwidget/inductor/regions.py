"""Regions that are compiled once, inlined where a graph runs on values: PyTorch's operator then has no gradients."""

from __future__ import annotations

from typing import Any

import torch


def is_region(target: Any) -> bool:
    """Whether an FX node's target is PyTorch's operator for a region."""
    return target is torch.ops.higher_order.invoke_subgraph


def inlined(subgraph: Any, identifier: str, *operands: Any) -> Any:
    """What the operator returns."""
    return subgraph(*operands)
