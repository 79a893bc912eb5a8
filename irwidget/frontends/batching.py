"""Tensors of as many rows as an input has, for TOSA, which has no sizes that are computed: chosen beside that input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from irwidget.frontends import inferring
from irwidget.frontends.indices import call, full, tidy
from irwidget.frontends.refusing import nodes_of
from irwidget.private_torch import statically_known_true

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_TENSORS = (aten.expand.default, aten.repeat.default)
_NUMBERS = (aten.full.default, aten.full_like.default, aten.empty_strided.default)


def of(program: ExportedProgram) -> list[Node]:
    """Numbers, and tensors of known sizes, that are repeated as often as an input of the same graph has rows."""
    nodes = [node for node in nodes_of(program) if node.target in (*_TENSORS, *_NUMBERS)]
    return [node for node in nodes if not inferring.is_of_one(node) and _rows(node) is not None]


def beside_inputs(program: ExportedProgram) -> None:
    """Change the program: they are chosen by a mask that holds for each row of that input, and broadcasts them."""
    for node in of(program):
        with node.graph.inserting_before(node):
            node.replace_all_uses_with(_chosen(node, *cast("tuple[int, Node, int]", _rows(node))))
    tidy(program)


def _rows(node: Node) -> tuple[int, Node, int] | None:
    """The place of the one dynamic size, an input that has it, and its dimension there."""
    sizes = _sizes(node)
    dynamic = [at for at, size in enumerate(sizes) if not isinstance(size, int)]
    given = cast("Any", node.args[0]).meta["val"].shape if node.target in _TENSORS else ()
    if len(dynamic) != 1 or not all(isinstance(size, int) for size in given):
        return None
    if node.target not in _TENSORS and not isinstance(_number(node), int | float):
        return None
    found = source(node, sizes[dynamic[0]])
    return None if found is None else (dynamic[0], *found)


def source(node: Node, size: Any) -> tuple[Node, int] | None:
    """An input of a node's graph that has a dynamic size, and its dimension there."""
    for one in node.graph.nodes:
        value: Any = one.meta.get("val")
        if one.op != "placeholder" or not isinstance(value, torch.Tensor) or value.is_complex():
            continue
        for dim, its in enumerate(cast("Sequence[Any]", value.shape)):
            if not isinstance(its, int) and statically_known_true(its == size):
                return one, dim
    return None


def _sizes(node: Node) -> list[Any]:
    """How long each dimension is, or how often it is repeated."""
    if node.target not in _TENSORS:
        return list(node.meta["val"].shape)
    asked = cast("Sequence[Any]", node.args[1])
    return [one.meta["val"] if isinstance(one, torch.fx.Node) else one for one in asked]


def _number(node: Node) -> Any:
    """What a tensor is full of: zeros where that is left open."""
    return 0 if node.target == aten.empty_strided.default else node.args[1]


def _chosen(node: Node, at: int, given: Node, dim: int) -> Node:
    value, sizes = node.meta["val"], _sizes(node)
    sizes[at] = 1
    x = call(node, node.target, node.args[0], sizes) if node.target in _TENSORS else full(node, sizes, _number(node))
    if repeated := node.target == aten.repeat.default:  # as often along a dimension of its own, which is then joined
        x = call(node, aten.unsqueeze.default, x, at)
    rank = value.dim() + repeated
    chosen = call(node, aten.reshape.default, mask(node, given, dim), [-1 if one == at else 1 for one in range(rank)])
    made = call(node, aten.where.self, chosen, x, _other(node, chosen))
    known = [size if isinstance(size, int) else -1 for size in value.shape]
    return call(node, aten.reshape.default, made, known) if repeated else made


def _other(node: Node, chosen: Node) -> Node:
    """What is never chosen. It is no constant: a choice between equal ones is folded, and its rows with it."""
    if node.meta["val"].dtype == torch.bool:
        return call(node, aten.logical_not.default, chosen)
    one, two = (full(node, [1] * chosen.meta["val"].dim(), number) for number in (1, 2))
    return call(node, aten.where.self, chosen, one, two)


def mask(node: Node, given: Node, dim: int) -> Node:
    """Truths, as many as the input has rows: something of a row is not zero, or nothing is."""
    found = call(node, aten.ne.Scalar, given, 0)
    for other in range(given.meta["val"].dim()):
        if other != dim:
            found = call(node, aten.any.dim, found, other, True)
    return call(node, aten.logical_or.default, found, call(node, aten.logical_not.default, found))
