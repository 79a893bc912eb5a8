"""Which core owns which tile of which tensor: in host rows and columns, and in bytes of memory.

A tile is what one core touches in one execution of an op. Its host part is a box of host dims; its memory part a
start address and how the bytes repeat from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from irwidget.lazy import cached_property
from irwidget.spyre.coordinates import Index
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.hardware import STICK_BYTES
from irwidget.spyre.ir import Buffer, Graph, Op
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.layout import row_major
from irwidget.spyre.opspec import OpSpec, TensorArg
from irwidget.spyre.superdsc import LabeledTensor, SuperDscPlan, start_address

Span = tuple[int, int]
"""First and last, inclusive."""


@dataclass(frozen=True, slots=True)
class TensorTile:
    """A part of a tensor and the cores that read or write it."""

    box: tuple[Span, ...]
    """Per host dim, in the first iteration of the loops around the op."""
    address: int
    """Where it begins, in bytes; in the scratchpad it is the same on every core."""
    bytes: int
    """Whole sticks."""
    run: int
    """Contiguous bytes."""
    repeats: tuple[tuple[int, int], ...]
    """(count, distance in bytes) of the runs, innermost first."""
    cores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TiledTensor:
    """An operand or result of an op, cut over the cores."""

    arg: TensorArg
    tiles: tuple[TensorTile, ...]
    """By core, each distinct one once."""
    advances: tuple[int, ...]
    """Bytes that an iteration of each loop moves every tile."""
    shifts: tuple[tuple[int, ...], ...]
    """Elements per host dim, likewise."""

    def tile_of(self, core: int) -> TensorTile | None:
        """What a core touches; None when its slice is empty."""
        return next((tile for tile in self.tiles if core in tile.cores), None)


@dataclass(frozen=True)
class TiledOp:
    """An op of a kernel over the cores."""

    op: Op
    spec: OpSpec
    plan: SuperDscPlan
    tensors: tuple[TiledTensor, ...]
    """In the order of the OpSpec's arguments."""

    @cached_property
    def iterations(self) -> int:
        """How often its loops run it."""
        return prod(self.spec.loops)

    def moved(self, *places: str) -> int:
        """Bytes that all cores together read and write in `places` ("hbm", "pool", "lx"), over all iterations."""
        return self.iterations * sum(
            tile.bytes * len(tile.cores)
            for tensor in self.tensors
            if tensor.arg.allocation[0] in places
            for tile in tensor.tiles
        )


def tiled_ops(graph: Graph, kernels: Iterable[SpyreKernel]) -> Iterator[tuple[SpyreKernel, TiledOp]]:
    """The ops of kernels, cut over the cores."""
    by_name = {op.name: op for op in graph.ops}
    known: _Known = {}
    for kernel in kernels:
        for spec in kernel.specs:
            yield kernel, _tiled(graph, by_name[spec.source], spec, kernel.plans[spec.source], known)


def tiled_op(graph: Graph, op: Op, spec: OpSpec, plan: SuperDscPlan) -> TiledOp:
    """One op, cut over the cores."""
    return _tiled(graph, op, spec, plan, {})


_Known = dict[tuple[object, ...], tuple[TensorTile, ...]]
"""Tiles at base 0 by all that decides them: models repeat themselves."""


def _tiled(graph: Graph, op: Op, spec: OpSpec, plan: SuperDscPlan, known: _Known) -> TiledOp:
    space = (
        *spec.iteration_space.items(),
        *op.space.items(),
        *plan.sizes.items(),
        *plan.splits.items(),
        *plan.core_order,
        *spec.segments.items(),
    )
    tensors: list[TiledTensor] = []
    for tensor, index in zip(plan.tensors, [*(read.index for read in op.tensor_reads), op.write], strict=True):
        arg, buffer = tensor.arg, graph.buffers[tensor.arg.name]
        place, base = arg.allocation
        key = (
            *space,
            index,
            buffer.size,
            buffer.stride,
            arg.device_size,
            arg.device_coordinates,
            place,
            arg.memory,
            *tensor.scale.items(),
            arg.stick,
        )
        if key not in known:
            known[key] = _tiles(buffer, op, plan, tensor, index)
        if base and (*key, base) not in known:
            known[*key, base] = tuple(replace(tile, address=tile.address + base) for tile in known[key])
        tiles = known[*key, base] if base else known[key]
        shifts = tuple(_shift(buffer, index, op, level) for level in range(len(op.loops)))
        tensors.append(TiledTensor(arg, tiles, arg.advances or (0,) * len(op.loops), shifts))
    return TiledOp(op, spec, plan, tuple(tensors))


def ranges(spec: OpSpec, plan: SuperDscPlan, core: int) -> dict[str, Span] | None:
    """Symbol -> what a core runs over; None when its slice lies in the padding."""
    found: dict[str, Span] = {}
    for v, (n, _) in spec.iteration_space.items():
        label = plan.labels[v]
        size = plan.sizes[label] // plan.splits[label]
        start = plan.slices[core][label] * size
        if start >= n:
            return None
        found[v] = (start, min(start + size, n) - 1)
    return found


def _tiles(buffer: Buffer, op: Op, plan: SuperDscPlan, tensor: LabeledTensor, index: Index) -> tuple[TensorTile, ...]:
    """The distinct tiles of a tensor, as if it began at address 0."""
    arg = tensor.arg
    used = {v for coordinate in arg.device_coordinates for v in coordinate.variables}
    owners: dict[tuple[object, ...], list[int]] = {}
    made: dict[tuple[object, ...], TensorTile] = {}
    for core in range(plan.cores):
        spans = ranges(plan.spec, plan, core)
        if spans is None:
            continue
        address = start_address(plan, tensor, core, gathered=False) - arg.allocation[1]
        key = (address, *(span for v, span in spans.items() if v in used))
        if key not in made:
            box = host_box(buffer, index, _variables(plan.spec, op, spans))
            made[key] = TensorTile(box, address, *memory(arg, spans), ())
            owners[key] = []
        owners[key].append(core)
    return tuple(replace(tile, cores=tuple(owners[key])) for key, tile in made.items())


def _variables(spec: OpSpec, op: Op, spans: Mapping[str, Span]) -> dict[str, Span]:
    """The op's loop variables from the symbols that each was cut into, innermost first."""
    found: dict[str, Span] = {}
    for v, size in op.space.items():
        low = high = 0
        step = 1
        for symbol in spec.segments.get(v, ()):
            start, stop = spans.get(symbol, (0, 0))
            low, high = low + start * step, high + stop * step
            step *= spec.iteration_space[symbol][0] if symbol in spec.iteration_space else 1
        found[v] = (low, min(high, size - 1))
    return found


def host_box(buffer: Buffer, index: Index, variables: Mapping[str, Span]) -> tuple[Span, ...]:
    """The smallest box of host dims around the elements `index` while each variable runs over its span."""
    gathered = {g.step for g in index.gathers}
    box: list[Span] = []
    for size, stride in zip(buffer.size, buffer.stride, strict=True):
        if size == 1:
            box.append((0, 0))
            continue
        if stride in gathered or not stride:  # what an expanded dim holds is each of its elements
            box.append((0, size - 1))
            continue
        low = high = index.offset // stride % size
        for v, step in index.steps:
            first, last = digits(step, variables.get(v, (0, 0)), stride, size)
            low, high = low + first, high + last
        box.append((min(low, size - 1), min(high, size - 1)))
    return tuple(box)


def digits(step: int, span: Span, stride: int, size: int) -> Span:
    """What `step * v` adds to the host dim of this stride and size."""
    if step % (stride * size) == 0:
        return 0, 0
    first, last = step * span[0] // stride, step * span[1] // stride
    if first // size != last // size:
        return 0, size - 1
    return first % size, last % size


def _shift(buffer: Buffer, index: Index, op: Op, level: int) -> tuple[int, ...]:
    """Host elements per dim between two iterations of a loop; none in a buffer that holds one tile."""
    loop = op.loops[level]
    if buffer.per_tile or loop.variable is None:
        return (0,) * len(buffer.size)
    step = index.step(loop.variable) * loop.tile
    sizes = zip(buffer.size, buffer.stride, strict=True)
    return tuple(step // stride % size if size > 1 and stride else 0 for size, stride in sizes)


def memory(arg: TensorArg, spans: Mapping[str, Span]) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """Bytes of a tile, its contiguous bytes and how they repeat."""
    size, coordinates = arg.memory or (arg.device_size, arg.device_coordinates)
    extents = [_extent(n, c, spans) for n, c in zip(size[:-1], coordinates[:-1], strict=True)]
    total = STICK_BYTES * prod(extents)
    if arg.allocation[0] == "lx":
        return total, total, ()
    run = STICK_BYTES
    repeats: list[tuple[int, int]] = []
    for extent, stride in zip(reversed(extents), reversed(row_major(size)[:-1]), strict=True):
        distance = stride // size[-1] * STICK_BYTES
        if not repeats and distance == run:
            run *= extent
        elif extent > 1:
            repeats.append((extent, distance))
    return total, run, tuple(repeats)


def _extent(size: int, coordinate: Coordinate, spans: Mapping[str, Span]) -> int:
    """How many positions of a device dim a tile takes."""
    if coordinate.indirect:
        return size
    extent = 1
    for term in coordinate.terms:
        first, last = spans.get(term.var, (0, 0))
        if term.modulus and first // term.modulus != last // term.modulus:
            extent += term.num * ((term.modulus - 1) // term.den)
        else:
            extent += term.at(last) - term.at(first)
    return min(extent, size)
