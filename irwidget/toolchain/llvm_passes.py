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

import codecs
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from irwidget.toolchain import debug_lines, feeding, llvm, llvm_debug, processes
from irwidget.trace import WHOLE, Location, Scope, lines_of


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


class Stopped(Exception):
    """The tool failed; the message is its own."""


_BANNER = re.compile(r"^(?:[;#] )?\*\*\* IR (.+?) \*\*\*:?$", re.M)
_AFTER = re.compile(r"Dump After (.+?)(?: \(([\w-]+)\))?(?: on (.+?)(?: \(invalidated\))?)?")
_SILENT = re.compile(r"Dump At Start|.* (?:omitted because no change|filtered out|ignored)")
_UNSEEN = re.compile(r"Pass (.+) invalidated|Deleted After (.+) on .+")
_WRAPPER = re.compile(r".*(?:PassManager|Adaptor)\b.*")
_LOOP = re.compile(r"(?:loop )?(%.*) in function (.*)")
_MACHINE_TEXT = re.compile(r"^# Machine code for function (.+?):", re.M)
_PLACE = re.compile(rf",? !dbg !\d+|,? debug-location !\d+| *{debug_lines.COMMENT.pattern}")
_FUNCTION = re.compile(r'^define [^@]*@("[^"]*"|[\w.$-]+)', re.M)
_DEFINITION = re.compile(r"\s*(%[\w.$-]+) = ")
SHOWS = {"opt": ("-print-changed", "-print-module-scope"), "llc": ("-print-changed=quiet",)}
"""By tool, what has it print passes. Of functions alone a dump of `opt` would have what passes on others, and on the
module, did as well.
"""
_END = 1 << 16
"""Characters at the end of a log in which LLVM says what stopped it."""
_JOINED = 4
"""Names of passes that one dump is called by at most."""

_ASKS = re.compile(r"--?print-(?:changed(?:=quiet)?|after(?:-all|=.+))")


def asks(argument: str) -> bool:
    """Whether an argument of `opt` or `llc` has them print passes with the IR after each."""
    return _ASKS.fullmatch(argument) is not None


Named = Mapping[tuple[str, str], Location]
"""Places by function and value: values of two functions may have one name."""


def split(log: Iterable[str], named: Named | None = None, *, every: bool = False) -> Iterator[Changed]:
    """The dumps in what LLVM prints for `-print-changed`, without those that only renumber metadata.

    `log` has it in pieces; each dump is there when the next one begins. With `every`, all of what it printed, as for
    `-print-after-all`. What a pass did that invalidated what it ran on, as one that unrolls a loop, is printed with the
    next dump only: that has the names of both. `named` has the places of values, for what LLVM prints without debug
    information; without it the debug information is the user's own, and stays in the texts.
    """
    last: dict[Scope, str] = {}
    unseen: list[str] = []
    for said, printed in _printed(log):
        if found := _UNSEEN.fullmatch(said):
            unseen += [name for name in found.groups() if name and not _WRAPPER.fullmatch(name)]
            continue
        after = None if _SILENT.fullmatch(said) else _AFTER.fullmatch(said)
        if after is None:
            continue
        machine, module = bool(_MACHINE_TEXT.search(printed)), printed.startswith("; ModuleID = ")
        scope = scope_of(after[3] or _function(printed))
        text, places = _placed(printed, named) if named is not None else _own(printed, "mir" if machine else "llvm")
        shown = WHOLE if module else scope
        if every or last.get(shown) != text:
            last[shown] = text
            anchored = Scope(anchor=str(scope)) if module and not scope.whole else scope
            yield Changed(joined([*unseen, after[2] or after[1]]), anchored, "mir" if machine else "llvm", text, places)
            unseen.clear()


def _function(printed: str) -> str:
    """The function that a text is, in which `-print-after-all` does not name it; empty for a module."""
    if printed.startswith("; ModuleID = "):
        return ""
    found = _FUNCTION.search(printed) or _MACHINE_TEXT.search(printed)
    return found[1] if found else ""


def _printed(log: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What each banner of a log says, and the text below it."""
    said, below, looked = None, "", 0
    for piece in itertools.chain(log, [None]):
        below += piece or ""
        lines = len(below) if piece is None else below.rfind("\n") + 1  # the last one may not be whole yet
        begins = 0
        for banner in _BANNER.finditer(below, looked, lines):
            if said is not None:
                yield said, below[begins : banner.start()].strip("\n")
            said, begins = banner[1], banner.end()
        below, looked = below[begins:], max(looked, lines) - begins
    if said is not None:
        yield said, below.strip("\n")


def joined(names: Iterable[str]) -> str:
    """The name of a dump that several passes have made: the first ones, how many more, and the last."""
    different = list(dict.fromkeys(names))
    left = different[_JOINED - 1 : -1]
    shown = [*different[: _JOINED - 1], *([f"{len(left)} more"] if left else []), *different[_JOINED - 1 :][-1:]]
    return " + ".join(shown)


def scope_of(unit: str) -> Scope:
    """What LLVM says that a pass ran on: `[module]`, `f`, `(f)` of the call graph, `loop %l in function f`."""
    if unit in ("[module]", "module", ""):
        return WHOLE
    if loop := _LOOP.fullmatch(unit):
        return Scope(function=loop[2], loop=loop[1])
    return Scope(function=unit[1:-1] if unit.startswith("(") and unit.endswith(")") else unit)


def _own(printed: str, language: str) -> tuple[str, llvm_debug.Lines]:
    """The text with the debug information that the user wrote, and the place of each line."""
    text = printed + "\n"
    return text, debug_lines.lines(language, text)


def _placed(printed: str, named: Named) -> tuple[str, llvm_debug.Lines]:
    """The text without debug information, and the place of each line."""
    lines = printed.split("\n")
    places: list[Location | None] = [None] * len(lines)
    function = ""
    for i, line in enumerate(lines):
        if found := _FUNCTION.match(line):
            function = found[1]
        if match := _DEFINITION.match(line):
            name = match[1]
            places[i] = named.get((function, name)) or named.get((function, name.partition(".")[0]))  # copies: %i7.1
        if "!" in line or ":" in line:
            places[i] = debug_lines.machine_line(line) or places[i]
            lines[i] = _PLACE.sub("", line)
    return "\n".join(lines) + "\n", tuple(places)


def run(tool: str, arguments: str, text: str, *, own: bool) -> Iterator[Changed]:
    """The passes of `opt` or `llc` that change something, as they do.

    `own` says that the debug information of the text is the user's, who sees it; ours is taken out. Raises
    llvm.Rejected for a text that LLVM does not read, Stopped where the tool does not come to its end.
    """
    text, places = llvm.named(text), dict[tuple[str, str], Location]()
    if tool == "opt" and not own:  # llc prints places by itself
        text, lines = llvm_debug.llvm(text)
        function = ""
        for line, place in zip(lines_of(text), lines, strict=True):
            function = found[1] if (found := _FUNCTION.match(line)) else function
            if place and (match := _DEFINITION.match(line)):
                places[function, match[1]] = place
    command = processes.command("irwidget.toolchain.llvm_passes", tool, arguments)
    end = ""

    def pieces() -> Iterator[str]:
        nonlocal end
        for piece in codecs.iterdecode(log.pieces(), "utf-8", "replace"):
            end = (end + piece)[-_END:]
            yield piece

    with feeding.log_of(command, text.encode()) as log:
        yield from split(pieces(), None if own else places)
    if log.status:
        said = [line for line in end.splitlines() if "error" in line.lower()]
        raise Stopped(said[-1].removeprefix("error: ")[:500] if said else f"{tool} ended with status {log.status}")


def main(tool: str, arguments: str) -> None:
    import llvmlite.binding as binding

    for option in SHOWS[tool]:
        binding.set_option("irwidget", option)
    work = llvm.optimize if tool == "opt" else llvm.emit
    try:
        work(sys.stdin.read(), llvm.settings(tool, arguments))
    except llvm.Rejected as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
