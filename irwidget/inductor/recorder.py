"""Keeps what every pass of torch.compile leaves. Lives in a copy of the kernel.

`graphs`, `scheduling` and `codegen` tell it: each puts itself around functions of PyTorch's (`private.SITES`), which do
what they always do.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from typing import Any

from irwidget import phases
from irwidget.inductor import printing
from irwidget.inductor.data import (
    DOES,
    Direction,
    FusionRejection,
    InductorStage,
    InductorText,
    Kernel,
    MemoryEstimate,
    Moment,
    Phase,
    Rewrite,
)
from irwidget.inductor.schedule import Drawn
from irwidget.trace import Location


class Recorder:
    """What has been seen of one compilation so far."""

    def __init__(self, *, snapshots: bool = False) -> None:
        self.stages: list[InductorStage] = []
        self.kernels: list[Kernel] = []
        self.drawn: list[Drawn] = []
        """The final schedules."""
        self.fusion_rejections: list[FusionRejection] = []
        self.fusions = 0
        self.memory: list[MemoryEstimate] = []
        self.unfused: dict[tuple[int, Direction], tuple[Moment, ...]] = {}
        """Memory of the graphs as they came."""
        self.rewrites: list[Rewrite] = []
        self.frozen: dict[int, dict[str, Any]] = {}
        """By graph, the parameters that may become constants, by their inputs' names."""
        self.phase: Phase = "dynamo"
        self.graph = -1
        self.direction: Direction = ""
        self.root: Any = None
        """The FX graph that passes run on now, of which theirs may be a part."""
        self.restarted: set[int] = set()
        """The graphs that Dynamo gave up, to begin anew."""
        self.compiled: set[tuple[int, Direction]] = set()
        """The graphs, and halves of graphs, that Inductor was given."""
        self.node: Any = None
        """The FX node that is being lowered."""
        self.lowered = ""
        """Its line, when it is the one that cannot be lowered."""
        self.broken: tuple[Exception, Location | None, str] | None = None
        """What a pattern raised when it rewrote a node, with the node's place and line."""
        self.began = time.perf_counter()
        self.snapshots: dict[int, Any] | None = {} if snapshots else None
        """Copies of the FX graphs by the numbers of their stages, where they are to be executed."""

    def say(self, phase: Phase) -> None:
        """Tell who waits which phase begins."""
        phases.entering(DOES[phase])

    def add(
        self,
        name: str,
        phase: Phase,
        content: InductorText,
        language: str = "fx",
        *,
        seconds: float = -1,
        options: str = "",
        subgraph: str = "",
    ) -> None:
        """Keep a text as the IR after a pass. Without `seconds`, it took as long as has passed since the last one."""
        self.phase = phase
        took = seconds if seconds >= 0 else time.perf_counter() - self.began
        graph = max(self.graph, 0)
        stage = InductorStage(name, phase, language, content, graph, self.direction, took, options, subgraph)
        self.stages.append(stage)
        self.began = time.perf_counter()

    def add_graph(self, name: str, phase: Phase, module: Any, *, seconds: float = -1, options: str = "") -> None:
        """Keep an FX graph."""
        took = seconds if seconds >= 0 else time.perf_counter() - self.began
        if self.snapshots is not None:
            self.snapshots[len(self.stages)] = snapshot(module)
        self.add(name, phase, printing.graph(module), seconds=took, options=options)

    @contextlib.contextmanager
    def unexecuted(self) -> Generator[None]:
        """While this is open graphs are shown and not executed."""
        snapshots, self.snapshots = self.snapshots, None
        try:
            yield
        finally:
            self.snapshots = snapshots

    def begin_graph(self, module: Any) -> None:
        """Dynamo has made another graph."""
        self.graph += 1
        self.direction = ""
        self.add_graph("dynamo", "dynamo", module)


def snapshot(module: Any) -> Any:
    """A graph module with a graph of its own, as those that it calls; parameters and constants are shared."""
    import torch

    copied = torch.fx.Graph()
    copied.output(copied.graph_copy(module.graph, {}))
    made = torch.fx.GraphModule(module, copied)
    for name, part in module.named_children():
        if isinstance(part, torch.fx.GraphModule) and hasattr(made, name):
            setattr(made, name, snapshot(part))
    return made
