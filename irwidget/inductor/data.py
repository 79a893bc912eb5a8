"""What a copy of the kernel sends back of a compilation: plain data, no torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from irwidget.trace import Location, Verdict

Phase = Literal["bytecode", "dynamo", "pre_grad", "joint", "partition", "post_grad", "loops", "code"]
PHASES: tuple[Phase, ...] = ("bytecode", "dynamo", "pre_grad", "joint", "partition", "post_grad", "loops", "code")
"""What torch.compile does to a graph, in order."""
DOES: Mapping[Phase, str] = {
    "bytecode": "Dynamo",
    "dynamo": "Dynamo",
    "pre_grad": "pre-grad passes",
    "joint": "AOTAutograd",
    "partition": "AOTAutograd",
    "post_grad": "post-grad passes",
    "loops": "lowering, fusion, schedule",
    "code": "code generation",
}
"""The part of PyTorch that does it."""
Direction = Literal["", "forward", "backward"]
TAKEN = "MultiOutput"
"""What Inductor calls an operation that takes one result of the call before it, and computes nothing."""
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
    subgraph: str = ""
    """Which graph in it, where that is lowered by itself: a branch, a loop's body, a region; empty for all of it."""


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
    """Buffers and the bytes of them that it reads; -1 where the size is not a number."""
    writes: Mapping[str, int]
    loops: tuple[str, ...] = ()
    """The extents of its loops, outermost first."""
    reduced: tuple[str, ...] = ()
    """Those of the loops that it reduces over."""
    inside: frozenset[str] = frozenset()
    """Of what it writes, the buffers that stay inside of its kernel: no memory is written."""
    subgraph: str = ""
    """The branch, loop's body or region that it is in, as Inductor names it; empty outside of all."""
    together: Mapping[str, int] = field(default_factory=dict[str, int])
    """The bytes of buffers that several operations of its kernel read or write, of all of these together."""
    runs: tuple[str, ...] = ()
    """The branches, the loop's condition and body, or the region that it runs."""
    after: frozenset[str] = frozenset()
    """The buffers that it waits for: what it reads, and what it only changes or comes after."""
    device: str = ""
    """`cpu`, `cuda`; empty where it has none."""
    refused: Literal["", "complex", "these"] = ""
    """Of a call of ATen for which Inductor has loops: what they are not for, complex numbers or these operands."""


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
    cure: str = ""
    """What is usually done about it."""

    @property
    def cause(self) -> str:
        """The reason on one line, without Dynamo's hints, links and context for its developers."""
        return " ".join(_FOR_OTHERS.sub("", self.reason).split())


_FOR_OTHERS = re.compile(
    r"^\s*Developer debug context:(?s:.*?)(?=^ *For more details|^\*\*\*|^  All of |^  Of this function|\Z)"
    r"|^\s*Hint: .*$|^ *For more details .*$",
    re.M,
)


@dataclass(frozen=True)
class Guard:
    """What a graph of Dynamo's holds for: when it is not true, the function is compiled again."""

    text: str
    """As Dynamo writes it."""
    place: Location | None
    """The user's line for which it was made."""
    cause: str = ""
    """What it says, in words; empty where it is not of what the user gives."""
    cure: str = ""
    """How the function is written, or called, so that it need not be."""


@dataclass(frozen=True)
class Recompilation:
    """A function that was compiled again, and why."""

    function: str
    place: Location | None
    """The user's line of the guard that was not true."""
    reason: str
    """Dynamo's words."""
    cause: str = ""
    cure: str = ""


@dataclass(frozen=True)
class Rewrite:
    """A pattern of Inductor's that matched, and what became of the nodes."""

    pattern: str
    """The function or expression that it is written as."""
    phase: Phase
    before: tuple[str, ...]
    """The FX nodes that matched, as they were written."""
    after: tuple[str, ...]
    """Those that were made in their place."""
    names: tuple[str, ...]
    """The names of all of them."""
    place: Location | None
    graph: int
    direction: Direction
    subgraph: str = ""
    """The branch, loop's body or region that the nodes are in."""


@dataclass(frozen=True)
class Moment:
    """Memory after a step of the schedule, in bytes of buffers alive."""

    step: str
    alive: int


@dataclass(frozen=True)
class Alive:
    """A buffer that is alive at the peak."""

    buffer: str
    size: int
    """Bytes."""
    op: str
    """The operation that writes it; empty for an input."""
    place: Location | None


@dataclass(frozen=True)
class MemoryEstimate:
    """The estimate of Inductor for one graph: buffers that it makes, and inputs that it may free."""

    graph: int
    direction: Direction
    peak: int
    moments: tuple[Moment, ...] = ()
    """After each kernel of the schedule has its buffers, before any is freed."""
    alive: tuple[Alive, ...] = ()
    """The buffers alive at the peak, the largest first."""
    unfused: tuple[Moment, ...] = ()
    """The same of the graph as it came, one operation after the other, as eager PyTorch runs it."""

    @property
    def unfused_peak(self) -> int:
        """Bytes; 0 where it is not known."""
        return max((one.alive for one in self.unfused), default=0)


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
    guards: tuple[Guard, ...] = ()
    recompilations: tuple[Recompilation, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    memory: tuple[MemoryEstimate, ...] = ()
    stopped: Stopped | None = None
    remarks: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    """Inductor's output code of each graph, forward and backward, in the order in which it was written."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """The text of the files that lines point into."""
    verdicts: tuple[tuple[int, Verdict], ...] = ()
    """Where it was executed: stages by their number, with what came of them; -1 for what keeps all from a verdict."""
    unbuilt: str = ""
    """Why the code was not built, where it was to be."""
    restarted: frozenset[int] = frozenset()
    """The graphs that Dynamo gave up in the middle, to begin anew with what it had learnt: nothing runs them."""
    seconds: float = 0.0
    """For all of it, in the copy of the kernel."""
    processor: float = 0.0
    """Seconds of the processor of that."""

    @property
    def called(self) -> tuple[InductorOp, ...]:
        """The operations that call a kernel which is not generated, without those that only name its outputs."""
        calls = (op for op in self.ops if op.kind in ("extern", "fallback"))
        return tuple(op for op in calls if op.kernel != TAKEN)

    @property
    def graphs(self) -> tuple[int, ...]:
        """The numbers of Dynamo's graphs, without those that it gave up."""
        return tuple(sorted({stage.graph for stage in self.stages} - self.restarted))
