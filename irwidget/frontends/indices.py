"""Constant indices from the back, which torch-mlir lowers as they are: it reads and writes beside what is meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_PUTS = (aten.index_put.default, aten._unsafe_index_put.default)
_COPIES = (aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default)


def wrong(program: ExportedProgram, language: str) -> list[Any]:
    """The operators with such indices that are lowered wrongly: what writes, and what reads in `StableHLO`."""
    operators = (*_PUTS, aten.index.Tensor) if language == "StableHLO" else _PUTS
    return [one for one in operators if any(node.target == one for node, _ in _negative(program))]


def from_the_front(program: ExportedProgram) -> None:
    """Change the program: every constant index from the back is one from the front."""
    for node, at in list(_negative(program)):
        source, indices = node.args[:2]
        index, extent = indices[at], source.meta["val"].shape[at]
        with program.graph.inserting_before(node):
            behind = _call(node, aten.lt.Scalar, index, 0)
            counted = _call(node, aten.add.Tensor, index, extent)
            found = _call(node, aten.where.self, behind, counted, index)
        node.args = (source, [found if i == at else one for i, one in enumerate(indices)], *node.args[2:])
    program.graph_module.recompile()


def _negative(program: ExportedProgram) -> Iterator[tuple[Any, int]]:
    """The nodes that index by a constant of which an element is negative, and the dimension."""
    signature = program.graph_signature
    names = {**signature.inputs_to_lifted_tensor_constants, **signature.inputs_to_buffers}
    for node in program.graph.nodes:
        if node.target not in (*_PUTS, aten.index.Tensor):
            continue
        for at, index in enumerate(node.args[1]):
            value = _constant(program, names, index)
            extent = node.args[0].meta["val"].shape[at : at + 1]
            if value is None or value.dtype not in (torch.int64, torch.int32):
                continue
            if all(isinstance(one, int) for one in extent) and bool((value < 0).any()):
                yield node, at


def _constant(program: ExportedProgram, names: dict[str, str], node: Any) -> torch.Tensor | None:
    while node is not None and node.target in _COPIES:
        node = node.args[0]
    name = names.get(node.name, "") if node is not None and node.op == "placeholder" else ""
    value = program.constants.get(name, program.state_dict.get(name))
    return value if isinstance(value, torch.Tensor) and not value.is_meta else None


def _call(node: Node, operator: Any, *args: Any) -> Node:
    """A node like another, at the same line."""
    made = node.graph.call_function(operator, args)
    values = [one.meta["val"] if isinstance(one, torch.fx.Node) else one for one in args]
    made.meta = {key: value for key, value in node.meta.items() if key != "tensor_meta"} | {"val": operator(*values)}
    return made
