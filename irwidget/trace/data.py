"""What a lowering is: a list of dumps. Plain data; no Jupyter, torch or MLIR here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from irwidget.trace.verdicts import Verdict

Severity = Literal["error", "warning", "remark", "note"]


@dataclass(frozen=True, slots=True)
class Location:
    """A line of somebody's source. `column` is 0 when unknown."""

    file: str
    line: int
    column: int = 0
    caller: Location | None = None
    """The user's line that called this one, when known."""
    name: str = field(default="", compare=False)
    """The `Node` of the front end's graph that the IR was made from, when known."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph that a front end starts from; locations of the IR made from it name it."""

    name: str
    """`graph.node`, as in `for_loop_0.acc`; a graph's own name for its loop."""
    target: str
    """The op: `aten.addmm.default`, `load`, ..."""
    text: str
    """The node as a line: `acc = aten.addmm.default(_new_var, load, load_1)`."""
    location: Location | None = None
    """The user's line."""
    depth: int = 0
    """How many loops and branches hold it."""
    symbolic: bool = False
    """Whether its value is a size or another number rather than a tensor."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What a compiler said, and where."""

    severity: Severity
    message: str
    location: Location | None = None
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return "\n".join([f"{place}{self.severity}: {self.message}", *(f"  {note}" for note in self.notes)])


@dataclass(frozen=True, slots=True)
class Step:
    """One tool of a lowering with what it was told to do, as a user would write it."""

    tool: str
    """`torch-mlir-opt`, `mlir-opt`, `opt`, ..."""
    arguments: str
    """The textual pipeline or the command-line arguments."""
    name: str = ""
    """A short name for lists; the tool when empty."""
    program: bool = False
    """Run the real program even where the embedded tool could."""

    def __str__(self) -> str:
        return self.name or self.tool


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a dump and what belongs to its lines."""

    text: str
    changed: bool = True
    """Whether the text differs from that of the dump before it."""
    locations: tuple[Location | None, ...] = ()
    """For each line, the user's source line that it came from; empty when nothing is known."""


@dataclass(frozen=True)
class Dump:
    """The IR after one pass.

    `text`, `changed` and `locations` may still be on their way from the worker
    process; reading them waits. `ready` says whether they are all there.
    """

    name: str
    """The pass: `canonicalize`, `convert-torch-to-tosa`, ..."""
    step: str
    """The name of the step that the pass belongs to."""
    language: str
    """`mlir`, `llvm`, `ptx`, `amdgcn`, `spirv`, `sass`, `x86asm`, `python`, `json`, `fx`, `text`."""
    load: Callable[[], Content] = field(repr=False, compare=False)
    options: str = ""
    """The options of the pass as it ran, defaults included: `max-iterations=10 top-down=true`."""
    seconds: float = 0.0
    scope: str = "module"
    """What the pass ran on: `module`, `func.func`, a kernel's name."""
    pipeline: str = ""
    """A custom pipeline that runs just this pass."""
    is_ready: Callable[[], bool] = field(default=lambda: True, repr=False, compare=False)
    inside: Callable[[], tuple[Dump, ...]] | None = field(default=None, repr=False, compare=False)
    """Runs the passes that this one is made of, one by one; its own text is the last. None when there are none."""
    known: str | None = field(default=None, repr=False, compare=False)
    """The text where it is here before `load` answers: a run's result comes ahead of its dumps."""
    step_number: int = -1
    """The position of the step in `Trace.steps`; -1 for the input."""

    @property
    def text(self) -> str:
        return self.load().text if self.known is None else self.known

    @property
    def changed(self) -> bool:
        return self.load().changed

    @property
    def locations(self) -> tuple[Location | None, ...]:
        return self.load().locations

    @property
    def ready(self) -> bool:
        return self.is_ready()

    @property
    def arrived(self) -> str | None:
        """The text; None while it is on its way."""
        return self.text if self.known is not None or self.ready else None


def dump(
    name: str,
    text: str,
    *,
    step: str,
    language: str = "mlir",
    changed: bool = True,
    locations: tuple[Location | None, ...] = (),
    options: str = "",
    seconds: float = 0.0,
    scope: str = "module",
) -> Dump:
    """A dump whose text is already here."""
    content = Content(text, changed, locations)
    return Dump(name, step, language, lambda: content, options, seconds, scope)


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a lowering stopped, and why."""

    step: str
    pass_name: str
    message: str
    diagnostics: tuple[Diagnostic, ...] = ()
    kind: Literal["usage", "pass", "tool", "unsupported"] = "pass"
    tool: str = ""
    reproducer: str = ""
    """A shell command that shows the failure again."""


@dataclass(frozen=True)
class Trace:
    """A lowering as data: where it started, what ran, what came out after each pass."""

    target: str
    dumps: tuple[Dump, ...]
    """Dump 0 is the input; the others are the IR after each pass, in order."""
    steps: tuple[Step, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names and versions of what made it."""
    failure: Failure | None = None
    name: str = ""
    """The model or kernel that was lowered."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Text of the user's files that `locations` point into: file name -> text."""
    attachments: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Binary results by file name: `kernel.cubin`, `kernel.hsaco`."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Numbers beside the IR: registers, shared memory ..."""
    check: Verdict | None = None
    """How the result compares with eager PyTorch; None when nobody asked."""
    nodes: tuple[Node, ...] = ()
    """The graph that it started from, in order, where the front end links it to the IR."""
