"""Scans and reductions with a combine function of the user's: a loop over slices that runs its graph."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_arg

from irwidget.errors import UnsupportedError
from irwidget.helion import beyond, private
from irwidget.helion.aten import restored_arguments
from irwidget.helion.bindings import ir, scf, tensor
from irwidget.helion.control import as_type
from irwidget.helion.handlers import register_handler
from irwidget.private_torch import OpOverload

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter


def _items(node: Any) -> list[Any]:
    operand = node.args[1]
    return list(operand) if isinstance(operand, (list, tuple)) else [operand]


def _inputs(emitter: Emitter, node: Any) -> list[ir.Value]:
    """What is combined, 16-bit floats as float32.

    Triton combines those as they are, but in a tree: a sum of n is rounded about log2(n) times, and n times in a loop.
    """
    builder = emitter.builder
    dtypes = [builder.element(dtype) for dtype in _dtypes(node)]
    return [builder.cast_tensor(emitter.tensor(item), to) for item, to in zip(_items(node), dtypes, strict=True)]


def _dtypes(node: Any) -> list[torch.dtype]:
    """The dtypes that are combined."""
    given = [item.meta["val"].dtype for item in _items(node)]
    return [torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype for dtype in given]


def _outputs(emitter: Emitter, node: Any, results: Sequence[ir.Value]) -> list[ir.Value]:
    """The results in the dtypes of the inputs."""
    dtypes = [emitter.builder.element(item.meta["val"].dtype) for item in _items(node)]
    return [emitter.builder.cast_tensor(value, to) for value, to in zip(results, dtypes, strict=True)]


def _slice_at(emitter: Emitter, value: ir.Value, dim: int, position: Any) -> ir.Value:
    """One slice of a tensor along `dim`, that dim dropped."""
    shape = list(value.type.shape)
    offsets: list[Any] = [0] * len(shape)
    offsets[dim] = position
    sizes = [1 if d == dim else size for d, size in enumerate(shape)]
    result = [size for d, size in enumerate(shape) if d != dim]
    return emitter.builder.slice(value, offsets, sizes, result)


def _put_at(emitter: Emitter, value: ir.Value, into: ir.Value, dim: int, position: Any) -> ir.Value:
    shape = list(into.type.shape)
    offsets: list[Any] = [0] * len(shape)
    offsets[dim] = position
    sizes = [1 if d == dim else size for d, size in enumerate(shape)]
    return emitter.builder.insert(value, into, offsets, sizes)


def _combine(emitter: Emitter, node: Any, left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
    info = emitter.binding.infos[node.args[0]]
    with _typed(info.graph, _dtypes(node) * 2):
        outputs = emitter.run_graph(info, [*left, *right])
    flat: list[Any] = []
    for output in outputs:
        flat += output if isinstance(output, (list, tuple)) else [output]
    return [as_type(emitter, output, like.type) for output, like in zip(flat, left, strict=True)]


@contextlib.contextmanager
def _typed(graph: torch.fx.Graph, dtypes: Sequence[torch.dtype]) -> Generator[None]:
    """Meanwhile, the nodes of a combine function have the dtypes that its arguments have.

    Helion traces that of a scan with each tensor's dtype twice in a row, where its
    arguments are all of the left and then all of the right.
    """
    said = {node: node.meta.get("val") for node in graph.nodes}
    given = dict(zip(graph.find_nodes(op="placeholder"), dtypes, strict=True))
    try:
        if any(said[node].dtype != dtype for node, dtype in given.items()):
            for node in graph.nodes:
                if node in given:
                    node.meta["val"] = said[node].to(given[node])
                elif isinstance(node.target, OpOverload):
                    args, kwargs = map_arg(restored_arguments(node), lambda one: one.meta["val"])
                    node.meta["val"] = node.target(*args, **kwargs)
        yield
    finally:
        for node, value in said.items():
            node.meta["val"] = value


def _say_beyond(emitter: Emitter, node: Any) -> None:
    """Say which lanes beyond the end of a dim Helion's Triton combines, too."""
    if lanes := beyond.combined(emitter.binding, node):
        op = "a reversed scan" if private.op_name(node) == "_associative_scan" else "hl.reduce"
        emitter.remark(f"{op} of Helion's Triton takes {lanes}, which may change what it comes to")


def _dim(node: Any, rank: int, position: int = 2) -> int:
    dim = node.args[position]
    return dim + rank if dim < 0 else dim


@register_handler("_associative_scan")
def _scan(emitter: Emitter, node: Any) -> Any:
    """Along one dim, each slice is the combination of all slices up to it."""
    builder = emitter.builder
    inputs = _inputs(emitter, node)
    shape = list(inputs[0].type.shape)
    dim = _dim(node, len(shape))
    _say_beyond(emitter, node)
    reverse = bool(node.args[3]) if len(node.args) > 3 else False
    tuple_input = bool(node.args[4]) if len(node.args) > 4 else False
    length = shape[dim]
    if 0 in shape:
        nothing = _outputs(emitter, node, [tensor.empty(shape, item.type.element_type) for item in inputs])
        return nothing if tuple_input else nothing[0]
    first = length - 1 if reverse else 0
    carries = [_slice_at(emitter, item, dim, first) for item in inputs]
    results = [
        _put_at(emitter, carry, tensor.empty(shape, item.type.element_type), dim, first)
        for carry, item in zip(carries, inputs, strict=True)
    ]
    inits = [*carries, *results]
    loop = scf.ForOp(builder.size(1), builder.size(length), builder.size(1), inits)
    with ir.InsertionPoint(loop.body):
        counter, *state = list(loop.body.arguments)
        position = builder.subtract(length - 1, counter) if reverse else counter
        current = [_slice_at(emitter, item, dim, position) for item in inputs]
        combined = _combine(emitter, node, state[: len(inputs)], current)
        updated = [
            _put_at(emitter, value, result, dim, position)
            for value, result in zip(combined, state[len(inputs) :], strict=True)
        ]
        scf.yield_([*combined, *updated])
    out = _outputs(emitter, node, list(loop.results)[len(inputs) :])
    return out if tuple_input else out[0]


@register_handler("_reduce")
def _reduce(emitter: Emitter, node: Any) -> Any:
    """The combination of all slices along one dim, or of all elements."""
    builder = emitter.builder
    _say_beyond(emitter, node)
    inputs = _inputs(emitter, node)
    tuple_input = bool(node.args[4]) if len(node.args) > 4 else False
    before = list(inputs[0].type.shape)
    if node.args[2] is None:
        total = math.prod(before)
        inputs, dim = [builder.reshape(item, [total]) for item in inputs], 0
    else:
        dim = _dim(node, len(before))
    length = inputs[0].type.shape[dim]
    if not length:
        raise UnsupportedError("it combines no elements: a dim of size 0 has no first one to start from")
    inits = [_slice_at(emitter, item, dim, 0) for item in inputs]
    loop = scf.ForOp(builder.size(1), builder.size(length), builder.size(1), inits)
    with ir.InsertionPoint(loop.body):
        counter, *state = list(loop.body.arguments)
        current = [_slice_at(emitter, item, dim, counter) for item in inputs]
        scf.yield_(_combine(emitter, node, state, current))
    out = _outputs(emitter, node, list(loop.results))
    if len(node.args) > 3 and node.args[3]:
        kept = [1 if node.args[2] is None or d == dim else size for d, size in enumerate(before)]
        out = [builder.reshape(value, kept) for value in out]
    return out if tuple_input else out[0]
