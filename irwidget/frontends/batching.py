"""Tensors of as many rows as an input has, for TOSA, which has no sizes that are computed: chosen beside that input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from irwidget.frontends import inferring
from irwidget.frontends.indices import call, full
from irwidget.frontends.refusing import nodes_of
from irwidget.private_torch import statically_known_true

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_TENSORS = (aten.expand.default, aten.repeat.default)
_BY_SIZES = tuple(getattr(aten, name).Tensor for name in ("add", "sub", "mul", "div"))
_NUMBERS = (aten.full.default, aten.full_like.default, aten.empty_strided.default)


def of(program: ExportedProgram) -> list[Node]:
    """Numbers, and tensors of known sizes, that are repeated as often as an input of the same graph has rows.

    And floats that are divided by that size, or the like.
    """
    nodes = [node for node in nodes_of(program) if node.target in (*_TENSORS, *_NUMBERS, *_BY_SIZES)]
    return [node for node in nodes if not inferring.is_of_one(node) and _rows(node) is not None]


def beside_inputs(program: ExportedProgram) -> None:
    """Change the program: they are chosen by a mask that holds for each row of that input, and broadcasts them."""
    for node in of(program):
        at, source, dim = cast("tuple[int, Node, int]", _rows(node))
        with node.graph.inserting_before(node):
            if node.target in _BY_SIZES:
                node.args = (node.args[0], _counted(node, source, dim), *node.args[2:])
            else:
                node.replace_all_uses_with(_chosen(node, at, source, dim))
    for graph in {node.graph for node in nodes_of(program)}:
        graph.eliminate_dead_code()
    program.graph_module.recompile()


def _rows(node: Node) -> tuple[int, Node, int] | None:
    """The place of the one dynamic size, an input that has it, and its dimension there."""
    sizes = _sizes(node)
    if node.target in _BY_SIZES and node.meta["val"].dtype != torch.float32:  # halves do not hold every size
        return None
    dynamic = [at for at, size in enumerate(sizes) if not isinstance(size, int)]
    given = cast("Any", node.args[0]).meta["val"].shape if node.target in _TENSORS else ()
    if len(dynamic) != 1 or not all(isinstance(size, int) for size in given):
        return None
    if node.target in _NUMBERS and not isinstance(_number(node), int | float):
        return None
    for one in node.graph.nodes:
        value: Any = one.meta.get("val")
        if one.op != "placeholder" or not isinstance(value, torch.Tensor) or value.is_complex():
            continue
        for dim, size in enumerate(cast("Sequence[Any]", value.shape)):
            if not isinstance(size, int) and statically_known_true(size == sizes[dynamic[0]]):
                return dynamic[0], one, dim
    return None


def _sizes(node: Node) -> list[Any]:
    """How long each dimension is, or how often it is repeated."""
    if node.target in _BY_SIZES:
        size = cast("Any", node.args[1]).meta.get("val") if isinstance(node.args[1], torch.fx.Node) else None
        return [size] if isinstance(size, torch.SymInt) else []
    if node.target in _NUMBERS:
        return list(node.meta["val"].shape)
    asked = cast("Sequence[Any]", node.args[1])
    return [one.meta["val"] if isinstance(one, torch.fx.Node) else one for one in asked]


def _number(node: Node) -> Any:
    """What a tensor is full of: zeros where that is left open."""
    return 0 if node.target == aten.empty_strided.default else node.args[1]


def _chosen(node: Node, at: int, source: Node, dim: int) -> Node:
    value, sizes = node.meta["val"], _sizes(node)
    sizes[at] = 1
    x = call(node, node.target, node.args[0], sizes) if node.target in _TENSORS else full(node, sizes, _number(node))
    if repeated := node.target == aten.repeat.default:  # as often along a dimension of its own, which is then joined
        x = call(node, aten.unsqueeze.default, x, at)
    rank = value.dim() + repeated
    mask = call(node, aten.reshape.default, _mask(node, source, dim), [-1 if one == at else 1 for one in range(rank)])
    made = call(node, aten.where.self, mask, x, _other(node, mask))
    known = [size if isinstance(size, int) else -1 for size in value.shape]
    return call(node, aten.reshape.default, made, known) if repeated else made


def _counted(node: Node, source: Node, dim: int) -> Node:
    """How many rows the input has."""
    numbers = (full(node, [1] * source.meta["val"].dim(), number) for number in (1, 0))
    return call(node, aten.sum.default, call(node, aten.where.self, _mask(node, source, dim), *numbers))


def _other(node: Node, mask: Node) -> Node:
    """What is never chosen. It is no constant: a choice between equal ones is folded, and its rows with it."""
    if node.meta["val"].dtype == torch.bool:
        return call(node, aten.logical_not.default, mask)
    one, two = (full(node, [1] * mask.meta["val"].dim(), number) for number in (1, 2))
    return call(node, aten.where.self, mask, one, two)


def _mask(node: Node, source: Node, dim: int) -> Node:
    """Truths, as many as the input has rows: something of a row is not zero, or nothing is."""
    found = call(node, aten.ne.Scalar, source, 0)
    for other in range(source.meta["val"].dim()):
        if other != dim:
            found = call(node, aten.any.dim, found, other, True)
    return call(node, aten.logical_or.default, found, call(node, aten.logical_not.default, found))
