"""Sizes as numbers, for TOSA, which has none that are computed: as many ones as an input has rows are added up."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch

from irwidget.frontends.batching import mask, source
from irwidget.frontends.indices import call, full, tidy
from irwidget.frontends.refusing import nodes_of

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_TAKE = tuple(getattr(aten, name).Tensor for name in ("add", "sub", "mul", "div"))
"""Operators of a tensor and a number."""
_OF_NUMBERS: dict[Any, Any] = {
    operator.add: aten.add.Tensor,
    operator.sub: aten.sub.Tensor,
    operator.mul: aten.mul.Tensor,
    operator.truediv: aten.div.Tensor,
    operator.pow: aten.pow.Tensor_Scalar,
}
"""What is computed of sizes, as operators of tensors."""


def of(program: ExportedProgram) -> list[Node]:
    """Operators of float32 that take a number which is computed of the sizes of the same graph's inputs.

    Halves do not hold every size.
    """
    nodes = [node for node in nodes_of(program) if node.target in _TAKE and _is_float(node)]
    return [node for node in nodes if _is_number(node.args[1]) and _counts(cast("Node", node.args[1]))]


def counted(program: ExportedProgram) -> None:
    """Change the program: they take a tensor of no dimensions."""
    for node in of(program):
        with node.graph.inserting_before(node):
            node.args = (node.args[0], _count(node, node.args[1]), *node.args[2:])
    tidy(program)


def _is_float(node: Node) -> bool:
    value = node.meta["val"]
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _is_number(value: Any) -> bool:
    """Whether a node stands for a number that is not known."""
    return isinstance(value, torch.fx.Node) and isinstance(value.meta.get("val"), torch.SymInt | torch.SymFloat)


def _sizes(node: Node) -> list[Any] | None:
    """Those whose product a node is; None where it is computed."""
    if node.target not in (aten.sym_size.int, aten.sym_numel.default):
        return None
    return [node.meta["val"]] if node.target == aten.sym_size.int else list(cast("Any", node.args[0]).meta["val"].shape)


def _counts(node: Node) -> bool:
    """Whether a number can be computed of the sizes of inputs."""
    if (sizes := _sizes(node)) is not None:
        return all(isinstance(size, int) or source(node, size) for size in sizes)
    if node.target not in (*_OF_NUMBERS, torch.sym_float):
        return False
    numbers = [one for one in node.args if isinstance(one, torch.fx.Node)]
    power = node.target is operator.pow and numbers != [node.args[0]]
    return not power and all(_is_number(one) and _counts(one) for one in numbers)


def _count(node: Node, number: Any) -> Node:
    """A number that `_counts`, as a tensor at the line of a node that takes it."""
    if not isinstance(number, torch.fx.Node):
        return full(node, [], number)
    if number.target is torch.sym_float:
        return _count(node, number.args[0])
    if (sizes := _sizes(number)) is not None:
        made = full(node, [], math.prod(size for size in sizes if isinstance(size, int)))
        for size in (size for size in sizes if not isinstance(size, int)):
            made = call(node, aten.mul.Tensor, made, _rows(node, *cast("tuple[Node, int]", source(number, size))))
        return made
    first, second = number.args
    made = _count(node, first)
    take: Callable[..., Any] = _OF_NUMBERS[number.target]
    return call(node, take, made, second if number.target is operator.pow else _count(node, second))


def _rows(node: Node, given: Node, dim: int) -> Node:
    numbers = (full(node, [1] * given.meta["val"].dim(), number) for number in (1, 0))
    return call(node, aten.sum.default, call(node, aten.where.self, mask(node, given, dim), *numbers))
