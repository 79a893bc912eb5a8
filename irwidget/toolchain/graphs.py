"""Graphs that passes print: `view-op-graph` writes DOT to standard error, among what else is said there."""

from __future__ import annotations

import re
from collections.abc import MutableMapping

PASS = "view-op-graph"

_GRAPH = re.compile(r"^(?:strict )?(?:di)?graph\b.*?^\}\n?", re.MULTILINE | re.DOTALL)


def take(printed: str, attachments: MutableMapping[str, bytes]) -> str:
    """Keep the graphs in a text as `view-op-graph.dot`, `view-op-graph-2.dot` ...; returns the rest of it."""
    for graph in _GRAPH.findall(printed):
        number = sum(name.startswith(PASS) for name in attachments) + 1
        attachments[f"{PASS}-{number}.dot" if number > 1 else f"{PASS}.dot"] = graph.encode()
    return _GRAPH.sub("", printed)
