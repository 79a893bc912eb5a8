"""How long a program takes, estimated: no card is asked (docs/spyre-time.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, log2, prod
from typing import Any, Protocol

import numpy as np

from irwidget.spyre import card
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.estimate_data import Estimate, KernelEstimate, OpEstimate, Part, Traffic
from irwidget.spyre.hardware import MAX_CORES, STICK_BYTES
from irwidget.spyre.ir import Graph
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.layers import repeats
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.tiles import TiledOp, TiledTensor


class Compiled(Protocol):
    """What is looked at of a program."""

    @property
    def name(self) -> str: ...
    @property
    def options(self) -> SpyreSwitches: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def steps(self) -> Sequence[SpyreKernel | HostCall]: ...


def estimate(program: Compiled, tiled: Sequence[tuple[SpyreKernel, TiledOp]]) -> Estimate:
    """Estimate the time of a program's kernels and ops; `tiled` are its ops, cut over the cores."""
    kernels: list[KernelEstimate] = []
    modules = {op.name: op.module for op in program.graph.ops}
    by_kernel: dict[int, list[TiledOp]] = {}  # equal kernels share a name
    for kernel, made in tiled:
        by_kernel.setdefault(id(kernel), []).append(made)
    for number, kernel in enumerate(step for step in program.steps if isinstance(step, SpyreKernel)):
        ops = tuple(estimate_op(made, number, modules[made.op.name]) for made in by_kernel.get(id(kernel), ()))
        kernels.append(KernelEstimate(kernel.name, sum(op.us for op in ops), ops))
    host = [step for step in program.steps if isinstance(step, HostCall)]
    copied = sum(sum(call.transfers(program.graph)) for call in host)
    options = program.options
    found = Estimate(program.name, options.cores, options.semantics, tuple(kernels), len(host), copied)
    return replace(found, repeats=tuple(repeats([signature(op) for op in found.ops])))


def estimate_op(made: TiledOp, kernel: int = 0, module: str = "") -> OpEstimate:
    """Estimate one op: the slowest of its parts, as they overlap, and after it the adding up of a split reduction."""
    plan, spec = made.plan, made.spec
    bytes_of = traffic(made)
    reduced = prod(plan.splits[plan.labels[v]] for v in spec.reduced)
    results = prod(plan.sizes[d] for d in plan.sizes if plan.tensors[-1].scale.get(d, -1) > 0)
    partial = made.iterations * card.PARTIAL.value * results * log2(reduced)
    tile = {d: n // plan.splits[d] for d, n in plan.sizes.items()}
    steps, matmul = made.iterations, spec.kind == "matmul"
    elements = prod(plan.sizes.values())
    again = bytes_of.again
    pe = sfp = 0.0
    if matmul:
        rows, columns, batch = _roles(made)
        rate = card.BATCHED_MACS if batch >= 4 and plan.cores >= 8 else card.MACS
        filled = min(1.0, (prod(tile[d] for d in rows) / card.FULL_ROWS.value) ** card.FILL.value)
        pe = steps * prod(tile.values()) / (rate.value * filled)
        area = prod(tile[d] for d in (*rows, *columns))
        over = min(1.5, max(0.0, card.RESTREAM.value * log2(max(area, 1) / card.TILE.value)))
        again += int(over * bytes_of.read)
    else:
        widest = max(tensor.arg.format.bytes for tensor in plan.tensors)
        sfp = steps * prod(tile.values()) * widest / (card.SFP.value * card.CLOCK.value)
    moved = bytes_of.unique + again
    memory = moved / card.BANDWIDTH.value + card.TURNAROUND.value * min(bytes_of.read + again, bytes_of.written)
    memory /= card.stream("reduction" if spec.is_reduction and not matmul else spec.kind, plan.cores)
    lx = bytes_of.lx / plan.cores / (card.LX.value * card.CLOCK.value)
    around = bytes_of.shared / (2 * card.RING.value * card.CLOCK.value)
    parts: dict[Part, float] = {"pe": pe, "sfp": sfp, "memory": memory, "lx": lx, "ring": around + partial}
    return OpEstimate(
        made.op.name, made.op.target, spec.op, kernel, module,
        max(pe, sfp, memory, lx, around) + partial,
        **parts,
        binds=max(parts, key=lambda part: parts[part]),
        cores=plan.cores,
        idle=MAX_CORES - plan.cores,
        operations=steps * elements * (2 if matmul else 1),
        traffic=replace(bytes_of, again=again),
    )  # fmt: skip


def _roles(made: TiledOp) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Of a matmul: the dims of its rows, those of its columns, and how many batches both operands have."""
    has = [{d for d, scale in tensor.scale.items() if scale > 0} for tensor in made.plan.tensors]
    left, right, out = has[0], has[1], has[-1]
    both = [d for d in out if d in left and d in right]
    rows = tuple(d for d in made.plan.sizes if d in out and d not in right)
    columns = tuple(d for d in made.plan.sizes if d in out and d not in left)
    return rows, columns, prod(made.plan.sizes[d] for d in both)


def traffic(made: TiledOp) -> Traffic:
    """Bytes read, written, read again and handed on; an operand that is read twice in the same way counts once."""
    read = written = again = shared = 0
    parts: dict[str, list[TiledTensor]] = {}
    seen: set[tuple[object, ...]] = set()
    sharers = int(card.SHARERS.value) if made.spec.kind == "matmul" else MAX_CORES
    for tensor in made.tensors:
        if tensor.arg.allocation[0] == "lx":
            continue
        key = (tensor.arg.name, tensor.arg.is_input, *((tile.address, tile.bytes, tile.cores) for tile in tensor.tiles))
        if key in seen:
            continue
        seen.add(key)
        distinct, passes = _distinct(tensor, made)
        if not tensor.arg.is_input:
            written += distinct
            continue
        read += distinct
        parts.setdefault(tensor.arg.name, []).append(tensor)
        for size, cores in _shares(tensor):
            loads = ceil(cores / sharers)
            again += size * (loads * made.iterations - passes)
            shared += size * loads * made.iterations if cores > loads else 0
    twice = sum(_read_twice(of, made) for of in parts.values() if len(of) > 1)
    return Traffic(read - twice, written, max(again, 0) + twice, shared, made.moved("hbm", "pool"), made.moved("lx"))


def _distinct(tensor: TiledTensor, made: TiledOp) -> tuple[int, int]:
    """Bytes of a tensor that the op touches, each once, and in how many iterations they are others."""
    passes = prod(count for count, step in zip(made.spec.loops, tensor.advances, strict=True) if step)
    size, coordinates = tensor.arg.memory or (tensor.arg.device_size, tensor.arg.device_coordinates)
    if any(len(coordinate.terms) > 1 for coordinate in coordinates):  # windows, which may overlap
        return STICK_BYTES * len(np.unique(np.concatenate(_sticks(tensor, made)))), passes
    whole = prod(size[:-1]) * STICK_BYTES
    return min(sum(tile.bytes for tile in tensor.tiles) * passes, whole), passes


def _shares(tensor: TiledTensor) -> Iterator[tuple[int, int]]:
    """Bytes, and how many cores want just these: of windows that overlap, tiles of several slices are the same."""
    cores: dict[object, set[int]] = {}
    sizes: dict[object, int] = {}
    for tile in tensor.tiles:
        key = (tile.address, tile.run, tile.repeats)
        cores.setdefault(key, set()).update(tile.cores)
        sizes[key] = tile.bytes
    for key, size in sizes.items():
        yield size, len(cores[key])


def _read_twice(operands: Sequence[TiledTensor], made: TiledOp) -> int:
    """Bytes of one tensor that several operands of an op take, each in its own way, without the first time."""
    taken = [part for operand in operands for part in _sticks(operand, made)]
    once = STICK_BYTES * len(np.unique(np.concatenate(taken)))
    return sum(_distinct(operand, made)[0] for operand in operands) - once


def _sticks(operand: TiledTensor, made: TiledOp) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """The numbers of the sticks that are touched, by iteration and tile."""
    taken: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    for at in itertools.product(*map(range, made.spec.loops)):
        moved = sum(i * step for i, step in zip(at, operand.advances, strict=True))
        for tile in operand.tiles:
            found = (tile.address + moved) // STICK_BYTES + np.arange(tile.run // STICK_BYTES)
            for count, distance in tile.repeats:
                found = np.add.outer(np.arange(count) * (distance // STICK_BYTES), found).ravel()
            taken.append(found)
    return taken


def signature(op: OpEstimate) -> tuple[object, ...]:
    """What two equal ops of two layers have in common."""
    return (op.func, round(op.us, 6), op.binds, op.cores, op.operations, op.traffic)
