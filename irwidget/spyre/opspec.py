"""OpSpec: the natural unit to show of what a kernel does (docs/spyre-rules.md: OpSpec)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any

from irwidget.spyre.coordinates import stick_of
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.formats import DeviceFormat
from irwidget.spyre.ir import Graph, Op
from irwidget.spyre.normalize import Access, Aligned, Normalized, normalize
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.schedule import core_order, loop_order

UNIT_BATCH = "_spyre_bmm_unit"
_Memory = tuple[tuple[int, ...], tuple[Coordinate, ...]]
"""Device extents and coordinates."""


@dataclass(frozen=True, slots=True)
class TensorArg:
    """An operand of an OpSpec: a device tensor, where it lies and how the loop walks over it."""

    is_input: bool
    arg_index: int
    """Number among the kernel's arguments; -1 for the pool and the scratchpad."""
    device_dtype: str
    device_size: tuple[int, ...]
    device_coordinates: tuple[Coordinate, ...]
    allocation: tuple[str, int]
    """("hbm" | "pool" | "lx", address)."""
    name: str
    format: DeviceFormat
    dtype: str
    tag: str = "STANDARD"
    is_index: bool = False
    stride_map: tuple[int, ...] = ()
    per_tile_fixed: bool = False
    memory: _Memory | None = None
    """Device extents and coordinates as they lie in memory, where upstream shows others (a unit batch dim, windows)."""
    advances: tuple[int, ...] = ()
    """Bytes that one iteration of each enclosing loop moves the tensor, outermost first."""

    @property
    def eps(self) -> int:
        return self.device_size[-1]

    @property
    def stick(self) -> str | None:
        return stick_of(self.device_coordinates, self.eps).variable

    def __str__(self) -> str:
        coordinates = ", ".join(str(c) for c in self.device_coordinates)
        place = f"{self.allocation[0]}={self.allocation[1]}"
        return (
            f"TensorArg(is_input={self.is_input}, arg_index={self.arg_index}, device_dtype={self.device_dtype}, "
            f"device_size={list(self.device_size)}, device_coordinates=[{coordinates}], allocation={{{place}}}"
            + (", per_tile_fixed=True" if self.per_tile_fixed else "")
            + f", name={self.name!r})"
        )


@dataclass(frozen=True)
class OpSpec:
    """One operation of a kernel over its iteration space."""

    op: str
    is_reduction: bool
    iteration_space: Mapping[str, tuple[int, int]]
    """Symbol -> (size, split), outermost first."""
    args: tuple[TensorArg, ...]
    """Index tensors of a gather, inputs, the output."""
    op_info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tiled_symbols: tuple[str, ...] = ()
    kind: str = "pointwise"
    loops: tuple[int, ...] = ()
    """Counts of the enclosing loops, outermost first."""
    loop_scopes: tuple[int, ...] = ()
    loop_symbols: tuple[str | None, ...] = ()
    core_order: tuple[str, ...] = ()
    """Symbols from the one whose slices vary fastest over the core ids."""
    source: str = ""
    """The op of the loop IR that it was made from."""
    reduced: tuple[str, ...] = ()
    segments: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Loop variable of that op -> the symbols that it was cut into, innermost first."""

    @property
    def constants(self) -> Mapping[str, float | bool]:
        return self.op_info.get("constants", {})

    def __str__(self) -> str:
        space = ", ".join(f"{v}: ({n}, {s})" for v, (n, s) in self.iteration_space.items())
        lines = [f"OpSpec(op={self.op!r}, is_reduction={self.is_reduction}, iteration_space={{{space}}},"]
        lines += [f"    {arg}," for arg in self.args]
        lines.append(f"    op_info={dict(self.op_info)}, tiled_symbols={list(self.tiled_symbols)})")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """A counted loop around OpSpecs."""

    count: int
    body: tuple[OpSpec | LoopSpec, ...]
    tiled_symbols: tuple[str, ...]


def opfunc(op: Op, accesses: Sequence[Access]) -> str:
    """The OpFunc of an op; a pure copy becomes identity or ReStickifyOpHBM by its stick variables."""
    if op.func != "copy":
        return op.func
    *inputs, out = [a for a in accesses if not a.is_index]
    if all(c.is_zero for c in inputs[0].coordinates) and not all(c.is_zero for c in out.coordinates):
        return "identity"
    sticks = [stick_of(a.coordinates, a.layout.elements_per_stick).variable for a in (inputs[0], out)]
    return "identity" if sticks[0] == sticks[1] else "ReStickifyOpHBM"


def accesses_of(graph: Graph, op: Op) -> list[Access]:
    found = [
        Access(
            read.buffer,
            graph.buffers[read.buffer].device,
            graph.read_coordinates(op, read),
            read.role == "index",
            read.index.wraps,
        )
        for read in op.tensor_reads
    ]
    return [*found, Access(op.target, graph.buffers[op.target].device, graph.write_coordinates(op))]


def make_opspec(
    graph: Graph,
    op: Op,
    options: SpyreSwitches,
    places: Mapping[str, tuple[str, int]],
    arguments: Sequence[str],
) -> OpSpec:
    """The OpSpec of an op; `places` say where each buffer lies, `arguments` number the kernel's tensors."""
    order = loop_order(op)
    symbols = {v: f"c{i}" for i, v in enumerate(order)}
    splits = dict(op.splits)
    # Of a split that does not divide the elements, upstream's code generation keeps what does.
    space = {symbols[v]: (op.space[v], gcd(splits.get(v, 1), op.space[v])) for v in order}
    raw = accesses_of(graph, op)
    accesses = [
        replace(
            a,
            coordinates=tuple(c.renamed(symbols.__getitem__) for c in a.coordinates),
            wraps=tuple((symbols[v], n) for v, n in a.wraps),
        )
        for a in raw
    ]
    made = normalize(space, accesses)
    extent = _skipped_first(made.space, space) if op.kind == "matmul" else made.space
    args: list[TensorArg] = []
    for i, (access, tensor) in enumerate(zip(accesses, made.tensors, strict=True)):
        layout, buffer = access.layout, graph.buffers[access.name]
        place = places.get(access.name, ("hbm", 0))
        index = arguments.index(access.name) if place[0] == "hbm" and access.name in arguments else -1
        args.append(
            TensorArg(
                i < len(accesses) - 1,
                index,
                layout.format.name,
                tensor.size,
                tensor.coordinates,
                place,
                access.name,
                layout.format,
                buffer.dtype,
                layout.tag,
                access.is_index,
                layout.stride_map,
                memory=_of_windows(access, tensor, made),
            )
        )
    cores = [s for v in core_order(op, options) for s in made.segments[symbols[v]]]
    cores += [v for v in made.space if v not in cores]
    info: dict[str, Any] = {"constants": dict(op.constants)} if op.constants else {}
    spec = OpSpec(
        opfunc(op, raw),
        bool(op.reduced) or op.kind == "reduction",
        extent,
        tuple(args),
        info,
        kind=op.kind,
        core_order=tuple(cores),
        source=op.name,
        reduced=tuple(s for v, _ in op.reduced for s in made.segments[symbols[v]]),
        loops=tuple(loop.count for loop in op.loops),
        loop_scopes=op.loop_scopes,
        loop_symbols=tuple(symbols.get(loop.variable or "") for loop in op.loops),
        tiled_symbols=tuple(symbols[loop.variable] for loop in op.loops if loop.variable),
        segments={v: made.segments[symbols[v]] for v in order},
    )
    if op.unit_batch and len(op.space) == 3 and _unit_dims(raw[0]) == _unit_dims(raw[-1]) < 2:
        spec = _with_unit_batch(spec, graph, op)
    return spec


def _of_windows(access: Access, tensor: Aligned, made: Normalized) -> _Memory | None:
    """Where windows that overlap really lie: a dim that is taken apart by its terms has too few places for them."""
    extents = {v: n for v, (n, _) in made.space.items()}
    dims = zip(tensor.size, tensor.coordinates, strict=True)
    if all(c.indirect or c.bounds(extents)[1] < n for n, c in dims):
        return None
    cut = any(len(made.segments[v]) > 1 for c in access.coordinates for v in c.variables)
    return None if cut or access.wraps else (access.layout.device_size, access.coordinates)


def _unit_dims(access: Access) -> int:
    """Outer device dims of one element: where a tensor has several, upstream does not tell which one is the batch."""
    dims = zip(access.layout.device_size[:-1], access.coordinates[:-1], strict=True)
    return sum(n == 1 and coordinate.is_zero for n, coordinate in dims)


def _skipped_first(
    made: Mapping[str, tuple[int, int]], before: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Matmul dims are labelled from the last: dims that hold still come first."""
    still = {v: p for v, p in made.items() if v not in before and p == (1, 1)}
    return {**still, **made}


def _with_unit_batch(spec: OpSpec, graph: Graph, op: Op) -> OpSpec:
    """Keep the batch dim of size 1 of a matmul with a shared weight, as upstream shows it."""
    args: list[TensorArg] = []
    for i, arg in enumerate(spec.args):
        if i == 1 or len(graph.buffers[arg.name].size) < 3:
            args.append(_widened(arg))
            continue
        dims = list(zip(arg.device_size[:-1], arg.device_coordinates[:-1], strict=True))
        dims = [d for d in dims if not d[1].is_zero]
        outer = [d for d in dims if arg.stick in d[1].variables]
        rest = [d for d in dims if arg.stick not in d[1].variables]
        shown = [(1, _symbol(UNIT_BATCH)), *outer, *rest]
        shown = [(1, Coordinate())] * (len(spec.args[0].device_size) - len(shown)) + shown
        args.append(
            replace(
                arg,
                device_size=(*(n for n, _ in shown), arg.eps),
                device_coordinates=(*(c for _, c in shown), arg.device_coordinates[-1]),
                memory=(arg.device_size, arg.device_coordinates),
            )
        )
    return replace(
        spec,
        args=tuple(args),
        iteration_space={UNIT_BATCH: (1, 1), **spec.iteration_space},
        op_info={**spec.op_info, "shared_weight_unit_bmm": {"batch_dim": 0}},
        core_order=(*spec.core_order, UNIT_BATCH),
    )


def _widened(arg: TensorArg) -> TensorArg:
    return replace(arg, device_size=(1, *arg.device_size), device_coordinates=(Coordinate(), *arg.device_coordinates))


def _symbol(name: str) -> Coordinate:
    from irwidget.spyre.expressions import Term

    return Coordinate((Term(name),))
