"""What a lowering is: a list of dumps. Plain data; no Jupyter, torch or MLIR here."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from irwidget.lazy import cached_property
from irwidget.trace.location import Location, Node
from irwidget.trace.scope import WHOLE, Scope
from irwidget.trace.texts import Content, KnownTexts, Texts
from irwidget.trace.verdicts import Verdict

Severity = Literal["error", "warning", "remark", "note"]


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

    @property
    def command(self) -> str:
        """What a user would type for it: a textual pipeline is an argument of its tool."""
        if self.arguments.startswith("builtin.module("):
            return f"{self.tool} --pass-pipeline={shlex.quote(self.arguments)}"
        return f"{self.tool} {self.arguments}".strip()


@dataclass(frozen=True, slots=True)
class Dump:
    """The IR after one pass.

    Everything about it but its text is here. The text may still be on its way: `texts` has it, or will.
    """

    name: str
    """The pass: `canonicalize`, `convert-torch-to-tosa`, ..."""
    step: int
    """The position of its step in `Trace.steps`; -1 for the input."""
    language: str
    """`mlir`, `llvm`, `ptx`, `amdgcn`, `spirv`, `sass`, `x86asm`, `python`, `json`, `fx`, `text`."""
    texts: Texts = field(repr=False, compare=False)
    index: int = field(default=0, repr=False, compare=False)
    """Its number in `texts`."""
    options: str = ""
    """The options of the pass as it ran, defaults included: `max-iterations=10 top-down=true`."""
    seconds: float = 0.0
    scope: Scope = WHOLE
    pipeline: str = ""
    """A custom pipeline that runs just this pass."""

    @property
    def content(self) -> Content:
        """The text and what belongs to it; waits for it. Raises ToolError when it will never come."""
        return self.texts.content(self.index)

    @property
    def text(self) -> str:
        """The text; waits for it. Raises ToolError when it will never come."""
        return self.texts.text(self.index)

    @property
    def changed(self) -> bool:
        """Whether the text differs from that of the dump before it; waits for it."""
        return self.content.changed

    @property
    def locations(self) -> tuple[Location | None, ...]:
        """For each line, the user's line that it came from; empty when nothing is known. Waits for the text."""
        return self.content.locations

    @property
    def ready(self) -> bool:
        """Whether `content` would answer at once."""
        return self.texts.ready(self.index)

    @property
    def arrived(self) -> str | None:
        """The text; None while it is on its way."""
        return self.texts.arrived(self.index)


def dump(
    name: str,
    text: str,
    *,
    step: int,
    language: str = "mlir",
    changed: bool = True,
    locations: tuple[Location | None, ...] = (),
    options: str = "",
    seconds: float = 0.0,
    scope: Scope = WHOLE,
) -> Dump:
    """A dump whose text is already here."""
    texts = KnownTexts((Content(text, changed, locations),))
    return Dump(name, step, language, texts, 0, options, seconds, scope)


def renumbered(dumps: Iterable[Dump], count: int) -> tuple[Dump, ...]:
    """Dumps of a lowering, for one that has `count` steps before its steps."""
    return tuple(replace(one, step=_renumbered(one.step, count)) if count else one for one in dumps)


def _renumbered(step: int, count: int) -> int:
    return step if step < 0 else step + count


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a lowering stopped, and why."""

    step: int
    """The position of the step in `Trace.steps`; -1 when it was none of them."""
    pass_name: str
    message: str
    diagnostics: tuple[Diagnostic, ...] = ()
    kind: Literal["usage", "pass", "tool", "unsupported", "interrupt"] = "pass"
    tool: str = ""
    reproducer: str = ""
    """A shell command that shows the failure again."""


_MISSING = Diagnostic(
    "remark", "dumps=False kept no dump but the input and the last: what changes between them is the work of all passes"
)


class Inside(Protocol):
    """Runs the passes that a dump is made of."""

    def has(self, dump: Dump) -> bool:
        """Whether a dump is made of passes."""
        ...

    def open(self, dump: Dump) -> tuple[Dump, ...]:
        """A dump after each of them that changed something, in order, the text of the dump itself last."""
        ...


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
    every_pass: bool = True
    """Whether each pass left a dump. With `dumps=False` only the last did, whose changes are those of all of them."""
    inside: Inside | None = field(default=None, repr=False, compare=False)
    """What runs the passes that a dump is made of, one by one; None where there are none, or no way to run them."""

    def __repr__(self) -> str:
        return f"<Trace of {self.summary}>"

    @property
    def summary(self) -> str:
        """What it is of, how many dumps it has, and whether it got to the end."""
        state = "failed" if self.failure else "complete"
        return f"{self.name or 'IR'} to {self.target}: {len(self.dumps)} dumps, {state}"

    def then(self, after: Trace) -> Trace:
        """This lowering and another that went on from its last dump, as one: its steps are numbered on.

        The other's input, its dump 0, is that last dump; where this one has no dump yet, it is the first.
        """
        count = len(self.steps)
        later = after.dumps[1:] if self.dumps else after.dumps
        return replace(
            after,
            dumps=(*self.dumps, *renumbered(later, count)),
            steps=(*self.steps, *after.steps),
            diagnostics=(*self.diagnostics, *after.diagnostics),
            tools={**self.tools, **after.tools},
            failure=after.failure and replace(after.failure, step=_renumbered(after.failure.step, count)),
            name=self.name,
            sources={**after.sources, **self.sources},
            attachments={**self.attachments, **after.attachments},
            facts={**self.facts, **after.facts},
            nodes=self.nodes,
            every_pass=self.every_pass and after.every_pass,
        )

    @property
    def said(self) -> tuple[Diagnostic, ...]:
        """The diagnostics, and that dumps are missing where they are."""
        return self.diagnostics if self.every_pass else (*self.diagnostics, _MISSING)

    @cached_property
    def _places(self) -> Mapping[tuple[int, int], int]:
        return {(id(one.texts), one.index): place for place, one in enumerate(self.dumps)}

    def place_of(self, dump: Dump) -> int | None:
        """The position of a dump here, though it has another step in what goes on from this; None: it is not here."""
        return self._places.get((id(dump.texts), dump.index))

    @property
    def refused(self) -> bool:
        """Whether a front end refused the object: no pass has run, and the one dump is the object's own source."""
        return self.failure is not None and not self.steps and all(one.language == "python" for one in self.dumps)

    @property
    def before_failure(self) -> int:
        """The number of the dump that the failure shows again from: the last one, or where no pass of a step is to run
        but all of it, the last one before it. -1 where there is none.
        """
        failure = self.failure
        step = self.step_of(failure) if failure else None
        whole = failure and step and failure.reproducer in ("", step.command)
        inside = sum(one.step == failure.step for one in self.dumps) if failure and whole else 0
        return len(self.dumps) - 1 - inside

    def step_of(self, made: Dump | Failure) -> Step | None:
        """The step that a dump or a failure is of; None for the input."""
        return self.steps[made.step] if 0 <= made.step < len(self.steps) else None
