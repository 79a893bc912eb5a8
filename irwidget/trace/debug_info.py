"""Texts without the debug information that says which lines and names of a source they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from irwidget.trace.texts import lines_of

_DEBUG = re.compile(r", !dbg !\d+| !dbg !\d+")
_NODE = re.compile(r"(!\d+) = (?:distinct )?!DI\w+\(")
_LIST = re.compile(r"(!\d+) = (?:distinct )?!\{(.*)\}$")
_IN_LLVM = re.compile(r"\s*(?:#dbg_|(?:tail )?call void @llvm\.dbg\.|declare void @llvm\.dbg\.)|!llvm\.dbg\.cu =")
_IN_MLIR = re.compile(r"#di_|\s*llvm\.intr\.dbg\.")
_IN_ASSEMBLY = re.compile(r"\s*\.(?:loc|file)\s|\$L__(?:tmp|func_begin|func_end)\d+:|\.L(?:tmp|func_begin)\d+:")
_SECTION = re.compile(r"\s*\.section\s+\.?(\w+)")


def without(language: str, text: str) -> list[str]:
    """The lines of a text in MLIR, LLVM IR or assembly without debug information; of other languages, its lines."""
    lines = lines_of(text)
    match language:
        case "mlir":
            return [line for line in lines if not _IN_MLIR.match(line)]
        case "llvm":
            return list(_of_llvm(lines))
        case "ptx" | "amdgcn" | "x86asm" | "sass":
            return [line for line in _outside_sections(lines) if not _IN_ASSEMBLY.match(line)]
        case _:
            return lines


def _of_llvm(lines: Sequence[str]) -> Iterator[str]:
    nodes = {found[1] for found in map(_NODE.match, lines) if found}
    lists = [found for found in map(_LIST.match, lines) if found]
    while more := {found[1] for found in lists if _all_in(found[2].split(", "), nodes)} - nodes:
        nodes |= more
    for line in lines:
        if line.partition(" = ")[0] not in nodes and not _IN_LLVM.match(line):
            yield _DEBUG.sub("", line)


def _all_in(operands: Sequence[str], nodes: set[str]) -> bool:
    """Whether a list of metadata has nothing but debug information; an empty one has nothing at all."""
    return any(one in nodes for one in operands) and all(one in nodes or one == "null" for one in operands)


def _outside_sections(lines: Iterable[str]) -> Iterator[str]:
    """What is in no section of debug information; one of PTX ends with its bracket, others where the next begins."""
    inside = False
    for line in lines:
        if found := _SECTION.match(line):
            inside = found[1].startswith("debug")
        if not inside:
            yield line
        elif line.rstrip().endswith("}"):
            inside = False
