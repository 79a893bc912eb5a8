"""What a running lowering reports, and the request that starts one. Sent between processes, so plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from irwidget.toolchain.named import Naming
from irwidget.toolchain.weights import Values
from irwidget.trace import WHOLE, Content, Diagnostic, Scope, Step


@dataclass(frozen=True, slots=True)
class Array:
    """A dense tensor: its elements row-major."""

    data: bytes
    shape: tuple[int, ...]


Value = Array | int | float | bool
"""What a program takes and returns: tensors and numbers."""


@dataclass(frozen=True, slots=True)
class MemRef:
    """A tensor that the program works on in place, in the memory that the invocation names."""

    start: int
    """Bytes from the beginning of the memory to the first element."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What to call a function with, and what it returns."""

    inputs: tuple[tuple[Value | MemRef, ...], ...]
    """One set of arguments for each call."""
    results: tuple[int | None, ...]
    """For each result, the bytes of an element; None for a number."""
    seconds: float
    """How long it may take, compilation included."""
    dump: int = -1
    """Which dump of the last step before is executed."""
    function: str = "main"
    memory: str = ""
    """The file that buffers lie in, which the program reads and writes."""
    opt_level: int | None = None
    """LLVM's, 0 to 3, for the processor that there is; None for what compiles fast and runs on any."""


@dataclass(frozen=True, slots=True)
class Request:
    """Run `steps` on `source`."""

    steps: tuple[Step, ...]
    source: bytes | str | None
    """MLIR bytecode, or text in `language`; None to start from a state that the worker still has."""
    key: str
    """Names the source, so that a later request can start after steps it shares with this one."""
    language: str = "mlir"
    first_step: int = 0
    """Steps before this one were run by an earlier request with the same key."""
    dumps: bool = True
    """Keep the IR after every pass, not only after the last."""
    stop_after: int | None = None
    """Stop after this many passes: a replay of what came before a crash."""
    elide: bool = True
    """Leave large constants out of the text."""
    verify: bool = True
    keep_constants: bool = False
    """Give programs large constants in full: their result will be executed."""
    invocation: Invocation | None = None
    cwd: str = ""
    """Where the user's relative paths start."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """Target options: `arch`, `opt_level`."""
    values: Values | None = None
    """Where the values are that the bytecode leaves out."""
    naming: Naming | None = None
    """What a text only names."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Asks the worker to import a module before it is needed; nothing is answered."""

    module: str


@dataclass(frozen=True, slots=True)
class Began:
    """The worker begins with the request. It comes first, and again where the request is run again."""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """Step `step` begins: what happens before its first pass starts is its tool's."""

    step: int


@dataclass(frozen=True, slots=True)
class PassStarted:
    """Pass `index` (1-based; 0 is the input) begins."""

    index: int
    step: int
    name: str
    options: str = ""
    scope: Scope = WHOLE
    pipeline: str = ""
    """What runs just this pass, as a tool of a custom pipeline."""
    over: bool = False
    """Whether it is told of only now that it has ended: it ran elsewhere, where nobody knows which pass runs now."""


@dataclass(frozen=True, slots=True)
class PassEnded:
    index: int
    seconds: float
    language: str
    """Of the IR that the pass left behind."""
    said: tuple[Diagnostic, ...] = ()
    """What it printed, remarks and warnings."""


@dataclass(frozen=True, slots=True)
class Printed:
    """The text after pass `index`; None when it is that of the pass before it."""

    index: int
    content: Content | None


@dataclass(frozen=True, slots=True)
class Found:
    """What passes leave besides IR."""

    attachments: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The programs that ran, with their versions."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The lowering stopped; what was printed before stays."""

    kind: Literal["usage", "pass", "tool", "unsupported", "interrupt"]
    message: str
    pass_name: str = ""
    tool: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    pipeline: str = ""
    """What to run on the IR before the pass to see the failure again."""
    step: int | None = None
    """The step that stopped; None where nobody knows better than the pass that began last."""
    found: Found = Found()
    """What the passes before it have found."""


@dataclass(frozen=True, slots=True)
class Finished:
    """All passes ran. Texts of the dumps may follow."""

    content: Content | None
    diagnostics: tuple[Diagnostic, ...] = ()
    found: Found = Found()


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker no longer has the state that the request wanted to start from."""


Event = Began | StepStarted | PassStarted | PassEnded | Printed | Failed | Finished | Lost
