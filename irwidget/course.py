"""The course of a lowering while it goes on: its phases, the pass under way, how long it took before. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

PASSES = "passes"
"""The phase in which passes run."""
COMMAND = "the command"
"""The phase in which a program of the user's runs."""
_MOMENT = 0.001
"""Seconds below which a phase is not worth a word."""


@dataclass(frozen=True, slots=True)
class Took:
    """How long a lowering took."""

    seconds: float
    passes: int


@dataclass(slots=True)
class Phase:
    """A part of a lowering. It may go on again after others: its seconds are those of all times together."""

    name: str
    began: float | None
    """When it began, or began again; None while it does not go on."""
    before: float = 0.0
    """Seconds of the times that are over."""

    def seconds(self, now: float) -> float:
        """How long it has taken so far."""
        return self.before + (0.0 if self.began is None else now - self.began)


@dataclass(slots=True)
class Course:
    """The course of one lowering so far. Times are of one clock, in seconds."""

    name: str
    began: float
    last: Took | None = None
    """How it went the time before, in this kernel."""
    phases: list[Phase] = field(default_factory=list[Phase])
    passes: int = 0
    """How many passes have begun."""
    now: tuple[str, float] | None = None
    """The pass under way, and when it began; where `over`, the last one, and when it ended."""
    over: bool = False
    """Whether only passes that have ended are told of: which one runs is not known."""
    step: str = ""

    @property
    def phase(self) -> Phase | None:
        """The phase that goes on."""
        return next((one for one in self.phases if one.began is not None), None)

    def enter(self, name: str, now: float) -> None:
        """A phase begins, or goes on, or none does (""); the one before it is over."""
        if current := self.phase:
            if current.name == name:
                return
            current.before, current.began = current.seconds(now), None
            if current.before < _MOMENT and current.name != PASSES:
                self.phases.remove(current)
        if known := next((one for one in self.phases if one.name == name), None):
            known.began = now
        elif name:
            self.phases.append(Phase(name, now))
        self.now = None

    def begin_pass(self, name: str, step: str, now: float, *, over: bool = False) -> None:
        """A pass begins, or is told of when it is `over`."""
        self.enter(PASSES, now)
        self.passes += 1
        self.now, self.step, self.over = (name, now), step, over

    def hear(self, said: str, now: float) -> None:
        """A command that prints its passes has come this far."""
        self.enter(COMMAND, now)
        self.now = said, now

    def took(self, now: float) -> Took:
        """How long it took, if it is over now."""
        return Took(now - self.began, self.passes)

    def line(self, now: float) -> str:
        """All of it in a line of text."""
        phase = self.phase.name if self.phase else ""
        if self.now and not self.passes:
            phase = f"{phase} · {self.now[0]}"
        elif self.now:
            of = f" of {self.last.passes}" if self.last and self.last.passes >= self.passes else ""
            since = f"{now - self.now[1]:.0f} s"
            name = f"{self.now[0]} ended {since} ago" if self.over else f"{self.now[0]} for {since}"
            phase = f"{self.step} · pass {self.passes}{of} {name}"
        before = f", last time {self.last.seconds:.1f} s" if self.last else ""
        return " · ".join(filter(None, (self.name, phase, f"{now - self.began:.0f} s{before}")))
