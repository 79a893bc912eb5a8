"""An estimate as data for the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irwidget.spyre.card import BANDWIDTH, CONSTANTS, MACS, PARTS
from irwidget.spyre.estimate_data import Estimate, OpEstimate, headline
from irwidget.spyre.layers import repeats


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
