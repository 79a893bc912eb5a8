"""What tracing has noted at a node of a graph: `torch.fx.traceback.annotate`."""

from __future__ import annotations

from typing import Any

from torch.fx import Node


def custom(node: Node) -> dict[str, Any]:
    """By name: `origin`, the operator that it is a part of; `line`, the user's; and what rules need to know."""
    return node.meta.get("custom") or {}
