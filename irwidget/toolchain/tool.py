"""What a tool is: given the IR as it stands, it says which passes it will run on it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from irwidget.toolchain import debug_lines, events, mlir
from irwidget.trace import WHOLE, Content, Diagnostic, Scope, Step


class State(Protocol):
    """IR at one point of a lowering."""

    @property
    def language(self) -> str: ...
    def snapshot(self) -> State: ...
    def render(self, elide: bool) -> Content: ...


@dataclass(frozen=True, slots=True)
class TextState:
    """IR that is text between tools: LLVM IR, assembly, what external programs print."""

    language: str
    text: str
    content: Content | None = None

    def snapshot(self) -> TextState:
        return self

    def render(self, elide: bool) -> Content:
        return self.content or Content(self.text, True, debug_lines.lines(self.language, self.text))


class StepFailed(Exception):
    """A step cannot go on; `failure` is what the user is told."""

    def __init__(self, failure: events.Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


def refuse(step: Step, message: str) -> StepFailed:
    """The error for a step that was asked for something it cannot do."""
    return StepFailed(events.Failed("usage", message, tool=step.tool))


class NeedsProgram(Exception):
    """The embedded tool cannot do this; the real program may. The message says what is missing."""

    def __init__(self, message: str, hint: Callable[[], str] = str) -> None:
        super().__init__(message)
        self.hint = hint
        """What was meant, perhaps; to be asked when the program does not help either, because it may take a second."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass that a tool is about to run."""

    name: str
    run: Callable[[State], State]
    options: str = ""
    scope: Scope = WHOLE
    pipeline: str = ""
    """The text that runs just this pass."""
    seconds: float | None = None
    """What a pass took that ran elsewhere, 0 where that is not known; None for one that runs, and is timed, here."""


@dataclass(slots=True)
class HeldSource:
    """What is kept of one source: its MLIR context and the states at the ends of steps.

    A context of its own for each run from the start, because MLIR renames the resources
    of a second module that uses the same names, and never frees those of the first.
    """

    context: Any = None
    states: dict[tuple[Step, ...], State] = field(default_factory=dict[tuple[Step, ...], State])
    snapshots: dict[tuple[Step, ...], list[State]] = field(default_factory=dict[tuple[Step, ...], list[State]])
    """Of runs whose dumps may be executed: the IR after each pass of the last of these steps; of none, the input."""
    constants: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Of such runs, the values of the globals that LLVM IR leaves out, by name."""


@dataclass(slots=True)
class WorkerSession:
    """What a worker keeps between requests: the sources used last."""

    sources: OrderedDict[str, HeldSource] = field(default_factory=lambda: OrderedDict[str, HeldSource]())
    kept: int = 4

    def hold(self, key: str) -> HeldSource:
        """The entry of a source, new if need be."""
        held = self.sources.setdefault(key, HeldSource())
        self.sources.move_to_end(key)
        return held

    def tidy(self) -> None:
        """Between requests: let go of the sources unused for longest, and get ready for a new one."""
        while len(self.sources) > self.kept:
            self.sources.popitem(last=False)
        mlir.prepare()


@dataclass(slots=True)
class Run:
    """One request under way; tools put diagnostics, attachments and facts here."""

    request: events.Request
    held: HeldSource
    step: int | None = None
    """The step under way, by its number in the request."""
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    attachments: dict[str, bytes] = field(default_factory=dict[str, bytes])
    facts: dict[str, object] = field(default_factory=dict[str, object])
    tools: dict[str, str] = field(default_factory=dict[str, str])
    """Programs that ran, with version and path."""
    told: int = 0
    """How many of the diagnostics have been sent."""

    def unsaid(self) -> tuple[Diagnostic, ...]:
        """The diagnostics since the last call."""
        new = tuple(self.diagnostics[self.told :])
        self.told = len(self.diagnostics)
        return new

    def context(self) -> Any:
        if self.held.context is None:
            self.held.context = mlir.new_context()
        return self.held.context


Tool = Callable[[Run, State, Step], Iterator[Pass]]
"""Given the IR as it is, yields the passes of a step; each runs before the next is asked for."""
