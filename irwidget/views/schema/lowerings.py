"""Lowerings, their passes and what is written on them."""

from __future__ import annotations

from typing import Literal, TypedDict


class Failure(TypedDict):
    """Where a lowering stopped, and why."""

    step: str
    """The tool."""
    pass_: str
    message: str
    diagnostics: list[str]
    reproducer: str
    """A shell command that shows the failure again; "" where there is none."""


class ViewedStage(TypedDict):
    """What a view says of a dump, beyond what the file has of it."""

    label: str
    """The name, numbered when the trace runs the pass more than once."""
    step: str
    scope: str
    """What the pass ran on: `module`, a function or a kernel."""
    part: str
    """The function or kernel that the text shows; "" when it shows the whole module."""
    syntax: str
    """Which column of operations is that of its language; "" where there is none."""
    before: int
    """The stage that this one is compared with: the last of the same function or kernel; -1 for none."""
    check: Literal["equal", "differs", ""]
    """Whether what the stage computes equals eager PyTorch; "" where it was not executed."""


class Verdict(TypedDict):
    """What a check of a lowering has found."""

    state: Literal["equal", "differs", "not checked"]
    brief: str
    """In a few words."""
    reference: str
    """What it was compared with."""
    text: str
    """In full, with numbers."""
    stage: int
    """The first wrong stage; -1 where there is none."""


class ViewedTrace(TypedDict):
    """What a view says of a lowering without the text of its dumps."""

    facts: list[tuple[str, str]]
    verdict: Verdict | None
    """null where nobody asked for a check."""
    failure: Failure | None
    diagnostics: list[str]
    stages: list[ViewedStage]


class LinkedNode(TypedDict):
    """A node of a Helion kernel's graph."""

    name: str
    """`graph.node`."""
    target: str
    text: str
    """The node as a line of code."""
    depth: int
    """How many loops and branches hold it."""
    symbolic: bool
    """Whether it only computes a size or another number."""
    row: int
    """Its row of the source, or -1."""


class LinkedStage(TypedDict):
    """A dump of a Helion kernel, line by line."""

    index: int
    """The number of the dump in the lowering."""
    name: str
    step: str
    language: str
    lines: list[int]
    """Numbers into the table of lines."""
    owners: list[int]
    """For each line, the number of its node, or -1."""


class LinkedProgram(TypedDict):
    """What one of Triton's steps made of a Helion kernel, line by line."""

    name: str
    language: str
    lines: list[int]
    """Numbers into the table of lines."""
    rows: list[int]
    """For each line, its row of the source, or -1."""


class LinkedKernel(TypedDict):
    """A Helion kernel: source, nodes, and the lines that came from each."""

    name: str
    source: list[tuple[str, int, str]]
    """File, line number and text of each line."""
    nodes: list[LinkedNode]
    table: list[str]
    stages: list[LinkedStage]
    programs: list[LinkedProgram]
    """What the fourth column can show, in the order of a lowering; empty where there is none."""


class Note(TypedDict):
    """What a reader has written on a line of a dump."""

    lowering: str
    """The name of the lowering and what it goes to, as the view says it."""
    pass_: str
    """The label of the pass."""
    line: int
    """From 1."""
    text: str
    """The line as it was."""
    note: str
