"""What a reduction gives: the smallest program that was found, and a text for an issue."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from irwidget import pipelines
from irwidget.experiments import files, stock
from irwidget.reducing.failing import Kind
from irwidget.reducing.installed import Again
from irwidget.toolchain.language import detect, suffix
from irwidget.trace import Step

_ANY_CRASH = "Nothing tells where it crashed: this may be another crash of the same pass than the one looked for."


@dataclass(frozen=True)
class Tried:
    """How one way of making a program smaller went."""

    candidates: int = 0
    kept: int = 0

    def __add__(self, other: Tried) -> Tried:
        return Tried(self.candidates + other.candidates, self.kept + other.kept)


_CERTAIN, _MOST = 0.95, 10
"""How likely a candidate that fails like the program before should be seen to, and in how many runs at most."""


@dataclass(frozen=True)
class Rate:
    """How often something failed."""

    failed: int
    of: int

    @property
    def always(self) -> bool:
        """Whether it failed in each run."""
        return self.failed == self.of

    def __str__(self) -> str:
        return f"it did in {self.failed} of {_counted(self.of, 'run')}"

    @property
    def runs(self) -> int:
        """How many show whether something fails that does as often."""
        if self.always or not self.failed:
            return 1 if self.always else _MOST
        return min(_MOST, math.ceil(math.log(1 - _CERTAIN) / math.log(1 - self.failed / self.of)))


@dataclass(frozen=True)
class Reduced:
    """The smallest program that was found, and how to see its failure again."""

    text: str = field(repr=False)
    """IR: in the form in which the tool prints it, where that fails in the same way. Or a file of Python."""
    operations: int
    """How many operations it has: of IR instructions or operations, of Python those in functions and classes."""
    before: int
    """How many there were."""
    failure: Kind | None
    """In which way it fails; None where a predicate says so."""
    steps: tuple[Step, ...]
    """What fails on IR; of a Python file, the pass that fails."""
    tried: int
    """Candidates that were run."""
    complete: bool
    """Whether nothing more can be taken out; False when time was up or it was stopped."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    language: str = "mlir"
    """`mlir`, `llvm`, `python` or `text`."""
    words: tuple[str, ...] = ()
    """What `irwidget lower FILE` has after it: of a Python file all, of IR the toolchain."""
    message: str = ""
    """What is said of the failure, of the smallest program."""
    ways: Mapping[str, Tried] = field(default_factory=dict[str, Tried])
    """What was tried, by name, and how often it helped."""
    seconds: float = 0.0
    """How long it took."""
    ir: str = field(default="", repr=False)
    """Of a Python file, the IR that the pass failed on, where it is known."""
    raised: tuple[Exception, ...] = field(default=(), repr=False)
    """What the predicate raised of candidates, which were then not taken."""
    holds: str = "The predicate holds"
    """What is said in place of a failure."""
    again: Again | None = field(default=None, repr=False)
    """What the programs of `command` make of it, where they are here and others ran."""
    rate: Rate | None = None
    """How often it failed, where it was run several times."""

    def of_text(self, contained: str) -> Reduced:
        """The same where the predicate was that the last text contains another."""
        return replace(self, holds=f"The last dump contains {contained!r}")

    @property
    def pipeline(self) -> str:
        """What fails, as a custom pipeline."""
        return pipelines.text(self.steps)

    @property
    def _read_as(self) -> str:
        """The language; of a text that nothing parses, that which the first tool takes it for."""
        if self.language != "text" or not self.steps:
            return self.language
        tool = self.steps[0].tool
        return "llvm" if tool in ("opt", "llc") else "mlir" if "mlir" in tool or tool == "triton-opt" else "text"

    @property
    def command(self) -> str:
        """The command that shows the failure again: of the stock tools for IR, where these are programs."""
        if self.language == "python":
            return shlex.join(["python", "-m", "irwidget", "lower", "program.py", *self.words])
        return self._on(f"input{suffix(self._read_as)}", self.words)

    def _on(self, file: str, words: Sequence[str] = ()) -> str:
        """The steps on a file, of the stock tools where these are programs; `words` are ours alone."""
        if any(step.tool not in files.PROGRAMS for step in self.steps):
            return self._ours(file, words)
        first, *others = [step.command for step in stock.programs(self.steps)] or ["mlir-opt"]
        return " | ".join([f"{first} {file}", *others])

    def _ours(self, file: str, words: Sequence[str] = ()) -> str:
        command = ["python", "-m", "irwidget", "lower", file, "--to", "raw_ir", "--pipeline", self.pipeline]
        programs = ["--external"] if any(step.program for step in self.steps) else []
        return shlex.join([*command, *programs, *words])

    def _programs(self) -> list[str]:
        """What the programs of the command make of it; where they take it, the command that shows the failure."""
        if self.again is None:
            return []
        if self.again.fails:
            return [self.again.said]
        block = _block("sh", self._ours(f"input{suffix(self._read_as)}", self.words))
        return [f"{self.again.said}; what does is of the versions below:", "", block]

    @property
    def report(self) -> str:
        """A text for an issue: what fails, on which program, with which command and versions, and what was tried."""
        versions = ", ".join(f"{name} {version}" for name, version in self.tools.items())
        state = "" if self.complete else " (stopped before nothing more could be taken out)"
        return "\n".join(
            [
                str(self.failure or self.holds),
                *([self.message.strip()] if self.message.strip() else []),
                *([_ANY_CRASH] if self.failure and self.failure.other_crashes else []),
                f"Reduced from {_counted(self.before, 'operation')} to {self.operations}{state}.",
                *([f"It does not always fail: {self.rate}."] if self.rate and not self.rate.always else []),
                "",
                _block(self._read_as, self.text),
                "",
                _block("sh", self.command),
                *self._programs(),
                *self._stock(),
                *([f"Versions: {versions}"] if versions else []),
                *([self.account] if self.ways else []),
                *([self._refused] if self.raised else []),
            ]
        )

    @property
    def account(self) -> str:
        """What was tried, in a sentence."""
        ways = ", ".join(f"{name} {one.kept} of {one.candidates}" for name, one in self.ways.items())
        tried = _counted(self.tried, "candidate")
        return f"Tried: {tried} in {self.seconds:.0f} s; taken of those: {ways}" if ways else ""

    @property
    def _refused(self) -> str:
        """Of how many candidates the predicate said nothing, and why."""
        last = self.raised[-1]
        said = str(last).split("\n")[0]
        of = _counted(len(self.raised), "candidate")
        return f"Not taken: {of} of which the predicate raised an error ({type(last).__name__}: {said})"

    def _stock(self) -> list[str]:
        """For a Python file: the IR that the pass fails on, and the stock tool's command."""
        if not self.ir or not self.steps:
            return []
        language = detect(self.ir)
        shown = _block("mlir" if language == "triton" else language, self.ir)
        return ["", "The pass that fails, alone:", "", shown, "", _block("sh", self._on(f"input{suffix(language)}"))]

    def __str__(self) -> str:
        return self.report


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
