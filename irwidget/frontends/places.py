"""The user's lines, in messages: of a node of a graph, quoted, and as a notebook calls them."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING

from irwidget import private_ipython
from irwidget.trace import Location

if TYPE_CHECKING:
    from torch.fx import Node

_FRAME = re.compile(r'File "([^"]+)", line (\d+)(?:, in .*, column (\d+)$)?', re.M)
"""A frame of a node's stack trace, which is text; `stack.whole_user_stacks` has the columns written."""


def node_lines(node: Node) -> list[Location]:
    """The calls that made an operation of a traced graph, outermost first."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    return [Location(file, int(line), int(column or 0)) for file, line, column in found]


def quote(place: Location) -> str:
    """A line of a message that shows where in the user's code."""
    code = linecache.getline(place.file, place.line).strip()
    return f"  at {describe(place)}" + (f": {code}" if code else "")


def as_written(file: str, text: str) -> str:
    """The text of a cell with its magics as the user wrote them, which IPython has made Python of, line by line."""
    return like(private_ipython.raw_cell(file), text)


def like(written: str, text: str) -> str:
    """`written` where `text` is the Python that IPython has made of it, else `text`."""
    raw, lines = written.rstrip().split("\n"), text.rstrip().split("\n")
    pairs = zip(raw, lines, strict=False)
    same = len(raw) == len(lines) and all(b in (a, f"# {a}") or "get_ipython()." in b for a, b in pairs)
    return "\n".join(raw) + "\n" if same else text


def describe(place: Location) -> str:
    """`In[3] line 7` for a notebook's cell, `model.py:7` for a file."""
    cell = private_ipython.cell_of(place.file)
    return f"{cell} line {place.line}" if cell else f"{place.file}:{place.line}"
