"""The steps of a custom pipeline as they are edited: one pass each, and back to the one line that reproduces them.

`mlir-opt --canonicalize --cse | opt -O2` is the steps canonicalize, cse and O2.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from irwidget import pipelines, registry
from irwidget.trace import Step

State = Literal["", "waiting", "running", "done", "failed", "stopped"]

_NO_PASS = ("pass-pipeline", "allow-unregistered-dialect", "o", "")
_FLAG = re.compile(r"--?([\w-]+)(?:=(.*))?", re.DOTALL)
_PAIR = re.compile(r"([\w-]+)=([^\s{}]*)")


@dataclass(frozen=True, slots=True)
class PassInvocation:
    """One step of a pipeline under edit."""

    tool: str
    name: str = ""
    """The pass; empty when the step is more than one, and `arguments` says what it is told."""
    options: tuple[tuple[str, str], ...] = ()
    arguments: str = ""
    """The arguments of a step that is kept as it was written."""
    enabled: bool = True
    id: int = 0
    """Names the step for as long as it is in its pipeline."""
    state: State = ""
    """What came of it in the last run."""
    seconds: float = 0.0
    stage: int = -1
    """The stage of the last lowering that it left; -1 when there is none."""

    @property
    def words(self) -> str:
        """The arguments of the tool."""
        if not self.name:
            return self.arguments
        if _flags_are_passes(self.tool):
            value = " ".join(f"{key}={value}" for key, value in self.options)
            return shlex.quote(f"--{self.name}" + (f"={value}" if value else ""))
        if self.tool == "mlir-translate":
            return f"--{self.name}"
        head = {"opt": [f"-{self.name}" if re.fullmatch("O[0-3]", self.name) else f"-passes={self.name}"]}
        return shlex.join([*head.get(self.tool, []), *(_switch(key, value) for key, value in self.options)])

    @property
    def label(self) -> str:
        """A short name: the pass, or the arguments."""
        return self.name or self.arguments or self.tool

    def same(self, other: PassInvocation) -> bool:
        """Whether both do the same to the same IR."""
        return (self.tool, self.words) == (other.tool, other.words)

    def forget(self) -> PassInvocation:
        """The step as before any run."""
        return replace(self, state="", seconds=0.0, stage=-1)


def _flags_are_passes(tool: str) -> bool:
    """Whether neighbours of the same tool are written as one call."""
    found = registry.tools.get(tool)
    return found is not None and found.flags_are_passes


def _switch(name: str, value: str) -> str:
    """`-O2`, `-mcpu=sm_80`, `-disable-loop-unrolling`."""
    if name == "O":
        return f"-O{value}"
    return f"-{name}" if value == "true" and name == "disable-loop-unrolling" else f"-{name}={value}"


def text(links: Iterable[PassInvocation]) -> str:
    """The pipeline of the steps that are enabled, as one line."""
    calls: list[tuple[str, list[str]]] = []
    before: PassInvocation | None = None
    for link in links:
        if not link.enabled:
            continue
        if before and before.name and link.name and before.tool == link.tool and _flags_are_passes(link.tool):
            calls[-1][1].append(link.words)
        else:
            calls.append((link.tool, [link.words]))
        before = link
    return " | ".join(" ".join(word for word in (tool, *words) if word) for tool, words in calls)


def steps(links: Iterable[PassInvocation], program: bool = False) -> tuple[Step, ...]:
    """What runs, a step for each enabled one."""
    return tuple(
        replace(step, program=program)
        for link in links
        if link.enabled
        for step in pipelines.parse(f"{link.tool} {link.words}")
    )


def parse(line: str) -> tuple[PassInvocation, ...]:
    """The steps of a custom pipeline, one a pass where that can be told. Raises UsageError."""
    if not line.strip():
        return ()
    return tuple(link for step in pipelines.parse(line) for link in _taken_apart(step))


def _taken_apart(step: Step) -> list[PassInvocation]:
    whole = [PassInvocation(step.tool, arguments=step.arguments)]
    words = [word for word in shlex.split(step.arguments) if word != "-"]
    if not words:
        return whole
    if _flags_are_passes(step.tool):
        passes = [_pass_of(step.tool, word) for word in words]
        return [link for link in passes if link] if all(passes) else whole
    if step.tool == "mlir-translate" and len(words) == 1:
        return [PassInvocation(step.tool, words[0].lstrip("-"))]
    if step.tool in ("opt", "llc"):
        return [_llvm(step.tool, words) or whole[0]]
    return whole


def _pass_of(tool: str, word: str) -> PassInvocation | None:
    match = _FLAG.fullmatch(word)
    if match is None or match[1] in _NO_PASS or match[1].startswith(("mlir-", "verify-")):
        return None
    value = match[2] or ""
    if _PAIR.sub("", value).strip():
        return None
    return PassInvocation(tool, match[1], tuple((pair[1], pair[2]) for pair in _PAIR.finditer(value)))


def _llvm(tool: str, words: list[str]) -> PassInvocation | None:
    name = "codegen" if tool == "llc" else ""
    options: dict[str, str] = {}
    for word in words:
        match = _FLAG.fullmatch(word)
        if match is None:
            return None
        flag, value = match[1], match[2]
        if re.fullmatch("O[0-3]", flag):
            if tool == "opt":
                name = flag
            else:
                options["O"] = flag[1]
        elif flag == "passes" and value and re.fullmatch(r"[\w-]+", value) and not name:
            name = value
        elif flag == "S":
            continue
        elif value is None and flag != "disable-loop-unrolling":
            return None
        else:
            options[flag] = value or "true"
    return PassInvocation(tool, name, tuple(options.items())) if name else None


def with_options(link: PassInvocation, given: Mapping[str, str], settable: Iterable[str]) -> PassInvocation:
    """The step with new values for the options in `settable`; what else it was told stays."""
    known = set(settable)
    kept = [(key, value) for key, value in link.options if key not in known]
    return replace(link, options=(*kept, *given.items()))
