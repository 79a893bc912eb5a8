"""What a copy of the kernel sends back of a compilation: plain data, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from irwidget.trace import Location

Phase = Literal["bytecode", "dynamo", "pre_grad", "joint", "partition", "post_grad", "loops", "code"]
PHASES: tuple[Phase, ...] = ("bytecode", "dynamo", "pre_grad", "joint", "partition", "post_grad", "loops", "code")
"""What torch.compile does to a graph, in order."""
Direction = Literal["", "forward", "backward"]
Lines = tuple[Location | None, ...]


@dataclass(frozen=True)
class InductorText:
    """IR with the user's line for each of its lines."""

    text: str
    places: Lines = ()


@dataclass(frozen=True)
class InductorStage:
    """The IR after one pass."""

    name: str
    phase: Phase
    language: str
    content: InductorText
    graph: int = 0
    """The number of Dynamo's graph, counted from 0."""
    direction: Direction = ""
    """Which part of a training graph it is; empty before it is cut in two, and for inference."""
    seconds: float = 0.0
    options: str = ""


@dataclass(frozen=True)
class Kernel:
    """A kernel that Inductor generated."""

    name: str
    language: Literal["python", "text"]
    """`python` for Triton, `text` for C++."""
    source: InductorText
    graph: int
    direction: Direction
    ops: tuple[str, ...]
    """The scheduler's nodes that it runs."""
    signature: Mapping[str, str] = field(default_factory=dict[str, str])
    """Triton's types of the arguments; `constexpr` for constants."""
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    divisible: tuple[str, ...] = ()
    """The arguments that are multiples of 16."""
    configs: tuple[Mapping[str, Any], ...] = ()
    """Block sizes, warps and pipeline stages to choose from; the first is taken."""

    @property
    def title(self) -> str:
        """Its name; with its graph and half where there are others, which may have kernels of that name."""
        graph = f", graph {self.graph}" if self.graph else ""
        return f"{self.name}{graph}{', ' + self.direction if self.direction else ''}"


@dataclass(frozen=True)
class InductorOp:
    """An operation of the schedule: a loop nest, or a call of a kernel that is not generated."""

    name: str
    kernel: str
    """The kernel that runs it, or what is called; empty when it makes no code."""
    kind: Literal["loops", "template", "extern", "fallback", "none"]
    group: str
    """The scheduler's node that it ended up in: operations of one group are one launch."""
    graph: int
    direction: Direction
    origins: tuple[str, ...]
    """The FX nodes that it computes."""
    targets: tuple[str, ...]
    """Their ATen operations."""
    places: tuple[Location, ...]
    """The user's lines that they come from."""
    reads: Mapping[str, int]
    """Buffers and their bytes; -1 where the size is not a number."""
    writes: Mapping[str, int]


@dataclass(frozen=True)
class FusionRejection:
    """Why the scheduler did not fuse two nodes, in its words."""

    first: tuple[str, ...]
    """The operations of the one node."""
    second: tuple[str, ...]
    reason: str
    round: int
    graph: int
    direction: Direction


@dataclass(frozen=True)
class Break:
    """A graph break: where Dynamo stopped a graph."""

    reason: str
    place: Location | None


@dataclass(frozen=True)
class Moment:
    """Memory after a step of the schedule, in bytes of buffers alive."""

    step: str
    alive: int


@dataclass(frozen=True)
class MemoryEstimate:
    """The estimate of Inductor for one graph."""

    graph: int
    direction: Direction
    peak: int
    moments: tuple[Moment, ...] = ()


@dataclass(frozen=True)
class Stopped:
    """What ended a compilation."""

    message: str
    phase: Phase
    place: Location | None
    node: str = ""


@dataclass(frozen=True)
class CapturedCompilation:
    """A compilation: what every pass left, and what is known about it."""

    stages: tuple[InductorStage, ...]
    kernels: tuple[Kernel, ...] = ()
    ops: tuple[InductorOp, ...] = ()
    fusion_rejections: tuple[FusionRejection, ...] = ()
    fusions: int = 0
    breaks: tuple[Break, ...] = ()
    guards: tuple[str, ...] = ()
    memory: tuple[MemoryEstimate, ...] = ()
    stopped: Stopped | None = None
    remarks: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    """Inductor's output code of each graph, forward and backward, in the order in which it was written."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """The text of the files that lines point into."""
    seconds: float = 0.0
    """For all of it, in the copy of the kernel."""
    processor: float = 0.0
    """Seconds of the processor of that."""
