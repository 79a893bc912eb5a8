"""Graphs that passes print: `view-op-graph` writes DOT to standard error, past MLIR's diagnostics and past Python."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, MutableMapping

PASS = "view-op-graph"


_GRAPH = re.compile(r"^(?:strict )?(?:di)?graph\b.*?^\}\n?", re.MULTILINE | re.DOTALL)


def keep(work: Callable[[], None], attachments: MutableMapping[str, bytes]) -> None:
    """Run the pass and keep what it prints as attachments."""
    take(_standard_error(work), attachments)


def take(printed: str, attachments: MutableMapping[str, bytes]) -> str:
    """Keep the graphs in a text as `view-op-graph.dot`, `view-op-graph-2.dot` ...; returns the rest of it."""
    for graph in _GRAPH.findall(printed):
        number = sum(name.startswith(PASS) for name in attachments) + 1
        attachments[f"{PASS}-{number}.dot" if number > 1 else f"{PASS}.dot"] = graph.encode()
    return _GRAPH.sub("", printed)


def _standard_error(work: Callable[[], None]) -> str:
    """What native code writes to the process's standard error meanwhile."""
    before = os.dup(2)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                work()
            finally:
                os.dup2(before, 2)
            file.seek(0)
            return file.read().decode(errors="replace")
    finally:
        os.close(before)
