"""LLVM's own passes, one dump for each that changed something.

LLVM prints them to stderr when it is told so by an option, and options belong to
the whole process and cannot be taken back. So a process of its own runs the tool
with the option set, and what it wrote is taken apart here.

Every value gets a name first. LLVM numbers a function's nameless values again for
each block that it prints, most of the time that printing takes; and a name stays with
its value from pass to pass, so that a diff shows no renumbering and a line of it finds
the source line of the instruction that had the name.

    python -m irwidget.toolchain.llvm_passes opt|llc ARGUMENTS < in.ll 2> dumps
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from irwidget.toolchain import llvm, llvm_debug, processes
from irwidget.trace import WHOLE, Location, Scope


@dataclass(frozen=True, slots=True)
class Changed:
    """The IR after a pass that changed it."""

    name: str
    """As LLVM prints it: `SROAPass`, `machine-cse`."""
    scope: Scope
    """What it ran on, and shows: the module, a function, or a loop of one."""
    language: str
    """`llvm`, or `mir` for the code generator's own passes."""
    text: str
    places: llvm_debug.Lines = ()
    """For each line its place in the debug information of the tool's input."""


_HEADER = re.compile(r"^\*\*\* IR Dump After (.+?)(?: \(([\w-]+)\))? on (.+?) \*\*\*$", re.M)
_LOOP = re.compile(r"(?:loop )?(%.*) in function (.*)")
_OMITTED = re.compile(r"^\*\*\* IR .*(?:omitted|filtered|ignored|invalidated|Deleted).*\*\*\*$", re.M)
_MACHINE_TEXT = re.compile(r"^# Machine code for function", re.M)
_PLACE = re.compile(r",? !dbg !\d+|,? debug-location !\d+| *; ([^;\n]*):(\d+)(?::\d+)?(?: @\[.*\])?$")
_DEFINITION = re.compile(r"\s*(%[\w.$-]+) = ")


def split(log: str, named: Mapping[str, Location] | None = None) -> Iterator[Changed]:
    """The dumps in what LLVM printed for `-print-changed=quiet`, without those that only renumber metadata.

    `named` has the places of values by name, for what LLVM prints without debug information.
    """
    headers = list(_HEADER.finditer(log))
    last: dict[Scope, str] = {}
    ends = [*(header.start() for header in headers[1:]), len(log)]
    for header, end in zip(headers, ends, strict=False):
        printed = _OMITTED.sub("", log[header.end() : end]).strip("\n")
        machine = bool(_MACHINE_TEXT.search(printed))
        scope = scope_of(header[3])
        text, places = _placed(printed, named or {})
        if last.get(scope) != text:
            last[scope] = text
            yield Changed(header[2] or header[1], scope, "mir" if machine else "llvm", text, places)


def scope_of(unit: str) -> Scope:
    """What LLVM says that a pass ran on: `[module]`, `f`, `(f)` of the call graph, `loop %l in function f`."""
    if unit in ("[module]", "module", ""):
        return WHOLE
    if loop := _LOOP.fullmatch(unit):
        return Scope(function=loop[2], loop=loop[1])
    return Scope(function=unit.strip("()"))


def _placed(printed: str, named: Mapping[str, Location]) -> tuple[str, llvm_debug.Lines]:
    """The text without debug information, and the place of each line."""
    lines = printed.split("\n")
    places: list[Location | None] = [None] * len(lines)
    for i, line in enumerate(lines):
        if match := _DEFINITION.match(line):
            places[i] = named.get(match[1]) or named.get(match[1].partition(".")[0])  # %i7.1 is a copy of %i7
        if "!" in line or ":" in line:
            for place in _PLACE.finditer(line):
                if place[2] and int(place[2]):
                    places[i] = Location(place[1], int(place[2]))
            lines[i] = _PLACE.sub("", line)
    return "\n".join(lines) + "\n", tuple(places)


def run(tool: str, arguments: str, text: str) -> tuple[list[Changed], str]:
    """The passes of `opt` or `llc` that changed something, and what stopped the tool, if anything did."""
    text, places = llvm.named(text), dict[str, Location]()
    if tool == "opt":  # llc prints places by itself
        text, lines = llvm_debug.llvm(text)
        definitions = zip(map(_DEFINITION.match, text.splitlines()), lines, strict=True)
        places = {match[1]: place for match, place in definitions if match and place}
    with tempfile.TemporaryFile() as log:
        done = subprocess.run(
            processes.command("irwidget.toolchain.llvm_passes", tool, arguments),
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=log,
            check=False,
        )
        log.seek(0)
        printed = log.read().decode(errors="replace")
    if not done.returncode:
        return list(split(printed, places)), ""
    said = [line for line in printed.splitlines() if "error" in line.lower() or "Rejected" in line]
    return list(split(printed, places)), said[-1][:500] if said else f"{tool} ended with status {done.returncode}"


def main(tool: str, arguments: str) -> None:
    import llvmlite.binding as binding

    binding.set_option("irwidget", "-print-changed=quiet")
    work = llvm.optimize if tool == "opt" else llvm.emit
    work(sys.stdin.read(), llvm.settings(tool, arguments))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
