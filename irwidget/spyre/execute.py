"""The reference executor: run a program core by core and tile by tile through the device layouts.

Nothing is read but through device coordinates, nothing is written but by the core that owns the slice; what a
card would get silently wrong raises a TileError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch

from irwidget.checking.resampling import once
from irwidget.errors import UsageError
from irwidget.private_torch import pytree, storage_id
from irwidget.spyre import semantics
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.coordinates import device_coordinates, index_of, ranges_of
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.formats import dtype_name
from irwidget.spyre.ir import Buffer, BufferView, External, Graph, HostFunction
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.layout import row_major
from irwidget.spyre.memory import CoreTile, DeviceMemory, Integers, Place, Region, Space, TileError
from irwidget.spyre.opspec import UNIT_BATCH, OpSpec, TensorArg
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.pool import Pool
from irwidget.spyre.scratchpad import Scratchpad
from irwidget.spyre.superdsc import SuperDscPlan, start_address


class SpyreExecutable(Protocol):
    """What of a compiled program is needed to run it; see `SpyreProgram`."""

    @property
    def name(self) -> str: ...
    @property
    def options(self) -> SpyreSwitches: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def steps(self) -> tuple[SpyreKernel | HostCall, ...]: ...
    @property
    def kernels(self) -> tuple[SpyreKernel, ...]: ...
    @property
    def scratchpad(self) -> Scratchpad: ...
    @property
    def pool(self) -> Pool: ...
    @property
    def bound(self) -> Mapping[str, torch.Tensor]: ...
    @property
    def call_inputs(self) -> tuple[str, ...]: ...
    @property
    def output_tree(self) -> Any: ...


def execute(program: SpyreExecutable, tensors: Sequence[Any], *, rounding: bool = False) -> Any:
    """Run the program on tensors; returns what the compiled function returns, in its dtypes."""
    return _Run(program, rounding).run(tensors)


class _Run:
    def __init__(self, program: SpyreExecutable, rounding: bool) -> None:
        self.program, self.rounding = program, rounding
        self.graph = program.graph
        self.memory = DeviceMemory(program.options.lx_bytes)
        unit = min((b.device.format.bytes for b in self.graph.buffers.values() if b.layout is not None), default=1)
        self.memory.pool = Space("the pool", program.pool.bytes, unit)
        used = [
            program.scratchpad.addresses[n] + b.size
            for n, b in program.scratchpad.blocks.items()
            if n in program.scratchpad.addresses
        ]
        self.moments: set[str] = set()
        """Buffers that `exx2` made on the host."""
        for core in range(program.options.cores):
            self.memory.scratchpads[core] = Space(f"LX of core {core}", max(used, default=0), unit)

    def run(self, tensors: Sequence[Any]) -> Any:
        values = self._inputs(tensors)
        for name, value in values.items():
            self._store(self.graph.buffers[name], value)
        for op in self.graph.ops:
            if op.kind == "constant":
                value = torch.tensor(self.graph.buffers[op.target].value, dtype=torch.float64)
                self._store(self.graph.buffers[op.target], value)
        for name in self._left_empty():
            self._store(self.graph.buffers[name], torch.zeros(self.graph.buffers[name].size))
        for step in self.program.steps:
            if isinstance(step, HostCall):
                self._host(step)
            else:
                self._kernel(step)
        with torch.no_grad():
            outputs = [
                self._result(values, view, stride, alias)
                for view, stride, alias in zip(self.graph.outputs, self.graph.strides, self.graph.aliases, strict=True)
            ]
            for name in self.graph.mutated:
                buffer = self.graph.buffers[name]
                values[name].copy_(self._load(BufferView(name, buffer.size, buffer.stride, 0, buffer.dtype)))
        tree = self.program.output_tree
        return pytree.tree_unflatten(outputs, tree) if tree is not None else outputs

    def _result(
        self, values: Mapping[str, torch.Tensor], view: Any, stride: tuple[int, ...] | None, alias: BufferView | None
    ) -> Any:
        """What the function returns: in the memory of an input where eager has it there and strides are as compiled."""
        if alias is not None:
            given, of = values[alias.buffer], self.graph.buffers[alias.buffer]
            if given.stride() == of.stride:
                if (alias.size, alias.stride, alias.offset) == (of.size, of.stride, 0):
                    return given
                return given.as_strided(alias.size, alias.stride, given.storage_offset() + alias.offset)
        return self._load(view, stride=stride) if isinstance(view, BufferView) else view

    def _left_empty(self) -> list[str]:
        """Buffers in device memory that the function makes without values, and may read before all is written."""
        found = [op.target for op in self.graph.ops if op.kind == "empty" and "empty" in op.aten]
        return [name for name in found if name not in self.program.pool.offsets]

    def _inputs(self, tensors: Sequence[Any]) -> dict[str, torch.Tensor]:
        flat = [t for t in pytree.tree_leaves(tuple(tensors)) if isinstance(t, torch.Tensor)]
        names = self.program.call_inputs
        if len(flat) != len(names):
            raise UsageError(f"{self.program.name} takes {len(names)} tensors, got {len(flat)}.")
        values = dict(self.program.bound)
        values.update(zip(names, flat, strict=True))
        for given in self.graph.inputs:
            value = values.get(given.name)
            if value is None:
                raise UsageError(f"{given.parameter or given.name} has no value: compile a module that has real ones.")
            if tuple(value.shape) != given.size or dtype_name(value.dtype) != given.dtype:
                raise UsageError(
                    f"{given.parameter or given.name}: compiled for {given.dtype}{list(given.size)}, got"
                    f" {dtype_name(value.dtype)}{list(value.shape)}."
                )
            steps = zip(given.size, given.stride, value.stride(), strict=True)
            if any(n > 1 and step and not compiled for n, compiled, step in steps):
                label = given.parameter or given.name
                raise UsageError(f"{label}: compiled for an expanded tensor, got one that is not.")
        found = {i.name: values[i.name] for i in self.graph.inputs}
        for name in self.graph.mutated:
            self._alone(name, found)
        return found

    def _alone(self, written: str, values: Mapping[str, torch.Tensor]) -> None:
        """UsageError for an input that is written and has elements in one place, or in that of another input."""
        labels = {given.name: given.parameter or given.name for given in self.graph.inputs}
        value, what = values[written], f"{self.program.name} writes into {labels[written]}"
        if any(n > 1 and not step for n, step in zip(value.shape, value.stride(), strict=True)):
            raise UsageError(f"{what}, several of whose elements are one in memory: give a clone.")
        for name, other in values.items():
            if name != written and _overlap(value, other):
                raise UsageError(
                    f"{what}, which shares memory with {labels[name]}; it was compiled for tensors of their own:"
                    " give a clone."
                )

    # -- host and device ---------------------------------------------------------------------------

    def _region(self, buffer: Buffer) -> Region:
        """Where each host element lies, over the host dims of more than one element."""
        ranges = ranges_of(buffer.size)
        layout = buffer.device
        coordinates = device_coordinates(layout, index_of(buffer.size, buffer.stride), dict(ranges))
        axes: list[Integers] = []
        for v, n in ranges:
            terms = [
                _values(term, 0, n) * step
                for coordinate, step in zip(coordinates, row_major(layout.device_size), strict=True)
                for term in coordinate.terms
                if term.var == v
            ]
            axes.append(sum(terms, np.zeros(n, np.int64)) * layout.format.bytes)
        return Region(0, tuple(axes))

    def _allocate(self, buffer: Buffer) -> Space:
        exact = not buffer.dtype.startswith(("float", "bfloat", "bool"))
        self.memory.allocate(buffer.name, buffer.device.bytes, buffer.device.format.bytes, exact)
        return self.memory.tensors[buffer.name]

    def _store(self, buffer: Buffer, value: torch.Tensor) -> None:
        """Copy a host tensor to the device; there is nothing to copy of an empty one."""
        if not value.numel():
            return
        if value.is_complex():  # of exx2: two lanes of a stick
            self.moments.add(buffer.name)
            for lane, part in enumerate(torch.view_as_real(value).unbind(-1)):
                self._put(buffer, part, lane)
        else:
            self._put(buffer, value)

    def _put(self, buffer: Buffer, value: torch.Tensor, lane: int = 0) -> None:
        space, at = self._allocate(buffer), self._region(buffer).moved(lane * buffer.device.format.bytes)
        wide = torch.float64 if space.values.dtype == np.float64 else torch.float32
        space.write(
            at,
            value.detach().to(wide).cpu().numpy().reshape(at.shape),
            self.memory.owner(buffer.name),
            self.memory.next_epoch(),
            f"the copy of {buffer.name} to the device",
        )

    def _load(self, view: BufferView, stride: tuple[int, ...] | None = None, lane: int = 0) -> torch.Tensor:
        """Copy a view of a device tensor back to the host, with its strides or those."""
        buffer, dtype = self.graph.buffers[view.buffer], getattr(torch, view.dtype)
        stride = view.stride if stride is None else stride
        if not all(view.size):
            return torch.empty_strided(view.size, stride, dtype=dtype)
        space = self.memory.tensors[view.buffer]
        what = f"the copy of {buffer.name} to the host"
        at = self._region(buffer).moved(lane * buffer.device.format.bytes)
        values = space.read(at, self.memory.owner(buffer.name), what)
        length = 1 + sum((n - 1) * s for n, s in zip(buffer.size, buffer.stride, strict=True))
        storage = torch.zeros(length, dtype=torch.float64)
        whole = once(buffer.stride)
        values = torch.from_numpy(values).reshape(buffer.size)
        torch.as_strided(storage, buffer.size, buffer.stride)[whole].copy_(values[whole])
        made = torch.as_strided(storage, view.size, view.stride, view.offset)
        out = torch.empty_strided(view.size, stride, dtype=dtype)
        out[once(stride)].copy_(made[once(stride)])
        return out

    def _host(self, step: HostCall) -> None:
        call = step.op.external
        assert call is not None
        made = self._external(call)
        for result in step.results:
            self._store(self.graph.buffers[result.target], made[result.part] if call.several else made)

    def _external(self, call: External) -> Any:
        def convert(value: Any) -> Any:
            if isinstance(value, BufferView):
                if value.buffer in self.moments or self.graph.buffers[value.buffer].device.tag == "EXX2":
                    return torch.complex(*(self._load(replace(value, dtype="float32"), lane=lane) for lane in range(2)))
                return self._load(value)
            if isinstance(value, HostFunction):
                return value.function
            if isinstance(value, list | tuple):
                return type(value)(convert(v) for v in value)  # pyright: ignore[reportCallIssue]
            return value

        args = [convert(a) for a in call.args]
        return call.target(*args, **{k: convert(v) for k, v in call.kwargs.items()})

    # -- kernels -----------------------------------------------------------------------------------

    def _kernel(self, kernel: SpyreKernel) -> None:
        for name in kernel.arguments:
            self._allocate(self.graph.buffers[name])
        for spec, iteration in kernel.unrolled:
            _OpRun(self, kernel, spec, iteration).run()


@dataclass(frozen=True, slots=True)
class _TilePlace:
    """Where a core's tile of an argument lies, over the axes of the op's symbols."""

    space: Space
    at: Place


class _OpRun:
    """One SuperDSC: an op on every core."""

    def __init__(self, run: _Run, kernel: SpyreKernel, spec: OpSpec, iteration: tuple[int, ...]) -> None:
        self.whole, self.kernel, self.spec, self.iteration = run, kernel, spec, iteration
        self.memory = run.memory
        self.plan: SuperDscPlan = kernel.plans[spec.source]
        self.symbols = list(spec.iteration_space)
        self.axes = {v: i for i, v in enumerate(self.symbols)}
        self.reduced = [self.axes[v] for v in spec.reduced]
        self.what = f"{spec.source} ({spec.op})"

    def run(self) -> None:
        partial: dict[tuple[int, ...], tuple[CoreTile, torch.Tensor]] = {}
        for core in range(self.plan.cores):
            tile = self._tile(core)
            if tile.empty:
                continue
            result = self._compute(tile)
            key = tuple(start for i, (start, _) in enumerate(tile.ranges.values()) if i not in self.reduced)
            if key in partial:
                first, value = partial[key]
                partial[key] = (first, semantics.combine(self.spec.op, value, result))
            else:
                partial[key] = (tile, result)
        epoch = self.memory.next_epoch()
        for tile, result in partial.values():
            self._write(tile, result, epoch)

    def _tile(self, core: int) -> CoreTile:
        ranges: dict[str, tuple[int, int]] = {}
        for v, (n, _) in self.spec.iteration_space.items():
            label = self.plan.labels[v]
            size = self.plan.sizes[label] // self.plan.splits[label]
            start = self.plan.slices[core][label] * size
            ranges[v] = (start, min(start + size, n))
        return CoreTile(core, ranges)

    # -- addresses ---------------------------------------------------------------------------------

    def _place(
        self, arg: TensorArg, tile: CoreTile, gathered: dict[str, np.ndarray[Any, Any]] | None = None
    ) -> _TilePlace:
        size, coordinates = arg.memory or (arg.device_size, arg.device_coordinates)
        local = arg.allocation[0] == "lx"
        strides = row_major(self._local_size(size, coordinates) if local else size)
        axes = [np.zeros(1, np.int64) for _ in self.symbols]
        base, chosen = 0, None
        for d, coordinate in enumerate(coordinates):
            low = high = coordinate.offset
            for term in coordinate.terms:
                if term.var not in self.axes:
                    continue
                start, stop = tile.ranges[term.var]
                values = _values(term, start, stop)
                if local and d < len(coordinates) - 1:
                    values = values - term.at(start)
                low, high = low + int(values.min()), high + int(values.max())
                axis = self.axes[term.var]
                axes[axis] = axes[axis] + values * strides[d]
            if coordinate.indirect:
                picked = (gathered or {})[coordinate.indirect]
                low, high = low + int(picked.min()), high + int(picked.max())
                chosen = picked * strides[d]
            if low < 0 or high >= size[d]:
                raise TileError(
                    f"{self.what}: a tile of core {tile.core} leaves {arg.name} in device dim {d}:"
                    f" {min(low, 0) or high} of {size[d]}"
                )
            base += coordinate.offset * strides[d]
        width = arg.format.bytes
        at: Place = Region(base * width, tuple(axis * width for axis in axes))
        if chosen is not None:
            at = at.addresses() + chosen * width
        start = 0 if arg.allocation[0] == "hbm" else arg.allocation[1]
        start += sum(i * step for i, step in zip(self.iteration, arg.advances, strict=False))
        space = self.memory.space(arg.allocation[0], arg.name, tile.core)
        place = _TilePlace(space, _further(at, start))
        self._check_start(arg, tile, place)
        return place

    def _local_size(self, size: Sequence[int], coordinates: Sequence[Coordinate]) -> tuple[int, ...]:
        """Extents of one core's part of a tensor in its scratchpad."""
        made: list[int] = []
        for n, coordinate in zip(size[:-1], coordinates[:-1], strict=True):
            for v in coordinate.variables:
                n = -(-n // self.plan.splits[self.plan.labels[v]])
            made.append(n)
        return (*made, size[-1])

    def _check_start(self, arg: TensorArg, tile: CoreTile, place: _TilePlace) -> None:
        """The SuperDSC's start address is where the tile begins."""
        elsewhere = arg.memory is not None and UNIT_BATCH in self.spec.iteration_space
        if elsewhere or any(c.indirect for c in arg.device_coordinates):
            return
        tensor = next(t for t in self.plan.tensors if t.arg is arg)
        base = arg.allocation[1] if arg.allocation[0] == "hbm" else 0
        said = start_address(self.plan, tensor, tile.core, self.iteration) - base
        found = place.at.first if isinstance(place.at, Region) else int(place.at.flat[0])
        if said != found:
            raise TileError(
                f"{self.what}: the SuperDSC starts {arg.name} of core {tile.core} at {said}, its tile begins at {found}"
            )

    def _read(
        self, arg: TensorArg, tile: CoreTile, gathered: dict[str, Any] | None = None, lane: int = 0
    ) -> torch.Tensor:
        place = self._place(arg, tile, gathered)
        values = place.space.read(
            _further(place.at, lane * arg.format.bytes), self.memory.owner(arg.name), f"core {tile.core} in {self.what}"
        )
        return torch.from_numpy(values)

    # -- arithmetic --------------------------------------------------------------------------------

    def _compute(self, tile: CoreTile) -> torch.Tensor:
        spec = self.spec
        if spec.kind == "matmul":
            return self._matmul(tile)
        gathered: dict[str, Any] = {}
        for arg in spec.args:
            if arg.is_index:
                gathered[arg.name] = self._read(arg, tile).numpy().astype(np.int64)
        data = [arg for arg in spec.args[:-1] if not arg.is_index]
        inputs = [self._read(arg, tile, gathered) for arg in data]
        integers = any(not arg.dtype.startswith(("float", "bfloat", "bool")) for arg in data)
        if not integers:
            inputs = [x.float() for x in inputs]
        if spec.op == "layernormscale":
            inputs.append(self._read(data[0], tile, lane=1).float())
        if spec.op == "exx2":
            return self._moments(inputs[0])
        if spec.kind == "topk":
            return self._topk(inputs[0], tile)
        if spec.is_reduction:
            x = inputs[0].expand([stop - start for start, stop in tile.ranges.values()])
            return semantics.partial_reduction(spec.op, x, self.reduced, spec.constants)
        if integers and spec.op in ("identity", "ReStickifyOpHBM"):
            return inputs[0]
        return semantics.pointwise(spec.op, inputs, spec.constants)

    def _matmul(self, tile: CoreTile) -> torch.Tensor:
        """The reduction runs over whole sticks: A is masked inside its last stick, B must hold zeros there."""
        a, b = self.spec.args[:2]
        k = self.spec.reduced[0] if self.spec.reduced else ""
        x, y = self._read(a, tile).float(), None
        if k:
            label = self.plan.labels[k]
            size = self.plan.sizes[label] // self.plan.splits[label]
            start, stop = tile.ranges[k]
            wide = CoreTile(tile.core, {**tile.ranges, k: (start, start + size)})
            if start + size > stop and b.format.name == "SEN169_FP16":
                y = self._read(b, wide).float()
                inside = torch.nn.functional.pad(x.movedim(self.axes[k], -1), (0, start + size - stop))
                x = inside.movedim(-1, self.axes[k])
        y = self._read(b, tile).float() if y is None else y
        return semantics.matmul(x, y, self.reduced)

    def _moments(self, x: torch.Tensor) -> torch.Tensor:
        """exx2 leaves the mean in the first lane of a stick and the mean square in the second."""
        scale = self.spec.constants["exx2scale"]
        wide = x.double()
        sums = [part.sum(self.reduced, keepdim=True) for part in (wide, wide * wide)]
        return torch.stack(sums, -1) * scale

    def _topk(self, x: torch.Tensor, tile: CoreTile) -> torch.Tensor:
        axis = self.reduced[0]
        out = self.spec.args[-1]
        walked = {v for c in out.device_coordinates for v in c.variables}
        slot = next(
            (i for v, i in self.axes.items() if v in walked and x.shape[i] == 1), axis
        )  # of one, none is walked
        k = 1 if slot == axis else self.spec.iteration_space[self.symbols[slot]][0]
        values, indices = torch.topk(x, k, dim=axis)
        chosen = values if self.spec.op == "topkvalue" else indices.float()
        return chosen.transpose(axis, slot)

    def _write(self, tile: CoreTile, result: torch.Tensor, epoch: int) -> None:
        out = self.spec.args[-1]
        kept = CoreTile(tile.core, {v: (0, 1) if self.axes[v] in self.reduced else r for v, r in tile.ranges.items()})
        place = self._place(out, kept)
        owner = self.memory.owner(out.name)
        if self.spec.op == "exx2":
            for lane in range(2):
                place.space.write(
                    _further(place.at, lane * out.format.bytes), result[..., lane].numpy(), owner, epoch, self.what
                )
            return
        if out.dtype == "bool":
            result = (result != 0).double()
        if self.whole.rounding and out.device_dtype == "SEN169_FP16":
            result = semantics.round_dl16(result)
        values = result if place.space.values.dtype == np.float32 else result.double()
        place.space.write(place.at, values.numpy(), owner, epoch, f"core {tile.core} in {self.what}")


def _values(term: Any, start: int, stop: int) -> Integers:
    values = np.arange(start, stop, dtype=np.int64)
    if term.modulus:
        values = values % term.modulus
    return term.num * (values // term.den)


def _further(at: Place, by: int) -> Place:
    """The same addresses, so many bytes further."""
    return at.moved(by) if isinstance(at, Region) else at + by


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have an element of memory in common; of two sizes of element, whether they have a storage.

    No two elements of `one` may be the same.
    """
    if storage_id(one) != storage_id(other) or not one.numel() or not other.numel():
        return False
    if one.element_size() != other.element_size():
        return True
    taken = torch.zeros(one.untyped_storage().nbytes() // one.element_size(), dtype=torch.bool)
    taken.as_strided(one.shape, one.stride(), one.storage_offset()).fill_(True)
    return bool(taken.as_strided(other.shape, other.stride(), other.storage_offset()).any())
