"""Counted loops around runs of ops, from `spyre_hint(slices=...)` (docs/spyre-rules.md: Coarse tiling)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from irwidget.errors import UnsupportedError
from irwidget.spyre.coordinates import Index, device_coordinates, index_of, ranges_of, stick_of
from irwidget.spyre.ir import Buffer, BufferView, Graph, Op, Ranges, Read, SpyreTileLoop, users
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.layout import DeviceLayout, device_layout, row_major
from irwidget.spyre.opspec import OpSpec, TensorArg

_COMBINE = {
    "sum": ("add", 0.0),
    "mean": ("add", 0.0),
    "batchmatmul": ("add", 0.0),
    "max": ("maximum", float("-inf")),
    "min": ("minimum", float("inf")),
}
"""Reduction -> how tiles are combined, and what the accumulator starts from."""


def coarse_tile(graph: Graph) -> Graph:
    """Put maximal runs of ops under the same `slices` scopes into loops."""
    if not any(hint.slices for op in graph.ops for hint in op.hints):
        return graph
    runs = _runs(graph)
    for run in runs:
        graph = _Tiler(graph, run).tiled()
    return graph


def _scopes(op: Op) -> tuple[tuple[int, str, int], ...]:
    if not op.computed:
        return ()
    return tuple((hint.scope, name, count) for hint in op.hints for name, count in hint.slices)


def _runs(graph: Graph) -> list[tuple[str, ...]]:
    runs: list[tuple[str, ...]] = []
    current: list[str] = []
    key: tuple[tuple[int, str, int], ...] = ()
    for op in graph.ops:
        scopes = _scopes(op)
        if scopes != key and current:
            runs.append(tuple(current))
            current = []
        key = scopes
        if scopes:
            current.append(op.name)
    return [*runs, tuple(current)] if current else runs


@dataclass(frozen=True, slots=True)
class _OpTiling:
    """What tiling does to one op."""

    sizes: dict[str, int]
    loops: tuple[SpyreTileLoop, ...]
    reduced: tuple[str, ...]
    """Reduction variables that are tiled."""


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """What the tiles of a reduction are combined into."""

    buffer: Buffer
    """One like it."""
    filled: Ranges
    fill: Index
    """What it starts from is written over these ranges, to here."""
    sums: Index
    """Where each tile's result is combined into it."""
    loops: tuple[SpyreTileLoop, ...]
    """Around the fill."""


class _Tiler:
    """Tiles one run of ops."""

    def __init__(self, graph: Graph, run: Sequence[str]) -> None:
        self.graph, self.run = graph, set(run)
        self.buffers = dict(graph.buffers)
        self.number = graph.next_number()
        self.renamed: dict[str, str] = {}
        """Buffer -> the full-size one that ops after the loop read."""
        self.before: list[Op] = []
        self.body: list[Op] = []
        self.fills: list[Op] = []
        """They start the accumulators: before the loops, or in the outer ones before the inner."""
        self.results: list[Op] = []
        """Ops of an outer loop, after the inner one: they copy what it accumulated."""
        self.small: dict[str, tuple[Buffer, Buffer]] = {}
        """Buffer -> (as it was, one tile of it)."""

    def tiled(self) -> Graph:
        readers = users(self.graph)
        ops = [op for op in self.graph.ops if op.name in self.run]
        for op in ops:
            plan = self._plan(op)
            inside = [r for r in readers.get(op.target, []) if r.name in self.run]
            outside = [r for r in readers.get(op.target, []) if r.name not in self.run]
            escapes = bool(outside) or op.target in self.graph.output_buffers
            if plan.reduced:
                if inside:
                    reader = f"{inside[0].buffer} ({inside[0].func}) reads it inside the loop that still reduces it"
                    raise self._error(op, f"{reader}; end the hint's scope before it")
                self._reduce(op, plan)
            elif op.is_mutation or (escapes and not inside):
                self._write_through(op, plan)
            elif escapes:
                self._keep_and_copy(op, plan)
            else:
                self.body.append(self._resized(op, plan))
        return self._assembled()

    def _plan(self, op: Op) -> _OpTiling:
        by_name = {name: v for v, name in op.dims}
        sizes = dict(op.space)
        reduced = [v for v, _ in op.reduced]
        loops: list[SpyreTileLoop] = []
        tiled_reductions: list[str] = []
        for scope, name, count in _scopes(op):
            v = by_name.get(name)
            if v is None or v not in sizes:
                loops.append(SpyreTileLoop(scope, name, count))
                continue
            if sizes[v] % count:
                raise self._error(op, f"dim {name} of {sizes[v]} does not divide into {count} tiles")
            sizes[v] //= count
            loops.append(SpyreTileLoop(scope, name, count, v, sizes[v]))
            if v in reduced:
                tiled_reductions.append(v)
            self._check_stick(op, v, name, sizes[v])
        first = next((i for i, loop in enumerate(loops) if loop.variable in reduced), len(loops))
        if first and any(loop.variable and loop.variable not in reduced for loop in loops[first:]):
            raise self._error(op, "output dims are tiled outside and inside of its reduction; tile them on one side")
        if tiled_reductions and op.func not in _COMBINE:
            raise self._error(op, f"{op.func} cannot be combined over tiles of its reduction")
        return _OpTiling(sizes, tuple(loops), tuple(tiled_reductions))

    def _check_stick(self, op: Op, v: str, name: str, size: int) -> None:
        accesses = [self.graph.read_coordinates(op, r) for r in op.tensor_reads] + [self.graph.write_coordinates(op)]
        layouts = [self.graph.buffers[n].device for n in (*(r.buffer for r in op.tensor_reads), op.target)]
        for coordinates, layout in zip(accesses, layouts, strict=True):
            if stick_of(coordinates, layout.elements_per_stick).variable != v:
                continue
            if size % layout.elements_per_stick:
                raise self._error(op, f"tiles of {size} of dim {name} cut its sticks of {layout.elements_per_stick}")
            if op.kind == "reduction" and v in dict(op.reduced):
                raise self._error(op, f"{name} is the stick of a reduction that it reduces: only matmul tiles that")

    def _error(self, op: Op, why: str) -> UnsupportedError:
        return UnsupportedError(f"coarse tiling of {op.buffer} ({op.func}): {why}.{op.where()}")

    # -- the ways a result can leave the loop --------------------------------------------------------

    def _looped(self, op: Op, plan: _OpTiling) -> Op:
        """The op over one tile, reading tiles of what the loop keeps to itself."""
        reads = tuple(self._reread(op, r) for r in op.reads)
        return replace(
            op,
            ranges=tuple((v, plan.sizes[v]) for v, _ in op.ranges),
            loops=plan.loops,
            reads=reads,
            reduced=tuple((v, plan.sizes[v]) for v, _ in op.reduced),
        )

    def _reread(self, op: Op, read: Read) -> Read:
        pair = self.small.get(read.buffer)
        return read if pair is None else replace(read, index=self._reindexed(op, read.index, *pair))

    def _reindexed(self, op: Op, index: Index, old: Buffer, new: Buffer) -> Index:
        strides = {s: t for n, s, t in zip(old.size, old.stride, new.stride, strict=True) if n != 1}
        if index.offset or any(step not in strides for _, step in index.steps):
            raise self._error(op, f"it reads {old.name} through a view that its tiles do not keep")
        return Index(tuple((v, strides[step]) for v, step in index.steps))

    def _resized(self, op: Op, plan: _OpTiling) -> Op:
        """Used inside only: a buffer of one tile, at the same place in every iteration."""
        old = self.buffers[op.target]
        new = _tile_of(old, op, plan.sizes)
        self.small[op.target] = (old, new)
        self.buffers[op.target] = new
        made = self._looped(op, plan)
        return replace(made, write=self._reindexed(op, op.write, old, new))

    def _full(self, op: Op, buffer: Buffer) -> str:
        """A buffer for all tiles, made before the loop; later readers and the outputs see it."""
        name = f"buf{self.number}"
        self.buffers[name] = replace(buffer, name=name)
        self._empty(self.number, name)
        self.number += 1
        self.renamed[op.target] = name
        return name

    def _empty(self, number: int, name: str) -> None:
        self.before.append(Op(f"op{number}", name, "empty", "empty", target=name, rule="tile"))

    def _write_through(self, op: Op, plan: _OpTiling) -> None:
        if op.is_mutation:
            self.body.append(self._looped(op, plan))
            return
        full = self._full(op, self.buffers[op.target])
        del self.buffers[op.target]
        self.body.append(replace(self._looped(op, plan), target=full))

    def _keep_and_copy(self, op: Op, plan: _OpTiling) -> None:
        """Used inside and outside: a tile to compute with and a copy of it into the full buffer."""
        old = self.buffers[op.target]
        full = self._full(op, old)
        small = self._resized(op, plan)
        self.body.append(small)
        ranges = tuple((v, plan.sizes[v]) for v, _ in op.ranges)
        self.body.append(self._copy_out(op, Read(op.target, small.write, dtype=old.dtype), ranges, full, plan.loops))

    def _reduce(self, op: Op, plan: _OpTiling) -> None:
        """Tiles of a reduction are combined into an accumulator of the whole result.

        Inside output loops the accumulator is one tile, filled in every iteration and copied out after it.
        """
        around = tuple(itertools.takewhile(lambda loop: loop.variable not in plan.reduced, plan.loops))
        old = self.buffers[op.target]
        scratch = _tile_of(old, op, plan.sizes)
        at = self._reindexed(op, op.write, old, scratch)
        if not around:
            whole = _Accumulator(old, ranges_of(old.size), index_of(old.size, old.stride), op.write, ())
            self.renamed[op.target] = self._accumulate(op, plan, scratch, at, whole)
            return
        ranges = tuple((v, plan.sizes[v]) for v, _ in op.ranges)
        full = self._full(op, old)
        total = self._accumulate(op, plan, scratch, at, _Accumulator(scratch, ranges, at, at, around))
        self.results.append(self._copy_out(op, Read(total, at, dtype=old.dtype), ranges, full, around))

    def _accumulate(self, op: Op, plan: _OpTiling, scratch: Buffer, at: Index, into: _Accumulator) -> str:
        """A fill of the accumulator, the reduction of a tile into the scratch buffer, and a combination of both."""
        func, start = _COMBINE[op.func]
        old = self.buffers[op.target]
        zero, total = f"buf{self.number}", f"buf{self.number + 1}"
        self.buffers[zero] = Buffer(zero, (), (), old.dtype, "constant", start, device_layout((), old.dtype))
        self.buffers[total] = replace(into.buffer, name=total)
        self.buffers[op.target] = replace(scratch, per_tile=old.per_tile)
        self._empty(self.number + 3, total)
        self.before.append(Op(f"op{self.number}", zero, "constant", "constant", target=zero))
        self.fills.append(
            Op(
                f"op{self.number + 1}",
                total,
                "pointwise",
                "copy",
                into.filled,
                reads=(Read(zero, dtype=old.dtype),),
                write=into.fill,
                target=total,
                loops=into.loops,
                aten="full",
                rule="fill",
                line=op.line,
                origins=op.origins,
            )
        )
        self.body.append(replace(self._looped(op, plan), write=at))
        loops = tuple(
            replace(loop, variable=None, tile=0) if loop.variable in plan.reduced else loop for loop in plan.loops
        )
        self.body.append(
            Op(
                f"op{self.number + 2}",
                f"buf{self.number + 2}",
                "pointwise",
                func,
                tuple((v, plan.sizes[v]) for v, _ in op.ranges),
                reads=(Read(total, into.sums, dtype=old.dtype), Read(op.target, at, dtype=old.dtype)),
                write=into.sums,
                target=total,
                loops=loops,
                aten=func,
                pointwise=True,
                line=op.line,
                rule="copy_into",
                origins=op.origins,
            )
        )
        self.number += 4
        return total

    def _copy_out(
        self, op: Op, read: Read, ranges: tuple[tuple[str, int], ...], full: str, loops: tuple[SpyreTileLoop, ...]
    ) -> Op:
        """A tile into its place in the full buffer."""
        self.number += 1
        return Op(
            f"op{self.number - 1}",
            f"buf{self.number - 1}",
            "pointwise",
            "copy",
            ranges,
            dims=op.dims,
            reads=(read,),
            write=op.write,
            target=full,
            loops=loops,
            aten="copy",
            line=op.line,
            rule="copy_into",
            origins=op.origins,
        )

    def _assembled(self) -> Graph:
        outside = self.renamed
        ops: list[Op] = []
        placed = False
        for op in self.graph.ops:
            if op.name not in self.run:
                ops.append(op.reading(outside))
            elif not placed:
                fills = sorted(self.fills, key=lambda op: len(op.loops))
                results = sorted(self.results, key=lambda op: -len(op.loops))
                ops += [*self.before, *fills, *self.body, *results]
                placed = True
        outputs = tuple(
            replace(v, buffer=outside.get(v.buffer, v.buffer)) if isinstance(v, BufferView) else v
            for v in self.graph.outputs
        )
        return replace(self.graph.with_ops(ops, self.buffers), outputs=outputs)


def _tile_of(old: Buffer, op: Op, sizes: dict[str, int]) -> Buffer:
    """A buffer of one tile: the same dims, contiguous, laid out alike."""
    by_step = {step: v for v, step in op.write.steps}
    size = tuple(n if n == 1 else sizes[by_step[s]] for n, s in zip(old.size, old.stride, strict=True))
    stride = row_major(size)
    return replace(old, size=size, stride=stride, layout=_layout_of_tile(old, size, stride), per_tile=True)


def _layout_of_tile(old: Buffer, size: tuple[int, ...], stride: tuple[int, ...]) -> DeviceLayout:
    layout = old.device
    eps = layout.elements_per_stick
    extents, strides = list(layout.device_size), list(layout.stride_map)
    for i, step in enumerate(layout.stride_map):
        if step <= 0:
            continue
        for d, (n, s) in enumerate(zip(old.size, old.stride, strict=True)):
            if n == 1:
                continue
            if i == len(strides) - 1 and step == s:
                strides[i] = stride[d]
            elif i < len(strides) - 1 and step == s * eps and extents[i] == -(-n // eps) and layout.stride_map[-1] == s:
                extents[i], strides[i] = -(-size[d] // eps), stride[d] * eps
            elif i < len(strides) - 1 and step == s and layout.device_size[i] == n:
                extents[i], strides[i] = size[d], stride[d]
            else:
                continue
            break
    return replace(layout, device_size=tuple(extents), stride_map=tuple(strides))


# -- addresses -------------------------------------------------------------------------------------


def set_advances(graph: Graph, kernel: SpyreKernel) -> SpyreKernel:
    """Bytes that each iteration moves each tensor.

    These are ours: the device offset at the tile minus that at 0, where the public snapshot mixes host strides
    and extents.
    """
    if not any(spec.loops for spec in kernel.specs):
        return kernel
    by_name = {op.name: op for op in graph.ops}
    return replace(kernel, specs=tuple(_advanced(graph, by_name[s.source], s) for s in kernel.specs))


def _advanced(graph: Graph, op: Op, spec: OpSpec) -> OpSpec:
    if not op.loops:
        return spec
    indices = [*(r.index for r in op.tensor_reads), op.write]
    args: list[TensorArg] = []
    for arg, index in zip(spec.args, indices, strict=True):
        layout = graph.buffers[arg.name].device
        fixed = _is_fixed(graph, arg.name)
        steps = [
            0 if fixed or loop.variable is None else _bytes(layout, index.step(loop.variable) * loop.tile)
            for loop in op.loops
        ]
        args.append(replace(arg, advances=tuple(steps), per_tile_fixed=fixed))
    return replace(spec, args=tuple(args))


def _is_fixed(graph: Graph, name: str) -> bool:
    """Whether a buffer holds one tile: it is made in a loop and nobody writes it from outside."""
    return any(op.target == name and op.loops and not op.is_mutation for op in graph.ops)


def _bytes(layout: DeviceLayout, host_offset: int) -> int:
    coordinates = device_coordinates(layout, Index((), host_offset), {})
    strides = layout.strides
    return sum(c.offset * s for c, s in zip(coordinates, strides, strict=True)) * layout.format.bytes
