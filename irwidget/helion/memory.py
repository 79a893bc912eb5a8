"""Loads and stores of host tensors: strided views where the subscript allows, element by element elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import bounds, stacks
from irwidget.helion.aten import cast
from irwidget.helion.bindings import arith, bufferization, ir, memref, tensor
from irwidget.helion.builder import DYNAMIC, Size, at_run_time, broadcast_dims, static
from irwidget.helion.handlers import register_handler
from irwidget.helion.indexing import (
    NewAxis,
    ScalarIndex,
    SliceIndex,
    Subscript,
    TensorIndex,
    TileIndex,
    classify,
    extent,
    positions,
)
from irwidget.helion.scatter import scatter
from irwidget.helion.tiles import lane_mask, ragged_loops, slice_mask
from irwidget.helion.values import HostTensor

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter


@register_handler("_host_tensor")
def _host_tensor(emitter: Emitter, node: Any) -> HostTensor:
    return emitter.host_tensor(node.meta["val"])


@register_handler("load")
def _load(emitter: Emitter, node: Any) -> ir.Value:
    if isinstance(node.args[0], (list, tuple)):
        return stacks.load(emitter, node)
    source = emitter.value(node.args[0])
    mask = node.args[2] if len(node.args) > 2 else None
    if isinstance(source, ir.Value):
        return _load_tile(emitter, node, source)
    host = require_host(source)
    subscript = classify(emitter, host, node.args[1])
    jagged = any(loop.parent is not None for loop in ragged_loops(emitter, subscript.sizes).values())
    viewed = subscript.regular and mask is None and not jagged
    bounds.note(emitter, host, subscript, masked=mask is not None, clamped=not viewed)
    if host.empty:  # MLIR has no view of what has no elements
        zero = emitter.builder.constant(0, emitter.builder.element(host.dtype))
        value = emitter.builder.fill(zero, subscript.shape)
    elif viewed:
        value = _load_view(emitter, host, subscript)
    else:
        value = gather(emitter, host, subscript, None if mask is None else emitter.tensor(mask))
    wanted = emitter.shape_of(node)
    return value if list(value.type.shape) == wanted else _to_shape(emitter, value, wanted)


def require_host(source: Any) -> HostTensor:
    """What a load, store or atomic addresses. Raises UnsupportedError for what is no tensor of the host function."""
    if isinstance(source, (list, tuple)):
        raise UnsupportedError(
            "an atomic on a stack of tensors goes to device addresses; "
            "pass the tensors as a list and loop over it, or one torch.stack of them"
        )
    if not isinstance(source, HostTensor):
        raise UnsupportedError("it does not address a tensor of the host function")
    return source


def _load_tile(emitter: Emitter, node: Any, source: ir.Value) -> ir.Value:
    """Indexing a tile with None and `:` only gives it another shape."""
    if any(not (i is None or (isinstance(i, slice) and i == slice(None))) for i in node.args[1]):
        raise UnsupportedError("a tile can only be indexed with None and `:`")
    return emitter.builder.reshape(source, emitter.shape_of(node))


def _to_shape(emitter: Emitter, value: ir.Value, shape: list[int]) -> ir.Value:
    if math.prod(value.type.shape) == math.prod(shape):
        return emitter.builder.reshape(value, shape)
    return emitter.builder.broadcast(value, shape)


# --- strided views ------------------------------------------------------------------------


class _StridedView:
    """The part of a host tensor that a regular subscript covers."""

    def __init__(self, subscript: Subscript) -> None:
        self.offsets: list[Size] = []
        self.sizes: list[Size] = []
        self.steps: list[int] = []
        self.kept: list[bool] = []
        self.full: list[int] = []
        """Static sizes of the kept dims, masked lanes included."""
        self.valid: list[Size] = []
        """Sizes of the kept dims without masked lanes."""
        self.single: list[tuple[int, TileIndex]] = []
        """Kept dims that a wide tile walks though memory has one element there."""
        for _, index in subscript.memory:
            self._add(index)

    def _add(self, index: Any) -> None:
        match index:
            case ScalarIndex():
                self._place(index.position, 1, 1, None)
            case SliceIndex():
                self._place(index.start, index.valid, index.step, index.size)
            case TileIndex(single=True):
                self.single.append((len(self.full), index))
                self._place(0, 1, 1, 1)
            case _:
                self._place(index.begin, index.valid, 1, index.size)

    def _place(self, offset: Size, size: Size, step: int, full: int | None) -> None:
        """Add a dim of memory; `full` is None for one that the tile does not have."""
        self.offsets.append(offset)
        self.sizes.append(size)
        self.steps.append(step)
        self.kept.append(full is not None)
        if full is not None:
            self.valid.append(size)
            self.full.append(full)

    @property
    def padded(self) -> bool:
        """Whether the tile has lanes that the memory does not."""
        return self.valid != self.full

    def subview(self, emitter: Emitter, host: HostTensor) -> ir.Value:
        """The `memref.subview`, dims of one position dropped."""
        builder = emitter.builder
        strides = _strides(host)
        offset = 0
        for position, stride in zip(self.offsets, strides, strict=True):
            if stride == 0:  # of an expanded dim: as MLIR infers it
                continue
            known = isinstance(position, int) and stride >= 0 and offset >= 0
            offset = offset + position * stride if known else -1
        kept = [d for d, keep in enumerate(self.kept) if keep]
        result = builder.memref_type(
            static([self.sizes[d] for d in kept]),
            builder.element(host.dtype),
            [strides[d] * self.steps[d] if strides[d] >= 0 else DYNAMIC for d in kept],
            offset if offset >= 0 else DYNAMIC,
        )
        return builder.subview(host.value, self.offsets, self.sizes, self.steps, result)


def _strides(host: HostTensor) -> list[int]:
    """In elements; negative where known only at run time."""
    if host.strides is not None:
        return list(host.strides)
    strides: list[int] = []
    step = 1
    for size in reversed(host.shape):
        strides.append(step)
        step = step * size if step >= 0 and size >= 0 else -1
    return list(reversed(strides))


def to_tensor(emitter: Emitter, buffer: ir.Value, *, snapshot: bool) -> ir.Value:
    """A buffer's contents as a tensor; a copy of them where the kernel also writes to that memory."""
    builder = emitter.builder
    kind = buffer.type
    if snapshot:
        sizes = [memref.dim(buffer, builder.size(d)) for d in range(kind.rank) if kind.is_dynamic_dim(d)]
        plain = builder.memref_type(list(kind.shape), kind.element_type)
        copy = memref.alloc(plain, sizes, [])
        memref.copy(buffer, copy)
        buffer = copy
    result = builder.tensor_type(list(kind.shape), kind.element_type)
    return bufferization.to_tensor(result, buffer, restrict=True, writable=snapshot)


def _load_view(emitter: Emitter, host: HostTensor, subscript: Subscript) -> ir.Value:
    """Read a strided view; lanes past the end of their loop are 0."""
    builder = emitter.builder
    view = _StridedView(subscript)
    value = to_tensor(emitter, view.subview(emitter, host), snapshot=host.written)
    if view.padded:
        value = _pad(emitter, value, view)
    full = list(view.full)
    for dim, index in view.single:
        if index.size == 1:
            continue
        full[dim] = index.size
        shape = list(value.type.shape)
        shape[dim] = index.size
        value = _spread(emitter, value, shape, dim, index)
    shape: list[int] = []
    kept = iter(full)
    for index in subscript.indices:
        if isinstance(index, NewAxis):
            shape.append(1)
        elif not isinstance(index, ScalarIndex):
            shape.append(next(kept))
    return builder.reshape(value, shape)


def _pad(emitter: Emitter, value: ir.Value, view: _StridedView) -> ir.Value:
    """A loaded view with 0 in the lanes that the memory does not have."""
    builder = emitter.builder
    high = [builder.subtract(f, v) for f, v in zip(view.full, view.valid, strict=True)]
    rank = len(view.full)
    zero = builder.constant(0, value.type.element_type)
    made = tensor.PadOp(
        builder.tensor_type(view.full, value.type.element_type), value, [], at_run_time(high), [0] * rank, static(high)
    )
    with ir.InsertionPoint(made.regions[0].blocks.append(*[builder.index] * rank)):
        tensor.yield_(zero)
    return made.result


def _spread(emitter: Emitter, value: ir.Value, shape: list[int], dim: int, index: TileIndex) -> ir.Value:
    """Repeat the one element along a dim for the lanes inside the loop; 0 elsewhere."""
    builder = emitter.builder
    zero = builder.constant(0, value.type.element_type)
    dims: list[int | None] = [None if d == dim else d for d in range(len(shape))]

    def body(args: list[ir.Value], lane: Callable[[int], ir.Value]) -> ir.Value:
        if isinstance(index.valid, int):
            return args[0]
        return arith.select(builder.compare("lt", lane(dim), builder.size(index.valid)), args[0], zero)

    return builder.generic([(value, dims)], shape, value.type.element_type, body)


# --- gathers --------------------------------------------------------------------------------


def gather(emitter: Emitter, host: HostTensor, subscript: Subscript, mask: ir.Value | None) -> ir.Value:
    """Read element by element. Masked lanes are 0; positions are clamped to the tensor."""
    builder = emitter.builder
    source = to_tensor(emitter, host.value, snapshot=host.written)
    element = builder.element(host.dtype)
    zero = builder.constant(0, element)
    tensors = [index for index in subscript.indices if isinstance(index, TensorIndex)]
    inputs: list[tuple[ir.Value, list[int | None]]] = [(t.value, t.dims) for t in tensors]
    if mask is not None:
        inputs.append((mask, broadcast_dims(list(mask.type.shape), subscript.shape)))
    loops = ragged_loops(emitter, subscript.sizes)
    bounds = [extent(emitter, host, dim) for dim in range(len(host.shape))]

    def body(args: list[ir.Value], lane: Callable[[int], ir.Value]) -> ir.Value:
        where = positions(emitter, host, subscript, lane, lambda t: args[tensors.index(t)])
        clamped = [clamp(emitter, p, bound) for p, bound in zip(where, bounds, strict=True)]
        value = tensor.extract(source, clamped)
        inside = lane_mask(emitter, loops, subscript.sizes, lane)
        inside = slice_mask(emitter, subscript, lane, inside)
        if mask is not None:
            extra = builder.convert(args[-1], builder.i1)
            inside = builder.conjunction(inside, extra)
        return value if inside is None else arith.select(inside, value, zero)

    return builder.generic(inputs, subscript.shape, element, body)


def clamp(emitter: Emitter, position: ir.Value, bound: ir.Value) -> ir.Value:
    """A position as one of 0 to `bound - 1`."""
    builder = emitter.builder
    low = arith.maxsi(position, builder.size(0))
    last = arith.subi(bound, builder.size(1))
    return arith.minsi(low, last)


# --- stores -----------------------------------------------------------------------------------


@register_handler("store")
def _store(emitter: Emitter, node: Any) -> None:
    if isinstance(node.args[0], (list, tuple)):
        return stacks.store(emitter, node, stored_value)
    host = require_host(emitter.value(node.args[0]))
    subscript = classify(emitter, host, node.args[1])
    mask = node.args[3] if len(node.args) > 3 else None
    bounds.note(emitter, host, subscript, masked=mask is not None)
    if host.empty:
        return None
    value = stored_value(emitter, host, node.args[2], subscript)
    jagged = any(loop.parent is not None for loop in ragged_loops(emitter, subscript.sizes).values())
    if subscript.regular and mask is None and not jagged:
        _store_view(emitter, host, subscript, value)
    else:
        scatter(emitter, host, subscript, value, None if mask is None else emitter.tensor(mask))
    return None


def stored_value(emitter: Emitter, host: HostTensor, operand: Any, subscript: Subscript) -> ir.Value:
    """What is stored, with the destination's dtype and the shape that the subscript selects.

    Raises:
        UnsupportedError: it does not broadcast to that shape.
    """
    builder, shape = emitter.builder, subscript.shape
    value = emitter.tensor(operand)
    element = builder.element(host.dtype)
    fake = operand.meta.get("val") if isinstance(operand, torch.fx.Node) else None
    if isinstance(fake, torch.Tensor) and fake.dtype != host.dtype:
        value = cast(emitter, value, fake.dtype, host.dtype)
    elif value.type.element_type != element:
        value = builder.cast_tensor(value, element)
    if list(value.type.shape) == shape:
        return value
    squeezed = [size for size in value.type.shape if size != 1]
    if squeezed == [size for size in shape if size != 1]:
        return builder.reshape(value, shape)
    if len(value.type.shape) > len(shape):
        value = builder.reshape(value, squeezed)
    return builder.broadcast(_without_padding(emitter, value, subscript), shape)


def _without_padding(emitter: Emitter, value: ir.Value, subscript: Subscript) -> ir.Value:
    """A tile that is stored to a whole dim, and has the power of two of lanes that Triton pads this to, cut to it."""
    own = list(value.type.shape)
    sizes = list(own)
    shift = len(subscript.shape) - len(own)
    whole = [dim for position, dim in subscript.dims.items() if isinstance(subscript.indices[position], SliceIndex)]
    pointed = [dim for index in subscript.indices if isinstance(index, TensorIndex) for dim in index.dims]
    for dim in (*whole, *pointed):
        if dim is not None and dim >= shift and own[dim - shift] == 1 << (subscript.shape[dim] - 1).bit_length():
            sizes[dim - shift] = subscript.shape[dim]
    return value if sizes == own else emitter.builder.slice(value, [0] * len(own), sizes, sizes)


def _store_view(emitter: Emitter, host: HostTensor, subscript: Subscript, value: ir.Value) -> None:
    """Write the valid part of a tile into a strided view."""
    builder = emitter.builder
    view = _StridedView(subscript)
    shape = [size for index, size in _dims(subscript) if not isinstance(index, NewAxis)]
    value = builder.reshape(value, shape)
    if view.padded or view.single:
        value = builder.slice(value, [0] * len(shape), view.valid, static(view.valid))
    target = view.subview(emitter, host)
    bufferization.materialize_in_destination(None, value, target, restrict=True, writable=True)


def _dims(subscript: Subscript) -> list[tuple[Any, int]]:
    return [(subscript.indices[p], subscript.shape[d]) for p, d in subscript.dims.items()]
