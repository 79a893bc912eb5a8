"""The browser's code in Node, to be asked what it makes of packed lowerings."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from irwidget.trace import Trace
from irwidget.views.packing import pack

JS = Path(__file__).parents[2] / "js"


class Peer:
    """A process that answers for one lowering after the other; see js/test/peer.ts."""

    def __init__(self, folder: Path) -> None:
        made = folder / "peer.mjs"
        subprocess.run(
            [JS / "node_modules/.bin/esbuild", JS / "test/peer.ts", "--bundle", "--platform=node",
             "--format=esm", f"--outfile={made}", "--log-level=warning"],
            check=True,
        )  # fmt: skip
        self._process = subprocess.Popen(["node", made], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, traces: Sequence[Trace]) -> Any:
        """What the viewer says of each trace, pair by pair, and of each distinct line."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(base64.b64encode(pack(traces)).decode() + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()
