"""Tensors of no elements, and of as many as values make, of which there may be none.

torch-mlir takes none for one, which it reads beyond the end where it writes at such places, ends the process where
memory has no element, and finds a variance in nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How
from irwidget.frontends.indices import tidy
from irwidget.frontends.refusing import nodes_of
from irwidget.private_torch import statically_known_true

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten


def _may_be_none(sizes: Iterable[Any]) -> bool:
    return any(not statically_known_true(size > 0) for size in sizes)


def _takes(x: Any, indices: Any, values: Any, *_: Any, **__: Any) -> bool:
    """Whether there may be no place in an `index_put` by integers."""
    given = [value_of(one) for one in indices if one is not None]
    return all(one.dtype != torch.bool for one in given) and _may_be_none(size for one in given for size in one.shape)


def _put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """One place more, behind the end of the first dimension with an index, which is cut off again."""
    if not _takes(x, indices, values, accumulate):
        return NotImplemented
    dims = [dim for dim, one in enumerate(indices) if one is not None]
    first, extent, given = dims[0], x.shape[dims[0]], list(indices)
    places = torch.broadcast_tensors(
        *(torch.where(given[dim] < 0, given[dim] + x.shape[dim], given[dim]) for dim in dims)
    )
    for dim, one in zip(dims, places, strict=True):
        given[dim] = _longer(one.reshape(-1), 0, extent if dim == first else 0)
    apart = dims[-1] - first >= len(dims)
    behind = x.dim() - len(dims) if apart else x.dim() - dims[-1] - 1
    if values.dim() > behind:  # each place has its own
        shape, count = values.shape, places[0].dim()
        at = max(values.dim() - behind - count, 0)
        values = values.expand(*shape[:at], *places[0].shape, *shape[values.dim() - behind :])
        values = _longer(values.flatten(at, at + count - 1), at, 0)
    return aten.index_put.default(_longer(x, first, 0), given, values, accumulate).narrow(first, 0, extent)


def _longer(x: Any, dim: int, number: int) -> Any:
    """With one element more along a dimension."""
    return torch.cat([x, x.new_full([1 if at == dim else size for at, size in enumerate(x.shape)], number)], dim)


def lies_in_order(sizes: Sequence[Any], strides: Sequence[Any]) -> bool:
    """Whether strides are known to leave no gaps, of sizes that run time may know."""
    step: Any = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if not (isinstance(size, int) and size == 1) and not statically_known_true(stride == step):
            return False
        step = step * torch.sym_max(size, 1)
    return True


def _is_made(sizes: Any, strides: Any, **_: Any) -> bool:
    """Whether memory of a size that run time knows, and may have no element, lies without gaps."""
    given = [value_of(one) for one in sizes]
    open_ = _may_be_none(size for size in given if not isinstance(size, int))
    return open_ and lies_in_order(given, [value_of(stride) for stride in strides])


def _made(sizes: Any, strides: Any, **how: Any) -> Any:
    return aten.empty.memory_format(sizes, **how) if _is_made(sizes, strides) else NotImplemented


def of_none(program: ExportedProgram) -> list[Node]:
    """The operators whose result is known to be a tensor of no elements, which is all of it.

    The tokens of effects are such tensors, too, and say more.
    """
    nodes = [node for node in nodes_of(program) if _is_none(node)]
    return [node for node in nodes if all(str(one.target) != "with_effects" for one in node.all_input_nodes)]


def _is_none(node: Node) -> bool:
    value = node.meta.get("val")
    sizes: list[Any] = list(value.shape) if isinstance(value, torch.Tensor) else []
    known = [size for size in sizes if isinstance(size, int)]
    return 0 in known and all(_source(node, size) for size in sizes if not isinstance(size, int))


def _source(node: Node, size: Any) -> tuple[Node, int | None] | None:
    """What of that which an operator takes is a size that run time knows: a number, or a tensor's dimension."""
    for one in node.all_input_nodes:
        value: Any = one.meta.get("val")
        sizes = enumerate(value.shape) if isinstance(value, torch.Tensor) else [(None, value)]
        for dim, its in sizes:
            if isinstance(its, torch.SymInt) and statically_known_true(its == size):
                return one, dim
    return None


def as_new(program: ExportedProgram) -> None:
    """Change the program: tensors of no elements are new ones, of which passes refuse what they are computed by."""
    found = of_none(program)
    for node in found:
        value: Any = node.meta["val"]
        with node.graph.inserting_before(node):
            sizes = [size if isinstance(size, int) else _taken_from(node, size) for size in value.shape]
            made = node.graph.call_function(aten.full.default, (sizes, 0), {"dtype": value.dtype})
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        node.graph.erase_node(node)
    tidy(program)


def _taken_from(node: Node, size: Any) -> Node:
    one, dim = cast("tuple[Node, int | None]", _source(node, size))
    if dim is None:
        return one
    made = node.graph.call_function(aten.sym_size.int, (one, dim))
    made.meta["val"] = size
    return made


def variances(
    is_wrong: Callable[[Iterable[Any]], bool], *, of_all: bool = False, count: Callable[..., Any] | None = None
) -> dict[Any, How]:
    """Those of floats, where torch-mlir's is wrong, or refused, for the sizes along which they are; or for `of_all`.

    `count(x, dims, keepdim)` is how many elements there are along dynamic dimensions, where sizes are no numbers.
    """

    def takes(x: Any, dims: Any = None, **_: Any) -> bool:
        value = value_of(x)
        return (
            bool(value.dim())
            and value.dtype.is_floating_point
            and is_wrong(value.shape if of_all else _sizes(value, dims))
        )

    def variance(x: Any, dims: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        return _variance(x, dims, correction, keepdim, count) if takes(x, dims) else NotImplemented

    def with_mean(x: Any, dims: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        if not takes(x, dims):
            return NotImplemented
        return _variance(x, dims, correction, keepdim, count), x.mean(dims or list(range(x.dim())), keepdim)

    return {aten.var.correction: (takes, variance), aten.var_mean.correction: (takes, with_mean)}


def _sizes(x: Any, dims: Any) -> list[Any]:
    return [x.shape[dim] for dim in dims or range(x.dim())]


def _variance(x: Any, dims: Any, correction: Any, keepdim: bool, count: Callable[..., Any] | None) -> Any:
    """What is left of the elements divides, which is nothing where there are none."""
    dims = list(dims or range(x.dim()))
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    squares = ((wide - wide.mean(dims, True)) ** 2).sum(dims, keepdim)
    less = 1 if correction is None else int(correction) if correction == int(correction) else correction
    sizes = _sizes(x, dims)
    if count and not all(isinstance(size, int) for size in sizes):
        return (squares / (count(x, dims, keepdim) - less).clamp(min=0)).to(x.dtype)
    return (squares / torch.sym_max(math.prod(sizes) - less, 0)).to(x.dtype)


IN_ALL: dict[Any, How] = variances(_may_be_none)
"""By operator: whether it is taken apart, and how."""
IN_LINALG: dict[Any, How] = {
    **IN_ALL,
    **dict.fromkeys((aten.index_put.default, aten._unsafe_index_put.default), (_takes, _put)),
    aten.empty_strided.default: (_is_made, _made),
}
"""The same."""
