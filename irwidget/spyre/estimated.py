"""An estimate as text, and as data for the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irwidget.spyre.estimate import PARTS, Estimate, OpEstimate, repeats
from irwidget.spyre.timing import BANDWIDTH, CONSTANTS, MACS

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


def time_of(op: OpEstimate) -> dict[str, Any]:
    """An op's part of the estimate, for the view; microseconds."""
    made = op.traffic
    return {
        "us": round(op.us, 3),
        "parts": {part: round(getattr(op, part), 3) for part in PARTS},
        "binds": op.binds,
        "idle": op.idle,
        "operations": op.operations,
        "intensity": round(op.intensity, 3),
        "read": made.read,
        "written": made.written,
        "again": made.again,
        "shared": made.shared,
    }


def drawn(made: Estimate, ops: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The program's estimate, for the view; `ops` are those of the picture, whose numbers the equal layers name."""
    signs = [_sign(op) for op in ops]
    return {
        "us": round(made.us, 3),
        "said": headline(made),
        "idle": round(made.idle, 4),
        "bound": {part: round(t, 3) for part, t in made.bound().items()},
        "host_calls": made.host_calls,
        "host_bytes": made.host_bytes,
        "repeats": [{"first": r.first, "length": r.length, "count": r.count} for r in repeats(signs)],
        "roof": {"bandwidth": BANDWIDTH.value, "operations": 2 * MACS.value * made.cores},
        "constants": [
            {"name": c.name, "value": c.value, "unit": c.unit, "kind": c.kind, "source": c.source} for c in CONSTANTS
        ],
    }


def _sign(op: Mapping[str, Any]) -> tuple[object, ...]:
    """What an op of the picture has in common with that of an equal layer."""
    time = op["time"] or {}
    return (op["func"], op["cores"], op["mark"], tuple((d["size"], d["split"]) for d in op["dims"]), time.get("us"))
