"""Text of a module for people: readable names, affine maps written out, and the node that each line is of."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from irwidget.dumps import Location
from irwidget.helion.bindings import ir

_LOC = re.compile(r'("(?:[^"\\]|\\.)*")|(\bloc\()')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


_PRINTED_BODIES = ("linalg.generic", "linalg.map", "linalg.reduce")
"""The linalg ops whose bodies are printed."""


@dataclass(frozen=True, slots=True)
class Link:
    """What belongs together: a line of the kernel, a Device IR node, and lines of MLIR."""

    node: str
    """`graph.node`, as in `for_loop_0.acc`."""
    target: str
    """The op: `aten.addmm.default`, `load`, ..."""
    location: Location | None
    """The kernel's line."""
    mlir_lines: tuple[int, ...]
    """1-based lines of the shown module; empty when none is left of the node."""

    @property
    def source_lines(self) -> tuple[int, ...]:
        """The kernel's line as a tuple, empty when it is not known."""
        return (self.location.line,) if self.location else ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A module as text, and for each line the node that it is of."""

    text: str
    nodes: tuple[str | None, ...]


def show(operation: Any, known: Collection[str]) -> Shown:
    """Print a module with names `%t0`, `%blk_arg0`, ... and no attribute aliases.

    Function arguments keep the names of the host function's tensors, constants
    MLIR's names (`%c16`, `%cst`). `known` are the nodes that locations may name.
    The names are the same for the same module.
    """
    clone = operation.clone()
    _rename(clone)
    options: dict[str, Any] = {
        "use_name_loc_as_prefix": True, "use_local_scope": True, "large_elements_limit": 32, "assume_verified": True,
    }
    text = clone.get_asm(**options)
    annotated = clone.get_asm(enable_debug_info=True, **options)
    return Shown(text, tuple(_owners(annotated.splitlines(), frozenset(known))))


def _rename(root: Any) -> None:
    """Give every value a location whose name the printer turns into its SSA name."""
    counts = {"t": 0, "blk_arg": 0}

    def fresh(prefix: str) -> str:
        counts[prefix] += 1
        return f"{prefix}{counts[prefix] - 1}"

    def visit(operation: Any) -> None:
        if len(operation.results):
            name = _constant_name(operation) or fresh("t")
            operation.location = ir.Location.name(name, operation.location, context=root.context)
        hidden = operation.name.startswith("linalg.") and operation.name not in _PRINTED_BODIES
        for region in () if hidden else operation.regions:
            for block in region.blocks:
                if operation.name != "func.func":
                    for argument in block.arguments:
                        argument.set_location(ir.Location.name(fresh("blk_arg"), context=root.context))
                for view in block.operations:
                    visit(view.operation)

    visit(root)


def _constant_name(operation: Any) -> str | None:
    """MLIR's own names for constants: `%c16`, `%c1_i32`, `%cst`."""
    if operation.name != "arith.constant":
        return None
    value = str(operation.attributes["value"])
    number, _, kind = value.partition(" : ")
    if re.fullmatch(r"-?\d+", number):
        return f"c{number}" if kind == "index" else f"c{number}_{kind}"
    return number if number in ("true", "false") else "cst"


def _owners(lines: list[str], known: Collection[str]) -> list[str | None]:
    """The node of each line. A line that opens a region is of the op that the closing line names."""
    owners: list[str | None] = []
    open_lines: list[list[int]] = []
    for number, line in enumerate(lines):
        owner = _owner(line, known)
        code = _without_locations(line).strip()
        owners.append(owner)
        closed: list[int] = []
        if code.startswith("}") and open_lines:
            closed = open_lines.pop()
        if code.endswith("{"):  # `} else {` goes on with the op of the line that it closes
            open_lines.append([*closed, number])
            owners[number] = None
        else:
            for start in closed:
                owners[start] = owner
    return _inherit(lines, owners)


def _inherit(lines: list[str], owners: list[str | None]) -> list[str | None]:
    """Block headers belong to the op that holds them."""
    around: list[str | None] = []
    for number, line in enumerate(lines):
        code = _without_locations(line).strip()
        if code.startswith("}") and around:
            around.pop()
        if owners[number] is None and code.startswith("^") and around:
            owners[number] = around[-1]
        if code.endswith("{"):
            around.append(owners[number])
    return owners


def _owner(line: str, known: Collection[str]) -> str | None:
    """The node that the last location of a line names."""
    start = -1
    for match in _LOC.finditer(line):
        if match[2]:
            start = match.start()
    if start < 0:
        return None
    names = [name for name in _STRING.findall(line[start:]) if name in known]
    return names[-1] if names else None


def _without_locations(line: str) -> str:
    position = line.find(" loc(")
    if position < 0:
        return line
    rest = line[position:]
    depth, quoted = 0, False
    for index, character in enumerate(rest):
        if character == '"' and rest[index - 1] != "\\":
            quoted = not quoted
        elif not quoted and character == "(":
            depth += 1
        elif not quoted and character == ")":
            depth -= 1
            if depth == 0:
                return line[:position] + _without_locations(rest[index + 1 :])
    return line[:position]


def links(shown: Shown, nodes: Mapping[str, Location | None], targets: Mapping[str, str]) -> tuple[Link, ...]:
    """One link per Device IR node, in the order of emission."""
    lines: dict[str, list[int]] = {}
    for number, node in enumerate(shown.nodes, 1):
        if node is not None:
            lines.setdefault(node, []).append(number)
    return tuple(
        Link(node, targets.get(node, ""), location, tuple(lines.get(node, ()))) for node, location in nodes.items()
    )


def in_place(source: str, first: int, shown: Shown, found: Collection[Link]) -> str:
    """The kernel's source with each line's MLIR below it, as text.

    `first` is the line number of the first line of `source`.
    """
    text = shown.text.splitlines()
    by_line: dict[int, list[Link]] = {}
    for link in found:
        if link.location is not None and link.mlir_lines:
            by_line.setdefault(link.location.line, []).append(link)
    parts: list[str] = []
    for number, line in enumerate(source.splitlines(), first):
        parts.append(f"{number:4} | {line}")
        for link in by_line.get(number, ()):
            parts.append(f"     |     # {link.node}: {link.target}")
            parts += [f"     |     {text[n - 1].strip()}" for n in link.mlir_lines]
    return "\n".join(parts) + "\n"
