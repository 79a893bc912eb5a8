"""Text of a module for people: readable names, affine maps written out, and the node that each line is of."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from irwidget.helion import linking
from irwidget.helion.bindings import ir
from irwidget.lazy import cached_property
from irwidget.trace import Content, Location, Node, syntax

_LOC = re.compile(r'("(?:[^"\\]|\\.)*")|(\bloc\()')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


class AnnotatedText:
    """A module as text, with names `%t0`, `%blk_arg0`, ... and no attribute aliases, and the node of each line.

    Function arguments keep the names of the host function's tensors, constants MLIR's names (`%c16`, `%cst`). The names
    are the same for the same module. It is printed when it is first looked at.

    Args:
        operation: the module, which stays as it is.
        known: the nodes that locations may name.
    """

    def __init__(self, operation: Any, known: Collection[str]) -> None:
        self._named = operation.clone()
        self._known = frozenset(known)
        _rename(self._named)

    def _printed(self, **options: bool) -> str:
        return self._named.get_asm(
            use_name_loc_as_prefix=True, use_local_scope=True, large_elements_limit=32, assume_verified=True, **options
        )

    @cached_property
    def text(self) -> str:
        """The module."""
        return self._printed()

    @cached_property
    def nodes(self) -> tuple[str | None, ...]:
        """For each line of `text`, the node that it is of."""
        owners = [_owner(line, self._known) for line in self._printed(enable_debug_info=True).splitlines()]
        return tuple(linking.spread(self.text.splitlines(), owners))


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
        hidden = not syntax.prints_body(operation.name)
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


def content(shown: AnnotatedText, nodes: Mapping[str, Node]) -> Content:
    """A shown module as the content of a dump: each line with the place and the name of its node."""
    return Content(shown.text, True, tuple(_place(nodes.get(node or "")) for node in shown.nodes))


def _place(node: Node | None) -> Location | None:
    return replace(node.location, name=node.name) if node and node.location else None
