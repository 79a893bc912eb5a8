"""What the subscripts of loads and stores mean: tiles, numbers, slices, new dims, index tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import private, scalars
from irwidget.helion.aten import signed
from irwidget.helion.bindings import ir, memref
from irwidget.helion.builder import Size
from irwidget.helion.symbols import expression, padded_size
from irwidget.helion.values import HostTensor, TileLoop

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter


@dataclass
class TileIndex:
    """A tile: `size` lanes from `begin`, of which `valid` exist."""

    loop: TileLoop | None
    begin: Size
    size: int
    valid: Size
    symbol: Any
    """Helion's size of the tile, by which masks know its block."""
    single: bool = False
    """Whether memory has one element there, which every lane reads and writes."""


@dataclass
class ScalarIndex:
    """One position."""

    position: Size


@dataclass
class SliceIndex:
    """`valid` positions from `start`, `step` apart, in a tile of `size` lanes."""

    start: Size
    size: int
    valid: int
    step: int
    symbol: Any = None


@dataclass
class NewAxis:
    """A new dim of size 1."""


@dataclass
class TensorIndex:
    """Positions given by a tensor."""

    value: ir.Value
    sizes: tuple[Any, ...]
    """Helion's shape of it."""
    dims: list[int | None] = field(default_factory=list[int | None])
    """For each dim of the tensor, the result dim that walks it; None for a dim of size 1."""


Index = TileIndex | ScalarIndex | SliceIndex | NewAxis | TensorIndex


@dataclass
class Subscript:
    """A classified subscript of a host tensor."""

    indices: list[Index]
    shape: list[int]
    """Of the tile that it selects."""
    sizes: list[Any]
    """The same as Helion's symbols (ints where there is none)."""
    dims: dict[int, int]
    """Index position -> dim of the tile, for tiles, slices and new axes."""

    @property
    def regular(self) -> bool:
        """Whether a strided view of the tensor covers it."""
        return not any(isinstance(index, TensorIndex) for index in self.indices)

    @property
    def memory(self) -> list[tuple[int, Index]]:
        """The indices that walk a dim of memory, with their positions."""
        return [(p, index) for p, index in enumerate(self.indices) if not isinstance(index, NewAxis)]


def classify(emitter: Emitter, host: HostTensor, subscript: Sequence[Any]) -> Subscript:
    """Classify each index of a subscript and work out the tile that it selects.

    Raises:
        UnsupportedError: an index of unknown kind, or a tile size known only at run time.
    """
    indices: list[Index] = []
    dim = 0
    for item in subscript:
        indices.append(_classify_one(emitter, host, item, dim))
        if item is not None:
            dim += 1
    shape: list[int] = []
    sizes: list[Any] = []
    dims: dict[int, int] = {}
    broadcast = _broadcast_group(emitter, subscript, indices)
    placed = False
    for position, index in enumerate(indices):
        if isinstance(index, (TileIndex, SliceIndex)):
            dims[position] = len(shape)
            shape.append(index.size)
            sizes.append(index.symbol if index.symbol is not None else index.size)
        elif isinstance(index, NewAxis):
            dims[position] = len(shape)
            shape.append(1)
            sizes.append(1)
        elif isinstance(index, TensorIndex):
            if broadcast is None:
                _place_alone(emitter, index, shape, sizes)
            elif not placed:
                placed = True
                _place_group(emitter, broadcast, shape, sizes)
    return Subscript(indices, shape, sizes, dims)


def _classify_one(emitter: Emitter, host: HostTensor, item: Any, dim: int) -> Index:
    """What an index selects of a dim. Of one with a single element it is that, whatever the index, as in Helion."""
    if item is None:
        return NewAxis()
    index = _of_dim(emitter, host, item, dim)
    if host.shape[dim] == 1:
        match index:
            case TileIndex():
                return replace(index, begin=0, single=True)
            case ScalarIndex():
                return ScalarIndex(0)
            case SliceIndex(size=1):
                return replace(index, start=0)
            case _:
                pass  # an index tensor gives the tile its shape; `positions` knows where it points
    return index


def _of_dim(emitter: Emitter, host: HostTensor, item: Any, dim: int) -> Index:
    if isinstance(item, slice):
        turn = _turn(emitter, host, dim) if item == slice(None) else None
        if turn is not None:
            return _tile(emitter, turn, emitter.binding.env.block_sizes[turn].var)
        return _slice(emitter, host, item, dim)
    symbol = item.meta.get("val") if isinstance(item, torch.fx.Node) else item
    if isinstance(symbol, torch.Tensor):
        value = signed(emitter, item)
        if symbol.dtype == torch.bool:
            raise UnsupportedError("a boolean mask as an index has a size that is known only at run time")
        if symbol.ndim == 0:
            return ScalarIndex(scalars.as_index(emitter, value))
        return TensorIndex(value, tuple(symbol.shape))
    block = emitter.block_of(symbol) if _is_block_size(emitter, symbol) else None
    if block is not None:
        return _tile(emitter, block, symbol)
    position = _from_start(emitter, host, dim, scalars.as_index(emitter, emitter.value(item), item))
    if isinstance(position, int) and host.shape[dim] >= 0:
        inside = max(0, min(position, host.shape[dim] - 1))  # out of range in branches that never run
        if inside != position:
            emitter.remark(
                f"{position} lies outside of dim {dim} of {host.name}, of {host.shape[dim]}: taken for {inside}"
            )
        position = inside
    return ScalarIndex(position)


def _from_start(emitter: Emitter, host: HostTensor, dim: int, position: Size) -> Size:
    """A position that may count from the end, as a negative number does."""
    if not isinstance(position, int) or position >= 0:
        return position
    return emitter.builder.add(host.shape[dim] if host.shape[dim] >= 0 else extent(emitter, host, dim), position)


def _is_block_size(emitter: Emitter, symbol: Any) -> bool:
    if not isinstance(symbol, torch.SymInt):
        return False
    return isinstance(private.origin_of(emitter.binding.host, expression(symbol)), private.origins().BlockSizeOrigin)


def _tile(emitter: Emitter, block: int, symbol: Any) -> TileIndex:
    loop = emitter.loop_of(block)
    if loop is None:
        size = emitter.shape([symbol])[0]
        return TileIndex(None, 0, size, size, symbol)
    return TileIndex(loop, loop.index, loop.lanes, loop.valid, symbol)


def _turn(emitter: Emitter, host: HostTensor, dim: int) -> int | None:
    """The block of the reduction loop around this place that a whole dim is read by; None where it is read whole."""
    for block in emitter.loops:
        if block in emitter.binding.turns and host.shape[dim] == emitter.binding.whole.get(block):
            return block
    return None


def _slice(emitter: Emitter, host: HostTensor, item: slice, dim: int) -> SliceIndex:
    builder = emitter.builder
    start = 0 if item.start is None else scalars.as_index(emitter, emitter.value(item.start), item.start)
    step = 1 if item.step is None else emitter.value(item.step)
    if not isinstance(step, int) or step < 1:
        raise UnsupportedError("a slice needs a positive step that is known in advance")
    start = _from_start(emitter, host, dim, start)
    stop: Any = host.shape[dim]
    if item.stop is not None:
        stop = _from_start(emitter, host, dim, scalars.as_index(emitter, emitter.value(item.stop), item.stop))
    if isinstance(stop, int) and host.shape[dim] >= 0:
        stop = min(stop, host.shape[dim])
    if isinstance(start, int) and start < 0:  # from before the first on
        start = 0
    if isinstance(start, int) and isinstance(stop, int) and stop >= 0:
        count = max(0, -(-(stop - start) // step))
        return SliceIndex(start, padded_size(emitter.binding, count), count, step)
    length = _static_length(emitter, item)
    if length is None:
        raise UnsupportedError("the slice has a length that is known only at run time")
    count = -(-length // step)
    return SliceIndex(builder.add(start, 0), padded_size(emitter.binding, count), count, step)


def _static_length(emitter: Emitter, item: slice) -> int | None:
    """Length of a slice whose start is known only at run time, by its symbols."""

    def symbol(value: Any) -> Any:
        return value.meta.get("val") if isinstance(value, torch.fx.Node) else value

    start, stop = symbol(item.start), symbol(item.stop)
    if stop is None or start is None:
        return None
    number = emitter.static(expression(stop) - expression(start))
    return None if number is None else int(number)


def _broadcast_group(emitter: Emitter, subscript: Sequence[Any], indices: Sequence[Index]) -> list[TensorIndex] | None:
    """The index tensors, when Helion broadcasts them together; None when each has dims of its own."""
    tensors = [index for index in indices if isinstance(index, TensorIndex)]
    if not tensors:
        return None
    fakes = [i.meta.get("val") if isinstance(i, torch.fx.Node) else i for i in subscript]
    together = emitter.binding.env.should_broadcast_tensor_indexers(fakes)
    one_dimensional = len(tensors) > 1 and all(len(t.sizes) == 1 for t in tensors)
    return tensors if together and not one_dimensional else None


def _place_alone(emitter: Emitter, index: TensorIndex, shape: list[int], sizes: list[Any]) -> None:
    env = emitter.binding.env
    kept = [d for d, size in enumerate(index.sizes) if env.size_hint(size) != 1]
    for dim, (static, symbol) in enumerate(zip(index.value.type.shape, index.sizes, strict=True)):
        if dim in kept:
            index.dims.append(len(shape))
            shape.append(static)
            sizes.append(symbol)
        else:
            index.dims.append(None)
    if not kept:
        shape.append(1)
        sizes.append(1)


def _place_group(emitter: Emitter, group: Sequence[TensorIndex], shape: list[int], sizes: list[Any]) -> None:
    env = emitter.binding.env
    rank = max(len(t.sizes) for t in group)
    first = len(shape)
    for dim in range(rank):
        static, symbol = 1, 1
        for tensor in group:
            own = dim - (rank - len(tensor.sizes))
            if own >= 0 and env.size_hint(tensor.sizes[own]) != 1:
                static, symbol = tensor.value.type.shape[own], tensor.sizes[own]
                break
        shape.append(static)
        sizes.append(symbol)
    for tensor in group:
        shift = first + rank - len(tensor.sizes)
        tensor.dims = [
            None if size == 1 and shape[shift + d] != 1 else shift + d for d, size in enumerate(tensor.value.type.shape)
        ]


def positions(
    emitter: Emitter,
    host: HostTensor,
    subscript: Subscript,
    lane: Callable[[int], ir.Value],
    element: Callable[[TensorIndex], ir.Value],
) -> list[ir.Value]:
    """Where a lane of the tile lies in memory, dim by dim.

    `lane(d)` gives the lane along dim d of the tile, `element(t)` the current element of an index tensor.
    """
    builder = emitter.builder
    where: list[ir.Value] = []
    for dim, (position, index) in enumerate(subscript.memory):
        if isinstance(index, TileIndex):
            offset = 0 if index.single else lane(subscript.dims[position])
            where.append(builder.size(builder.add(index.begin, offset)))
        elif isinstance(index, ScalarIndex):
            where.append(builder.size(index.position))
        elif isinstance(index, SliceIndex):
            offset = builder.multiply(lane(subscript.dims[position]), index.step)
            where.append(builder.size(builder.add(offset, index.start)))
        elif isinstance(index, TensorIndex):
            where.append(_tensor_position(emitter, host, dim, element(index)))
    return where


def _tensor_position(emitter: Emitter, host: HostTensor, dim: int, value: ir.Value) -> ir.Value:
    builder = emitter.builder
    if host.shape[dim] == 1:
        return builder.size(0)
    return builder.to_index(value)


def extent(emitter: Emitter, host: HostTensor, dim: int) -> ir.Value:
    """The size of a host tensor's dim."""
    builder = emitter.builder
    if host.shape[dim] >= 0:
        return builder.size(host.shape[dim])
    return memref.dim(host.value, builder.size(dim))
