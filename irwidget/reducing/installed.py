"""Whether the programs that a report names fail, too, where they are here: they may be of another LLVM than what ran,
which has assertions that released programs lack.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from irwidget.experiments import files, stock
from irwidget.toolchain import asking, external, feeding, scratch
from irwidget.trace import Step


@dataclass(frozen=True)
class Again:
    """What the programs make of a text on which their embedded counterparts fail.

    A command that one of them does not take shows no failure.
    """

    said: str
    fails: bool


def run(text: str, steps: Sequence[Step], seconds: float) -> Again | None:
    """Run the programs, one after the other; None where one is not here, or where it is they that ran before."""
    programs = stock.programs(steps)
    found = [external.find(step.tool) if step.tool in files.PROGRAMS else "" for step in programs]
    if not found or all(step.program for step in steps):
        return None
    given, name = text.encode(), ""
    with scratch.folder() as folder:
        for step, program in zip(programs, found, strict=True):
            if isinstance(program, str):
                return None
            name = " ".join(part for part in (step.tool, program.version, f"({program.path})") if part)
            command = [program.path, *shlex.split(step.command)[1:]]
            try:
                done = subprocess.run(
                    command, input=given, capture_output=True, cwd=folder, timeout=seconds, check=False
                )
            except subprocess.TimeoutExpired:
                return Again(f"{name} does not end on it within {seconds:g} s.", True)
            except OSError:
                return None
            if problem := external.how_failed(feeding.Fed(done.returncode, b"", done.stderr, True), command):
                if asking.refusal(program.path, step):
                    return Again(f"{name} does not take the command: {problem}", False)
                return Again(f"Run as {name}: {problem}", True)
            given = done.stdout
    return Again(f"{name} does not fail on it", False)
