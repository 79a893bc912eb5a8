"""Where IR came from: lines of the user's, and nodes of a front end's graph."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Location:
    """A line of somebody's source. `column` is 0 when unknown."""

    file: str
    line: int
    column: int = 0
    caller: Location | None = None
    """The user's line that called this one, when known."""
    name: str = field(default="", compare=False)
    """The `Node` of the front end's graph that the IR was made from, when known."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph that a front end starts from; locations of the IR made from it name it."""

    name: str
    """`graph.node`, as in `for_loop_0.acc`; a graph's own name for its loop."""
    target: str
    """The op: `aten.addmm.default`, `load`, ..."""
    text: str
    """The node as a line: `acc = aten.addmm.default(_new_var, load, load_1)`."""
    location: Location | None = None
    """The user's line."""
    depth: int = 0
    """How many loops and branches hold it."""
    symbolic: bool = False
    """Whether its value is a size or another number rather than a tensor."""
