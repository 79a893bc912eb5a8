"""Sizes that need not be computed, for TOSA: those of views, one of which is inferred, and those of one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from irwidget.frontends.indices import call, full, tidy
from irwidget.frontends.refusing import nodes_of
from irwidget.private_torch import statically_known_true

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_VIEWS = (aten.view.default, aten._unsafe_view.default)
_BROADCAST = (aten.where.self, aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)


def of(program: ExportedProgram) -> list[Node]:
    """The operators of a program whose dynamic sizes can be left out."""
    return [node for node in nodes_of(program) if _inferred(node) is not None or is_of_one(node)]


def inferred(program: ExportedProgram) -> None:
    """Change the program: a view infers its dynamic size, one that changes none is left out, and a number is itself.

    A matrix that is expanded to a batch multiplies all of its rows at once.
    """
    for node in of(program):
        x: Any = node.args[0]
        if node.target == aten.full_like.default:
            with node.graph.inserting_before(node):
                made = full(node, [1] * node.meta["val"].dim(), node.args[1])
            node.replace_all_uses_with(made)
        elif _is_one(x.meta["val"].shape, node.meta["val"].shape):
            node.replace_all_uses_with(x)
        else:
            node.args = (x, _inferred(node), *node.args[2:])
    for node in filter(_is_shared, nodes_of(program)):
        with node.graph.inserting_before(node):
            node.replace_all_uses_with(_by_one(node))
    tidy(program)


def _inferred(node: Node) -> list[int] | None:
    """The sizes of a view or an expansion, -1 for the one that is inferred; None where they say all, or cannot."""
    if node.target not in (*_VIEWS, aten.expand.default):
        return None
    x: Any = node.args[0]
    asked: Any = node.args[1]
    given, made = x.meta["val"].shape, node.meta["val"].shape
    if all(isinstance(size, int) for size in asked) and not _is_one(given, made):
        return None
    if node.target == aten.expand.default:
        front = len(made) - len(given)
        stays = [at >= front and statically_known_true(given[at - front] == size) for at, size in enumerate(made)]
        sizes = [-1 if kept else size for size, kept in zip(made, stays, strict=True)]
    else:
        sizes = _sizes(made)
        if sizes.count(-1) > 1:
            return None
    return sizes if all(isinstance(size, int) for size in sizes) else None


def _is_one(given: Sequence[Any], made: Sequence[Any]) -> bool:
    """Whether two shapes are one."""
    pairs = zip(given, made, strict=False)
    return len(given) == len(made) and all(statically_known_true(one == other) for one, other in pairs)


def is_of_one(node: Node) -> bool:
    """Whether a tensor of one number and of a dynamic size is put beside others of that size only."""
    if node.target != aten.full_like.default or not isinstance(node.args[1], int | float):
        return False
    shape = node.meta["val"].shape
    return any(isinstance(size, torch.SymInt) for size in shape) and all(_has_other(user, node) for user in node.users)


def _has_other(user: Node, node: Node) -> bool:
    others = [one for one in user.all_input_nodes if one is not node]
    shape = node.meta["val"].shape
    return user.target in _BROADCAST and any(_is_one(one.meta["val"].shape, shape) for one in others)


def _is_shared(node: Node) -> bool:
    """Whether a batch of matrices is multiplied by one, which is expanded to as many."""
    spread: Any = node.args[1] if node.target == aten.bmm.default else None
    if getattr(spread, "target", None) != aten.expand.default or _inferred(spread) is not None:
        return False
    matrix = list(spread.args[0].meta["val"].shape)
    one = len(matrix) == 2 or matrix[:-2] == [1]
    return one and all(isinstance(size, int) for size in matrix) and _sizes(node.meta["val"].shape).count(-1) == 1


def _by_one(node: Node) -> Node:
    x, spread = cast("tuple[Node, Node]", node.args)
    matrix = cast("Node", spread.args[0])
    inner, columns = matrix.meta["val"].shape[-2:]
    rows = call(node, aten.reshape.default, x, [-1, inner])
    made = call(node, aten.mm.default, rows, call(node, aten.reshape.default, matrix, [inner, columns]))
    return call(node, aten.reshape.default, made, _sizes(node.meta["val"].shape))


def _sizes(shape: Sequence[Any]) -> list[int]:
    """-1 where a size is dynamic."""
    return [size if isinstance(size, int) else -1 for size in shape]
