"""The two ops that helion_mlir brings for kernels, `broadcast` and `gather`, on stock dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import private
from irwidget.helion.bindings import arith, ir, scf, tensor
from irwidget.helion.builder import Builder, Size
from irwidget.helion.handlers import register_handler
from irwidget.helion.values import TileLoop

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

_PACKAGE = "helion_mlir"


def _is_theirs(node: Any) -> bool:
    return str(getattr(node.target, "__module__", "")).partition(".")[0] == _PACKAGE


@register_handler("broadcast")
def _broadcast(emitter: Emitter, node: Any) -> ir.Value:
    """`broadcast(tile, dim, shape)`: repeats a tile along `dim`, one of its own of size 1 or a new one."""
    if not _is_theirs(node):
        raise UnsupportedError("irwidget has no rule for this op; register_handler adds one")
    value, dim, sizes = emitter.tensor(node.args[0]), node.args[1], node.args[2]
    own = list(value.type.shape)
    dim = dim % len(sizes)
    if len(own) == len(sizes) and own[dim] == 1:
        dims: list[int | None] = [None if d == dim else d for d in range(len(own))]
        kept = [*own[:dim], *own[dim + 1 :]]
    elif len(own) == len(sizes) - 1:
        dims = [d for d in range(len(sizes)) if d != dim]
        kept = own
    else:
        raise UnsupportedError(f"a tile of the shape {own} cannot be repeated along dim {dim} of {len(sizes)}")
    (size,) = emitter.shape([_symbol(sizes[dim])])
    return emitter.builder.generic(
        [(value, dims)], [*kept[:dim], size, *kept[dim:]], value.type.element_type, lambda args, _: args[0]
    )


def _symbol(size: Any) -> Any:
    return size.meta["val"] if isinstance(size, torch.fx.Node) else size


@register_handler("gather")
def _gather(emitter: Emitter, node: Any) -> ir.Value:
    """`gather(tile, value)`: what `value` is in every turn of a top-level loop, stacked in front.

    Programs run one after the other here, so each computes the other turns itself.
    """
    if not _is_theirs(node):
        raise UnsupportedError("irwidget has no rule for this op; register_handler adds one")
    builder, source = emitter.builder, node.args[1]
    loop = emitter.loop_of(emitter.block_of(_symbol(node.args[0])))
    if loop is None or not isinstance(source, torch.fx.Node):
        raise UnsupportedError("its first argument is not the tile of a loop around it")
    count = _turns(loop)
    needed = _computing(node, source)
    shape = emitter.tensor(source).type.shape
    values, symbols, loops = dict(emitter.values), dict(emitter.symbol_values), dict(emitter.loops)
    into = tensor.empty([count, *shape], emitter.tensor(source).type.element_type)
    turns = scf.ForOp(builder.size(loop.begin), builder.size(loop.end), builder.size(loop.step), [into])
    with ir.InsertionPoint(turns.body):
        emitter.enter_loop(loop.block_id, turns.induction_variable, loop.begin, loop.end, loop.step)
        emitter.symbol_values = {}
        emitter.run_nodes(needed)
        place = [_number(builder, turns.induction_variable, loop), *[0] * len(shape)]
        made = builder.insert(emitter.tensor(source), turns.inner_iter_args[0], place, [1, *shape])
        scf.yield_([made])
    emitter.values, emitter.symbol_values, emitter.loops = values, symbols, loops
    return turns.results[0]


def _turns(loop: TileLoop) -> int:
    """How often a loop runs.

    Raises:
        UnsupportedError: only run time knows, or the last tile is not whole, which Helion would mask along the new dim.
    """
    if not isinstance(loop.begin, int) or not isinstance(loop.end, int) or not isinstance(loop.step, int):
        raise UnsupportedError("how many tiles there are is known only at run time")
    if loop.ragged:
        raise UnsupportedError("it needs a tile size that divides the loop's extent")
    return (loop.end - loop.begin) // loop.step


def _number(builder: Builder, index: ir.Value, loop: TileLoop) -> Size:
    return arith.divui(builder.size(builder.subtract(index, loop.begin)), builder.size(loop.step))


def _computing(node: Any, source: Any) -> list[Any]:
    """The nodes of the same graph that compute `source`, in order.

    Raises:
        UnsupportedError: the kernel has written to memory before, so that they would not compute the same again.
    """
    before = list(node.graph.nodes)[: list(node.graph.nodes).index(node)]
    written = ("store", *(name for name in map(_name, before) if name.startswith("atomic_")))
    if any(_name(one) in written for one in before):
        raise UnsupportedError("the loop writes to memory before it")
    needed: set[Any] = set()
    pending = [source]
    while pending:
        one = pending.pop()
        if one not in needed and one.op == "call_function":
            needed.add(one)
            pending += one.all_input_nodes
    return [one for one in before if one in needed]


def _name(node: Any) -> str:
    return private.target_name(node.target)
