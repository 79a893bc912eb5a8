"""Which lines of a dump belong to which Device IR node, and to which line of the kernel. Plain data; no MLIR here."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irwidget.trace import Content, Location, Node, Trace, lines_of


@dataclass(frozen=True, slots=True)
class SourceLink:
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
class SourceLine:
    """A line of the user's code that is shown beside the IR."""

    file: str
    number: int
    text: str


def links(nodes: Iterable[Node], owners: Sequence[str | None]) -> tuple[SourceLink, ...]:
    """One link per Device IR node, in the order of emission. `owners` has the node of each line."""
    lines: dict[str, list[int]] = {}
    for number, node in enumerate(owners, 1):
        if node is not None:
            lines.setdefault(node, []).append(number)
    return tuple(SourceLink(n.name, n.target, n.location, tuple(lines.get(n.name, ()))) for n in nodes)


def owners_of(content: Content) -> list[str | None]:
    """The node of each line of a dump, by its locations; a line that opens a region is of the op that closes it."""
    lines = lines_of(content.text)
    names = [place.name or None if place else None for place in content.locations[: len(lines)]]
    return spread(lines, [*names, *[None] * (len(lines) - len(names))])


def spread(lines: Sequence[str], own: Sequence[str | None]) -> list[str | None]:
    """The node of each line, when MLIR names it only on the line where an op ends."""
    owners = list(own)
    open_lines: list[list[int]] = []
    for number, line in enumerate(lines):
        code = line.strip()
        closed: list[int] = []
        if code.startswith("}") and open_lines:
            closed = open_lines.pop()
        if code.endswith("{"):  # `} else {` goes on with the op of the line that it closes
            open_lines.append([*closed, number])
            owners[number] = None
        else:
            for start in closed:
                owners[start] = owners[number]
    around: list[str | None] = []
    for number, line in enumerate(lines):
        code = line.strip()
        if code.startswith("}") and around:
            around.pop()
        if owners[number] is None and code.startswith("^") and around:
            owners[number] = around[-1]  # block headers belong to the op that holds them
        if code.endswith("{"):
            around.append(owners[number])
    return owners


def source_lines(nodes: Sequence[Node], sources: Mapping[str, str]) -> list[SourceLine]:
    """The kernel, which the first node names, and below it the lines of other functions that nodes come from."""
    places = sorted({(n.location.file, n.location.line) for n in nodes if n.location})
    shown: dict[tuple[str, int], str] = {}
    first = nodes[0].location if nodes else None
    if first is not None and first.file in sources:
        text = sources[first.file].splitlines(keepends=True)[first.line - 1 :]
        for number, line in enumerate(inspect.getblock(text), first.line):
            shown[first.file, number] = line.rstrip()
    for file, number in places:
        text = sources.get(file, "").splitlines()
        if (file, number) not in shown and 0 < number <= len(text):
            shown[file, number] = text[number - 1]
    return [SourceLine(file, number, text) for (file, number), text in shown.items()]


def in_place(trace: Trace) -> str:
    """The kernel's source with the final MLIR of each line below it, as text."""
    text = trace.dumps[-1].text.splitlines()
    by_line: dict[tuple[str, int], list[SourceLink]] = {}
    for link in links(trace.nodes, owners_of(trace.dumps[-1].content)):
        if link.location is not None and link.mlir_lines:
            by_line.setdefault((link.location.file, link.location.line), []).append(link)
    parts: list[str] = []
    for line in source_lines(trace.nodes, trace.sources):
        parts.append(f"{line.number:4} | {line.text}".rstrip())
        for link in by_line.get((line.file, line.number), ()):
            parts.append(f"     |     # {link.node}: {link.target}")
            parts += [f"     |     {text[n - 1].strip()}" for n in link.mlir_lines]
    return "\n".join(parts) + "\n"
