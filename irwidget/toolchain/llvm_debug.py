"""Line information in LLVM IR, PTX and AMDGCN: read it, and take it out of the text.

What is left is, byte for byte, what LLVM prints for the same program without it.
Right for the lines that `translate` puts in (`DebugDirectivesOnly`), not for debug
information in general.
"""

from __future__ import annotations

import re

from irwidget.toolchain import debug_lines
from irwidget.trace import Content, Location, lines_of

Lines = tuple[Location | None, ...]


def content(language: str, text: str) -> Content:
    """Text to show and a source line for each of its lines."""
    match language:
        case "llvm":
            shown, places = llvm(text)
        case "ptx" | "amdgcn":
            shown, places = assembly(text)
        case _:
            return Content(text)
    return Content(shown, True, places)


_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(\w*)")
_REFERENCE = re.compile(r'("[^"]*")|!(\d+)\b')
_DBG = re.compile(r",? !dbg !\d+")


def llvm(text: str) -> tuple[str, Lines]:
    """LLVM IR without debug metadata, the other metadata renumbered, and the user's line of each line."""
    lines = lines_of(text)
    nodes = {match[1]: (match[2], line) for line in lines if line.startswith("!") and (match := _NODE.match(line))}
    code = [_DBG.sub("", line) if "!dbg" in line else line for line in lines]
    numbers = _renumbered(nodes, code)

    def renumber(match: re.Match[str]) -> str:
        return match[1] or f"!{numbers.get(match[2], match[2])}"

    kept: list[str] = []
    places: list[Location | None] = []
    for line, place in zip(code, debug_lines.llvm(text), strict=True):
        if line.startswith("!llvm.dbg.") or line.lstrip().startswith("#dbg_"):
            continue
        if "!" in line:
            node = _NODE.match(line)
            if node and node[1] not in numbers:
                continue
            if node:
                line = _without_debug_operands(line, nodes)
            line = _REFERENCE.sub(renumber, line)
        kept.append(line)
        places.append(place)
    return "\n".join(kept) + "\n" * text.endswith("\n"), tuple(places)


def _renumbered(nodes: dict[str, tuple[str, str]], code: list[str]) -> dict[str, int]:
    """New numbers of the metadata nodes that something other than debug information uses."""
    used: set[str] = set()
    waiting = [
        match[2]
        for line in code
        if "!" in line and not _NODE.match(line) and not line.startswith("!llvm.dbg.")
        for match in _REFERENCE.finditer(line)
        if match[2]
    ]
    while waiting:
        number = waiting.pop()
        kind, line = nodes.get(number, ("DI", ""))
        if number in used or kind.startswith("DI"):
            continue
        used.add(number)
        waiting += [match[2] for match in _REFERENCE.finditer(line) if match[2]]
    return {number: i for i, number in enumerate(sorted(used, key=int))}


def _without_debug_operands(line: str, nodes: dict[str, tuple[str, str]]) -> str:
    """A loop's metadata names where the loop is; the place goes, the rest stays."""
    return re.sub(
        r", !(\d+)\b", lambda match: "" if nodes.get(match[1], ("", ""))[0].startswith("DI") else match[0], line
    )


_DIRECTIVE = re.compile(
    r"\s*\.(?:loc|file)\s|\$L__func_(?:begin|end)\d+:|\.Lfunc_begin\d+:|\s*\.section\s+\.debug_macinfo\s*\{\s*\}"
    r"|\s*\.cfi_(?:sections \.debug_frame|startproc|endproc)"
)
_TEMPORARY = re.compile(r"(?:\.L|\$L__)tmp\d+")


def assembly(text: str) -> tuple[str, Lines]:
    """PTX or AMDGCN without `.loc`, `.file` and their labels, and the user's line of each line."""
    mentioned: dict[str, int] = {}
    for label in _TEMPORARY.findall(text):
        mentioned[label] = mentioned.get(label, 0) + 1
    kept: list[str] = []
    places: list[Location | None] = []
    for line, place in zip(lines_of(text), debug_lines.assembly(text), strict=True):
        label = line.removesuffix(":")
        if not _DIRECTIVE.match(line) and not (label != line and mentioned.get(label) == 1):
            kept.append(line)
            places.append(place)
    return "\n".join(kept) + "\n" * text.endswith("\n"), tuple(places)
