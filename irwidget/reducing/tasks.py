"""What is tried in a process of its own, and what comes of it: plain data, both ways."""

from __future__ import annotations

from dataclasses import dataclass, field

from irwidget.reducing import failing
from irwidget.reducing.failing import Kind
from irwidget.trace import Step, Trace


@dataclass(frozen=True)
class IRTask:
    """Run steps on a text of IR."""

    text: str
    steps: tuple[Step, ...]
    target: tuple[tuple[str, str], ...] = ()
    """Options of the IR type, as the steps read them: `arch`, `opt_level`."""
    verify: bool = True
    seconds: float = 20.0
    """After which a candidate that has not ended is ended, and has timed out."""
    memory: int | None = None
    """Bytes that it may take."""
    wanted: str = ""
    """`text` for the last dump."""
    elide: bool = True
    """Whether large constants are left out on the way to LLVM IR."""
    times: int = 1
    """How often it runs at most, until it fails in the way that is `looked_for`: some failures do not always come."""
    looked_for: Kind | None = None


@dataclass(frozen=True)
class FileTask:
    """Lower a file of Python, by the words that `irwidget lower FILE` would have after it."""

    text: str
    words: tuple[str, ...]
    seconds: float = 60.0
    memory: int | None = None
    wanted: str = ""
    times: int = 1
    looked_for: Kind | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    kind: Kind | None
    """In which way it fails; None where it is complete."""
    text: str = ""
    """The last dump, where it was asked for."""
    message: str = ""
    """What was said of the failure."""
    reproducer: str = ""
    """The pass that failed, as a custom pipeline."""
    before: str = ""
    """The IR that this pass failed on, where the text was asked for."""
    tools: dict[str, str] = field(default_factory=dict[str, str])
    step: int = -1
    """The number of the step that failed."""
    seconds: float = 0.0

    @classmethod
    def of(cls, trace: Trace, *, wants: bool = False) -> Outcome:
        """What a trace says; with texts where one `wants` them."""
        tools, failure = dict(trace.tools), trace.failure
        if failure is None:
            kind = failing.of_verdict(trace.check) if trace.check else None
            return cls(kind, trace.dumps[-1].text if wants else "", str(trace.check or ""), tools=tools)
        before = trace.dumps[trace.before_failure].text if wants and trace.dumps else ""
        return cls(
            failing.kind_of(failure, trace.name), "", failure.message, failure.reproducer, before, tools, failure.step
        )


Task = IRTask | FileTask
