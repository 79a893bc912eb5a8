"""LLVM's own passes, one dump for each that changed something.

LLVM prints them to stderr when it is told so by an option, and options belong to
the whole process and cannot be taken back. So a process of its own runs the tool
with the option set, and what it wrote is taken apart here.

    python -m irwidget.toolchain.llvm_passes opt|llc ARGUMENTS < in.ll > out
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from irwidget.toolchain import llvm, mlir, processes


@dataclass(frozen=True, slots=True)
class Changed:
    """The IR after a pass that changed it."""

    name: str
    """As LLVM prints it: `SROAPass`, `machine-cse`."""
    scope: str
    """What it ran on: `module`, a function's name, or a loop of one."""
    language: str
    """`llvm`, or `mir` for the code generator's own passes."""
    text: str


_HEADER = re.compile(r"^\*\*\* IR Dump After (.+?)(?: \(([\w-]+)\))? on (.+?) \*\*\*$", re.M)
_OMITTED = re.compile(r"^\*\*\* IR .*(?:omitted|filtered|ignored|invalidated|Deleted).*\*\*\*$", re.M)
_MACHINE_TEXT = re.compile(r"^# Machine code for function", re.M)
_DBG = re.compile(r",? !dbg !\d+|,? debug-location !\d+| *; [^;\n]*:\d+(?::\d+)?(?: @\[.*\])?$", re.M)


def split(log: str) -> Iterator[Changed]:
    """The dumps in what LLVM printed for `-print-changed=quiet`, without those that only renumber metadata."""
    headers = list(_HEADER.finditer(log))
    last: dict[str, str] = {}
    ends = [*(header.start() for header in headers[1:]), len(log)]
    for header, end in zip(headers, ends, strict=False):
        text = _OMITTED.sub("", log[header.end() : end]).strip("\n") + "\n"
        machine = bool(_MACHINE_TEXT.search(text))
        scope = "module" if header[3] == "[module]" else header[3].removeprefix("loop ").strip("()")
        text = _DBG.sub("", text)
        if last.get(scope) != text:
            last[scope] = text
            yield Changed(header[2] or header[1], scope, "mir" if machine else "llvm", text)


def run(tool: str, arguments: str, text: str) -> tuple[list[Changed], str]:
    """The passes of `opt` or `llc` that changed something, and what the tool made of the text.

    Raises PassFailed when the tool rejects the text or dies.
    """
    with tempfile.TemporaryFile() as log:  # LLVM writes every piece by itself: a pipe would be slow
        done = subprocess.run(
            processes.command("irwidget.toolchain.llvm_passes", tool, arguments),
            input=text.encode(), stdout=subprocess.PIPE, stderr=log, check=False,
        )
        log.seek(0)
        printed = log.read().decode(errors="replace")
    if done.returncode:
        said = [line for line in printed.splitlines() if "error" in line.lower() or "Rejected" in line]
        raise mlir.PassFailed(said[-1][:500] if said else f"{tool} ended with status {done.returncode}", ())
    return list(split(printed)), done.stdout.decode()


def main(tool: str, arguments: str) -> None:
    import llvmlite.binding as binding

    binding.set_option("irwidget", "-print-changed=quiet")
    work = llvm.optimize if tool == "opt" else llvm.emit
    sys.stdout.write(work(sys.stdin.read(), llvm.settings(tool, arguments)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
