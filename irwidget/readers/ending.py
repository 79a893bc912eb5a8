"""How a log ends: whether what made it crashed, and in which pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from irwidget.trace import Diagnostic, Location

_CRASH = re.compile(
    r"PLEASE submit a bug report|^Stack dump(?: without symbol names)?:?|Segmentation fault|Assertion [`'\"].*failed"
    r"|Assertion failed:|^LLVM ERROR: .*|UNREACHABLE executed|terminate called|Aborted|core dumped|^Killed$"
    r"|fatal error: error in backend|^\w+Error: .*|Fatal Python error",
    re.M,
)
_RUNNING = re.compile(
    r"""Running pass ['"](?P<name>[^'"]+)['"] on (?:\w+ )?['"]?@?(?P<where>[^'".\n]*)|"""
    r"""Running (?:pass manager|pass) ["'`](?P<other>[^"'`]+)["'`]"""
)
_SAID = re.compile(
    r'^(?:loc\()?(?:"(?P<quoted>[^"\n]+)"|(?P<file>[^\s:"\'()][^:\n"\']*)):(?P<line>\d+)(?::(?P<column>\d+))?\)?:'
    r" (?P<severity>error|warning|remark|note): (?P<message>.*)"
)
_AT = re.compile(r"(?P<file>[^\s:\"'][^:\n\"']*):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)")
_BARE = re.compile(r"^(?:[\w./+-]+: )?(?P<severity>error|warning|remark|note): (?P<message>.*)")
_LISTED = re.compile(
    r"(?:Running|Skipping) (?:pass|analysis): |(?:Invalidating|Clearing) (?:all )?analys| ?Running pass \d+ "
)
"""What LLVM's pass managers list as they go: the dumps say it, too."""
MOST = 4000
"""Letters of what was said between two dumps that a diagnostic has."""


@dataclass(frozen=True, slots=True)
class Crash:
    """What a log says of its own end."""

    message: str
    pass_name: str = ""


def crash(text: str) -> Crash | None:
    """The crash that a text tells of; None where it tells of none."""
    found = _CRASH.search(text)
    if found is None:
        return None
    end = text.find("\n", found.start())
    line = text[text.rfind("\n", 0, found.start()) + 1 : end if end >= 0 else len(text)].strip()
    running = list(_RUNNING.finditer(text))
    names = [one["name"] for one in running if one["name"]] or [one["other"] for one in running]
    passes = [name for name in names if "(" not in name]  # the others are pipelines
    return Crash(line[:500], passes[-1] if passes else "")


def diagnostics(text: str, place: Location, notes: Sequence[Diagnostic] = ()) -> list[Diagnostic]:
    """What a compiler or somebody else said, as diagnostics: each with its own place where it names one."""
    if len(text) > MOST:
        text = f"{text[:MOST]}\n... {len(text) - MOST} characters more"
    found: list[Diagnostic] = []
    rest: list[str] = []

    def flush() -> None:
        if any(line.strip() for line in rest):
            words = "\n".join(rest).strip("\n")
            if found and found[-1].location != place:
                last = found.pop()
                found.append(Diagnostic(last.severity, f"{last.message}\n{words}", last.location, last.notes))
            else:
                found.append(Diagnostic("remark", words, place, tuple(notes)))
        rest.clear()

    for line in text.split("\n"):
        if _LISTED.match(line):
            continue
        if (one := _said(line, place, tuple(notes))) is None:
            rest.append(line)
            continue
        flush()
        found.append(one)
    flush()
    return found


def _said(line: str, place: Location, notes: tuple[Diagnostic, ...]) -> Diagnostic | None:
    """What a line reports, where it does: with its own place, as MLIR and clang have it, or LLVM's optimiser."""
    if located := _SAID.match(line):
        file = located["quoted"] or located["file"]
        where = Location(file, int(located["line"][:9]), int((located["column"] or "0")[:9]))
        return Diagnostic(_severity(located["severity"]), located["message"], where, notes)
    if (bare := _BARE.match(line)) is None:
        return None
    if (at := _AT.match(bare["message"])) is None:
        return Diagnostic(_severity(bare["severity"]), bare["message"], place, notes)
    if at["file"] != "<unknown>":
        place = Location(at["file"], int(at["line"][:9]), int(at["column"][:9]))
    return Diagnostic(_severity(bare["severity"]), at["message"], place, notes)


def _severity(word: str):
    match word:
        case "error":
            return "error"
        case "warning":
            return "warning"
        case "note":
            return "note"
        case _:
            return "remark"
