"""Indices from the back, which torch-mlir lowers as they are: it reads and writes beside what is meant.

What comes at run time is not known: constants count, and the inputs that the program is lowered with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.export.graph_signature import InputKind

from irwidget.private_torch import FakeTensor, OpOverload, is_mutable, pytree

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_PUTS = (aten.index_put.default, aten._unsafe_index_put.default)
_MOST = 1000
"""Operations of integers that are computed to know indices."""


def wrong(program: ExportedProgram, language: str) -> list[Any]:
    """The operators with such indices that are lowered wrongly: what writes, and what reads in `StableHLO`."""
    operators = (*_PUTS, aten.put.default, *([aten.index.Tensor] if language == "StableHLO" else []))
    found = {node.target for node, _ in _negative(program, operators)}
    return [one for one in operators if one in found]


def from_the_front(program: ExportedProgram) -> None:
    """Change the program: every index known to count from the back is one from the front."""
    for node, at in list(_negative(program, (*_PUTS, aten.index.Tensor))):
        source, indices = node.args[:2]
        index, extent = indices[at], source.meta["val"].shape[at]
        with program.graph.inserting_before(node):
            behind = call(node, aten.lt.Scalar, index, 0)
            if isinstance(extent, int):
                counted = call(node, aten.add.Tensor, index, extent)
            else:
                counted = call(node, aten.add.Scalar, index, call(node, aten.sym_size.int, source, at))
            found = call(node, aten.where.self, behind, counted, index)
        node.args = (source, [found if i == at else one for i, one in enumerate(indices)], *node.args[2:])
    program.graph_module.recompile()


def by_number(program: ExportedProgram) -> list[Node]:
    """The reads of one place by an index of no dimensions (`x[i]`), which is a number in them: TOSA has none."""
    return [node for node in program.graph.nodes if node.target == aten.select.int and _is_number_of(node.args[2])]


def _is_number_of(index: Any) -> bool:
    given = isinstance(index, torch.fx.Node) and index.target == aten._local_scalar_dense.default
    return given and _dtype(cast("Node", index.args[0])) in (torch.int64, torch.int32)


def as_places(program: ExportedProgram) -> None:
    """Change the program: what is read by a number of a tensor is read by the tensor."""
    for node in by_number(program):
        source, dim, number = cast("tuple[Node, int, Node]", node.args)
        extent = source.meta["val"].shape[dim]
        if not isinstance(extent, int):
            continue
        with program.graph.inserting_before(node):
            index = call(node, aten.view.default, number.args[0], [1])
            behind = call(node, aten.lt.Scalar, index, 0)
            counted = call(node, aten.add.Tensor, index, extent)
            row = call(
                node, aten.index_select.default, source, dim, call(node, aten.where.self, behind, counted, index)
            )
            made = call(node, aten.squeeze.dim, row, dim)
        node.replace_all_uses_with(made)
        for unused in (node, number):
            if not unused.users:
                program.graph.erase_node(unused)
    program.graph_module.recompile()


def _negative(program: ExportedProgram, operators: Collection[Any]) -> Iterator[tuple[Any, int]]:
    """The nodes that index by what has a negative element, as far as that is known, and the dimension."""
    values = _Values(program)
    for node in program.graph.nodes:
        if node.target not in operators:
            continue
        flat = node.target == aten.put.default  # which is one of these once it is taken apart
        for at, index in enumerate([node.args[1]] if flat else node.args[1]):
            if index is None or _dtype(index) not in (torch.int64, torch.int32):
                continue
            value = values.of(index)
            if value is not None and bool((value < 0).any()):
                yield node, at


class _Values:
    """The integers of a program that are known: constants, the inputs that it is lowered with, what comes of these."""

    def __init__(self, program: ExportedProgram) -> None:
        signature = program.graph_signature
        names = {**signature.inputs_to_lifted_tensor_constants, **signature.inputs_to_buffers}
        known = {name: program.constants.get(one, program.state_dict.get(one)) for name, one in names.items()}
        given = pytree.tree_leaves(program.example_inputs) if program.example_inputs else []
        user = [spec.arg.name for spec in signature.input_specs if spec.kind == InputKind.USER_INPUT]
        known |= dict(zip(user, given, strict=False)) if len(user) == len(given) else {}
        self._known = {name: one for name, one in known.items() if _is_here(one)}
        self._left = _MOST

    def of(self, node: Node) -> Any:
        """The value of a node; None where it is not known."""
        if node.name not in self._known and node.op == "call_function" and self._left > 0:
            self._left -= 1
            self._known[node.name] = self._computed(node)
        return self._known.get(node.name)

    def _computed(self, node: Node) -> Any:
        kinds = [_dtype(one) for one in (node, *node.all_input_nodes)]
        if any(kind is None or kind.is_floating_point or kind.is_complex for kind in kinds) or is_mutable(node.target):
            return None
        found = {one: self.of(one) for one in node.all_input_nodes}
        if any(value is None for value in found.values()) or not isinstance(node.target, OpOverload):
            return None
        args, kwargs = pytree.tree_map_only(torch.fx.Node, found.__getitem__, (node.args, dict(node.kwargs)))
        try:
            return node.target(*args, **kwargs)
        except Exception:  # what it is of is not what it was traced with
            return None


def _dtype(node: Node) -> torch.dtype | None:
    return getattr(node.meta.get("val"), "dtype", None)


def _is_here(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_meta and not isinstance(value, FakeTensor)


def call(node: Node, operator: Any, *args: Any) -> Node:
    """A node like another, at the same line."""
    made = node.graph.call_function(operator, args)
    values = [one.meta["val"] if isinstance(one, torch.fx.Node) else one for one in args]
    made.meta = {key: value for key, value in node.meta.items() if key != "tensor_meta"} | {"val": operator(*values)}
    return made


def tidy(program: ExportedProgram) -> None:
    """Leave out what is not used any more, after a program was changed."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            module.graph.eliminate_dead_code()
    program.graph_module.recompile()


def full(node: Node, sizes: Sequence[int], number: Any) -> Node:
    """A node full of a number, of the dtype of another and at its line."""
    value = node.meta["val"]
    made = node.graph.call_function(
        aten.full.default, (list(sizes), number), {"dtype": value.dtype, "device": value.device}
    )
    made.meta = {key: value for key, value in node.meta.items() if key != "tensor_meta"}
    with value.fake_mode:
        made.meta["val"] = value.new_empty(sizes)
    return made
