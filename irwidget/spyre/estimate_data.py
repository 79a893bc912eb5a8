"""An estimate of time as data, and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from irwidget.errors import UsageError, near
from irwidget.spyre.card import PARTS
from irwidget.spyre.hardware import MAX_CORES
from irwidget.spyre.layers import Repeat

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
    repeats: tuple[Repeat, ...] = ()

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
        return text(self)


# -- as text --------------------------------------------------------------------------------------

ROWS = 40


def text(made: Estimate) -> str:
    """The kernels and ops, the slowest first, equal layers once."""
    lines = [headline(made), "", "kernels"]
    kernels = sorted(made.kernels, key=lambda kernel: -kernel.us)
    lines += [f"  {us(kernel.us):>10}  {len(kernel.ops):>4} ops  {kernel.name}" for kernel in kernels[:ROWS]]
    if made.repeats:
        lines += ["", "equal layers"]
    for repeat in made.repeats:
        ops = made.ops[repeat.first : repeat.first + repeat.length]
        one = sum(op.us for op in ops)
        lines.append(f"  {repeat.count} x {repeat.length} ops from op {repeat.first}: {us(one)} each")
    lines += ["", "ops, the slowest first", *table(folded(made))]
    return "\n".join(lines) + "\n"


def headline(made: Estimate) -> str:
    """One line: how long, what binds, how idle."""
    whole = made.us
    bound = {part: t for part, t in made.bound().items() if t}
    parts = ", ".join(f"{NAMES[part]} binds {t / whole:.0%}" for part, t in sorted(bound.items(), key=lambda p: -p[1]))
    host = f"; {made.host_calls} host calls are not in it" if made.host_calls else ""
    return (
        f"{made.name}: {us(whole)} on {made.cores} cores, an estimate ({parts or 'nothing runs'};"
        f" cores idle {made.idle:.0%} of the card's time{host})"
    )


NAMES = {"pe": "PE", "sfp": "SFP", "memory": "device memory", "lx": "LX", "ring": "ring"}


def folded(made: Estimate) -> list[tuple[OpEstimate, int]]:
    """Ops with how often each comes in equal layers, the slowest in all first."""
    times = [1] * len(made.ops)
    for repeat in made.repeats:
        for i in range(repeat.first, repeat.first + repeat.length * repeat.count):
            times[i] = repeat.count if i < repeat.first + repeat.length else 0
    found = [(op, n) for op, n in zip(made.ops, times, strict=True) if n]
    return sorted(found, key=lambda pair: -pair[0].us * pair[1])


def table(ops: Sequence[tuple[OpEstimate, int]]) -> list[str]:
    """Aligned rows: time, its parts, what binds, cores, bytes."""
    head = ["us", "times", "op", "makes", *(NAMES[part] for part in PARTS), "binds", "cores", "unique", "again"]
    rows = [head]
    for op, times in ops[:ROWS]:
        parts = [f"{getattr(op, part):.2f}" for part in PARTS]
        traffic = [f"{op.traffic.unique:,}", f"{op.traffic.again:,}"]
        rows.append([f"{op.us:.2f}", f"x{times}", op.func, op.buffer, *parts, NAMES[op.binds], str(op.cores), *traffic])
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  " + "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return [*lines, *([f"  {len(ops) - ROWS} more"] if len(ops) > ROWS else [])]


def us(t: float) -> str:
    """Microseconds for people."""
    return f"{t / 1000:.4g} ms" if t >= 1000 else f"{t:.4g} us"
