"""Graphs in DOT as text: a box for each node, in the order of the file, and where its edges lead.

The browser draws them; this is what there is to see where no browser is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from irwidget.views.markup import capped, shortened

LINES = 80
"""Lines that one graph has at most."""
_NAME = r'(?:"(?:[^"\\]|\\.)*"|[\w.]+)'
_ATTRIBUTES = r'(?:\[(?P<attributes>(?:[^\]"]|"(?:[^"\\]|\\.)*")*)\])?'
_EDGE = re.compile(
    rf"^\s*(?P<source>{_NAME})(?::(?P<port>\w+))?\s*->\s*(?P<sink>{_NAME})(?::\w+)?\s*{_ATTRIBUTES}\s*;?$"
)
_NODE = re.compile(rf"^\s*(?P<name>{_NAME})\s*{_ATTRIBUTES}\s*;?$")
_LABEL = re.compile(r'\blabel\s*=\s*"((?:[^"\\]|\\.)*)"')
_TITLE = re.compile(r'^\s*label\s*=\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_PORT = re.compile(r"<(\w+)>([^|}]*)")
_WORDS = ("node", "edge", "graph", "digraph", "strict", "subgraph")


@dataclass
class _Node:
    lines: list[str]
    ports: dict[str, str]
    edges: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What each says, and the node that it leads to."""


def graphs(attachments: Mapping[str, bytes]) -> list[str]:
    """The graphs among the attachments of a trace, as text."""
    return [drawn(name, data.decode(errors="replace")) for name, data in attachments.items() if name.endswith(".dot")]


def drawn(name: str, dot: str) -> str:
    """A graph as boxes and arrows; down is to a node that is below, up to one above."""
    nodes = _read(dot)
    titled = _TITLE.search(dot)
    count = f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}"
    head = f"{_plain(titled[1]).strip() or name} ({name}, {count})" if titled else f"{name} ({count})"
    order = {node: number for number, node in enumerate(nodes)}
    lines = [head]
    for number, (node, one) in enumerate(nodes.items()):
        lines += _box(one.lines or [node])
        arrows = [
            f"{said} {'v' if order.get(sink, 0) > number else '^'} {_called(sink, nodes)}".strip()
            for said, sink in one.edges
        ]
        lines += [f"  {'   '.join(arrows)}"] if arrows else []
    return "\n".join(map(shortened, capped(lines, LINES)))


def _read(dot: str) -> dict[str, _Node]:
    nodes: dict[str, _Node] = {}
    for line in dot.splitlines():
        if edge := _EDGE.match(line):
            node = nodes.setdefault(edge["source"], _Node([], {}))
            said = _LABEL.search(edge["attributes"] or "")
            text = _plain(said[1]).strip() if said else node.ports.get(edge["port"] or "", "")
            node.edges.append((text, edge["sink"]))
            nodes.setdefault(edge["sink"], _Node([], {}))
        elif (found := _NODE.match(line)) and found["attributes"] and found["name"] not in _WORDS:
            label = _LABEL.search(found["attributes"])
            text = label[1] if label else ""
            kept = nodes.get(found["name"])
            fresh = _Node(_lines(text), {port: said.strip() for port, said in _PORT.findall(text)})
            fresh.edges = kept.edges if kept else fresh.edges
            nodes[found["name"]] = fresh
    return nodes


def _lines(label: str) -> list[str]:
    """What stands in a node: the fields of a record, without those that are only ports."""
    text = _PORT.sub("", label)
    fields = re.split(r"(?<!\\)[|{}]", text)
    lines = [line.rstrip() for one in fields for line in re.split(r"\\[lnr]", one)]
    return [_plain(line) for line in lines if line.strip()]


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _called(node: str, nodes: Mapping[str, _Node]) -> str:
    lines = nodes[node].lines
    return lines[0].strip().rstrip(":") if lines else node


def _box(lines: list[str]) -> list[str]:
    shown = [shortened(line) for line in lines]
    width = max(map(len, shown))
    return [f"+-{'-' * width}-+", *(f"| {line.ljust(width)} |" for line in shown), f"+-{'-' * width}-+"]
