"""What programs of LLVM say of their command lines and passes, asked without any IR of the user's."""

from __future__ import annotations

import os
import re
import shlex
import subprocess

from irwidget.errors import near
from irwidget.toolchain import scratch
from irwidget.trace import Step

_PATIENCE = 20
"""Seconds for a program that only says what it knows."""

_REFUSED = re.compile(
    r"Unknown command line argument|no such option|not refer to a registered pass|for the -[\w-]+ option|unbalanced|"
    r"invalid value|unknown .*pass|failed to add|is not a registered"
)
"""What a program says of a command line that it does not take."""


def refusal(path: str, step: Step) -> str:
    """Why an LLVM program would refuse a command line, in its own words; empty when it would not.

    Before anything is read or written, the programs take their whole command line apart, and `--version` ends them
    there. Passes are looked up later, so these are also tried on an empty module.
    """
    words = without_output(shlex.split(step.arguments))
    said = asked([path, *words, "--version"])
    if step.tool in ("mlir-opt", "torch-mlir-opt"):
        said += asked([path, *words, "-o", os.devnull], "module {}\n")
    elif step.tool == "opt":
        for word in words:
            if re.match(r"--?passes=", word):
                said += asked([path, word, "-disable-output"])
    lines = [re.sub(r"^\S+: ", "", line).strip() for line in said if _REFUSED.search(line) or "Did you mean" in line]
    lines.sort(key=lambda line: "Unknown command line argument" not in line and "Did you mean" not in line)
    told = " ".join(line.partition("  Try: ")[0] for line in lines[:2])
    if unknown := re.search(r"unknown (?:\w+ )?pass (?:name )?'([\w-]+)'", told):
        told += _known_as(unknown[1], asked([path, "--print-passes"]))
    return told


def _known_as(name: str, listed: list[str]) -> str:
    """What `--print-passes` has of a name that is no pass where it stands: another kind of pass, or near matches."""
    kinds: dict[str, str] = {}
    kind = ""
    for line in listed:
        if found := re.match(r"  ([a-z][\w-]*)(<.*)?$", line):
            kinds.setdefault(found[1], kind)
        elif line and not line.startswith(" "):
            kind = line.rstrip(":")
    if name in kinds:
        return f". --print-passes has it among {kinds[name]!r}, which do not stand here"
    return f". {near(name, kinds)}" if kinds else ""


def without_output(words: list[str]) -> list[str]:
    """The words of a command line but for `-o FILE`."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-o", "--o"):
            next(rest, None)
        elif not re.match(r"--?o=", word):
            kept.append(word)
    return kept


def asked(command: list[str], text: str = "") -> list[str]:
    """The lines that a program says, of errors first; none where it does not start or takes too long."""
    with scratch.folder() as folder:
        try:
            done = subprocess.run(
                command,
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                cwd=folder,
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
    return [*done.stderr.splitlines(), *done.stdout.splitlines()]
