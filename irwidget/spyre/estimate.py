"""How long a program takes, estimated: no card is asked (docs/spyre-time.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log2, prod
from typing import TYPE_CHECKING, Literal

from irwidget.errors import UsageError, near
from irwidget.spyre import timing
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.hardware import MAX_CORES
from irwidget.spyre.tiles import TiledOp, TiledTensor

if TYPE_CHECKING:
    from irwidget.spyre.program import SpyreProgram

PARTS = ("pe", "sfp", "memory", "lx", "ring")
"""What an op's time is made of: matrix unit, vector unit, device memory, scratchpad, ring between the cores."""
Part = Literal["pe", "sfp", "memory", "lx", "ring"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """The bytes of one op, over all iterations of its loops."""

    read: int
    """Of device memory, each byte once."""
    written: int
    again: int
    """Read from device memory once more, or oftener: in the model, not counted anywhere."""
    shared: int
    """Read once and handed on over the ring to other cores that want the same."""
    taken: int
    """What all cores together take from device memory and give to it, each core for itself."""
    lx: int
    """Within the scratchpads, likewise."""

    @property
    def unique(self) -> int:
        """Bytes of device memory that the op touches, each once."""
        return self.read + self.written


@dataclass(frozen=True, slots=True)
class OpEstimate:
    """One op: microseconds, and what they are made of."""

    op: str
    buffer: str
    func: str
    kernel: int
    module: str
    us: float
    pe: float
    sfp: float
    memory: float
    lx: float
    ring: float
    binds: Part
    cores: int
    idle: int
    """Cores of the card's that have nothing to do."""
    operations: int
    """Multiplications and additions of matmuls; elements of other ops."""
    traffic: Traffic

    @property
    def intensity(self) -> float:
        """Operations per byte of device memory; 0 for an op that does not touch it."""
        touched = self.traffic.unique + self.traffic.again
        return self.operations / touched if touched else 0.0


@dataclass(frozen=True, slots=True)
class KernelEstimate:
    """One kernel: its ops one after the other."""

    name: str
    us: float
    ops: tuple[OpEstimate, ...]


@dataclass(frozen=True)
class Estimate:
    """A whole program, in microseconds of the device; an estimate, not a measurement.

    Ops run one after the other. What the host does and copies is not in it.
    """

    name: str
    cores: int
    semantics: str
    kernels: tuple[KernelEstimate, ...]
    host_calls: int
    host_bytes: int
    """Copied between host and device for them, counted but not timed."""
    repeats: tuple[Repeat, ...] = field(default=())

    @property
    def us(self) -> float:
        return sum(kernel.us for kernel in self.kernels)

    @property
    def ops(self) -> tuple[OpEstimate, ...]:
        """In launch order."""
        return tuple(op for kernel in self.kernels for op in kernel.ops)

    @property
    def idle(self) -> float:
        """The share of all cores' time in which they have nothing to do."""
        whole = sum(op.us for op in self.ops) * MAX_CORES
        return sum(op.us * op.idle for op in self.ops) / whole if whole else 0.0

    def bound(self) -> dict[str, float]:
        """Microseconds by what binds them."""
        return {part: sum(op.us for op in self.ops if op.binds == part) for part in PARTS}

    def sorted(self, by: str = "us", search: str = "") -> list[OpEstimate]:
        """Ops, the largest of `by` first: us, idle, intensity, a part, or a field of the traffic.

        `search` keeps the ops that have this text in buffer, OpFunc, module path or what binds them. Raises UsageError
        for another `by`.
        """
        known = ("us", "idle", "intensity", *PARTS, "unique", *Traffic.__dataclass_fields__)
        if by not in known:
            raise UsageError(f"the estimate cannot be sorted by {by!r}. {near(by, known)}")
        found = [op for op in self.ops if search in f"{op.buffer} {op.func} {op.module} {op.binds}"]
        return sorted(found, key=lambda op: getattr(op, by, None) or getattr(op.traffic, by, 0) or 0, reverse=True)

    def __str__(self) -> str:
        from irwidget.spyre.estimated import text

        return text(self)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Ops that are the same again and again, layers of a model: `count` times `length` ops from number `first`."""

    first: int
    length: int
    count: int


def estimate(program: SpyreProgram) -> Estimate:
    """Estimate the time of a program's kernels and ops."""
    kernels: list[KernelEstimate] = []
    modules = {op.name: op.module for op in program.graph.ops}
    by_kernel: dict[str, list[TiledOp]] = {}
    for kernel, made in program.tiled:
        by_kernel.setdefault(kernel.name, []).append(made)
    for number, kernel in enumerate(program.kernels):
        ops = tuple(estimate_op(made, number, modules[made.op.name]) for made in by_kernel.get(kernel.name, ()))
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
    partial = made.iterations * timing.PARTIAL.value * results * log2(reduced)
    tile = {d: n // plan.splits[d] for d, n in plan.sizes.items()}
    steps, matmul = made.iterations, spec.kind == "matmul"
    elements = prod(plan.sizes.values())
    again = bytes_of.again
    pe = sfp = 0.0
    if matmul:
        rows, columns, batch = _roles(made)
        rate = timing.BATCHED_MACS if batch >= 4 and plan.cores >= 8 else timing.MACS
        filled = min(1.0, (prod(tile[d] for d in rows) / timing.FULL_ROWS.value) ** timing.FILL.value)
        pe = steps * prod(tile.values()) / (rate.value * filled)
        area = prod(tile[d] for d in (*rows, *columns))
        over = min(1.5, max(0.0, timing.RESTREAM.value * log2(max(area, 1) / timing.TILE.value)))
        again += int(over * bytes_of.read)
    else:
        widest = max(tensor.arg.format.bytes for tensor in plan.tensors)
        sfp = steps * prod(tile.values()) * widest / (timing.SFP.value * timing.CLOCK.value)
    moved = bytes_of.unique + again
    memory = moved / timing.BANDWIDTH.value + timing.TURNAROUND.value * min(bytes_of.read + again, bytes_of.written)
    memory /= timing.stream("reduction" if spec.is_reduction and not matmul else spec.kind, plan.cores)
    lx = bytes_of.lx / plan.cores / (timing.LX.value * timing.CLOCK.value)
    around = bytes_of.shared / (2 * timing.RING.value * timing.CLOCK.value)
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
    seen: set[tuple[object, ...]] = set()
    sharers = int(timing.SHARERS.value) if made.spec.kind == "matmul" else MAX_CORES
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
        for tile in tensor.tiles:
            loads = ceil(len(tile.cores) / sharers)
            again += tile.bytes * (loads * made.iterations - passes)
            shared += tile.bytes * loads * made.iterations if len(tile.cores) > loads else 0
    return Traffic(read, written, max(again, 0), shared, made.moved("hbm", "pool"), made.moved("lx"))


def _distinct(tensor: TiledTensor, made: TiledOp) -> tuple[int, int]:
    """Bytes of a tensor that the op touches, each once, and in how many iterations they are others."""
    passes = prod(count for count, step in zip(made.spec.loops, tensor.advances, strict=True) if step)
    whole = prod(tensor.arg.device_size[:-1]) * 128
    return min(sum(tile.bytes for tile in tensor.tiles) * passes, whole), passes


# -- equal layers ----------------------------------------------------------------------------------


def signature(op: OpEstimate) -> tuple[object, ...]:
    """What two equal ops of two layers have in common."""
    return (op.func, round(op.us, 6), op.binds, op.cores, op.operations, op.traffic)


_WORTH = 12
"""Ops that are not shown a second time, for a stretch to be folded."""


def repeats(signatures: Sequence[object]) -> Iterable[Repeat]:
    """Stretches that come again right after themselves; the one that covers most, then of equals the shortest."""
    places: dict[object, list[int]] = {}
    for i, one in enumerate(signatures):
        places.setdefault(one, []).append(i)
    at = 0
    while at < len(signatures):
        best = Repeat(at, 1, 1)
        for other in places[signatures[at]]:
            length = other - at
            if length <= 0 or at + 2 * length > len(signatures):
                continue
            count = 1
            while signatures[at : at + length] == signatures[at + count * length : at + (count + 1) * length]:
                count += 1
            if count > 1 and length * count > best.length * best.count:
                best = Repeat(at, length, count)
        if (best.count - 1) * best.length >= _WORTH:
            yield best
            at += best.length * best.count
        else:
            at += 1
