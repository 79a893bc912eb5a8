"""What the estimate of time knows of the card, each figure with where it is from (docs/spyre-time.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

PARTS = ("pe", "sfp", "memory", "lx", "ring")
"""What an op's time is made of: matrix unit, vector unit, device memory, scratchpad, ring between the cores."""

SWEEP = "torch-spyre pull request 3572 and the sweep of measured kernels behind it"
DOCS = "torch-spyre's documentation, architecture/spyre_accelerator"
DIVISION = "torch-spyre's work division, its constants for matmuls (June 2026)"


@dataclass(frozen=True, slots=True)
class Constant:
    """A figure of the model, its unit, what kind of knowledge it is and its source."""

    name: str
    value: float
    unit: str
    kind: str
    """`measured` (published measurements), `published` (a figure of the design), `fitted` (by us, to published
    measurements) or `assumption`."""
    source: str


BANDWIDTH = Constant("device memory, one way", 150e3, "bytes/us", "measured", f"{SWEEP}: reads only or writes only")
TURNAROUND = Constant(
    "turning between reads and writes", 5.74e-6, "us/byte of the smaller", "measured", f"{SWEEP}: 105 GB/s at 1:1"
)
PEAK_BANDWIDTH = Constant("device memory, peak", 204.8e3, "bytes/us", "published", DIVISION)
MACS = Constant("PE array of a core", 1.14e6, "MAC/us", "measured", f"{SWEEP}: slope of time over cores")
PEAK_MACS = Constant("PE array of a core, peak", 1.536e6, "MAC/us", "published", f"{DIVISION}: 98.304 TFLOP/s")
BATCHED_MACS = Constant(
    "PE array of a core, batches of 4 and more", 0.16e6, "MAC/us", "measured", f"{SWEEP}: the default operand layout"
)
FULL_ROWS = Constant("rows of a core that fill the PE array", 64, "rows", "measured", SWEEP)
FILL = Constant("loss below that, exponent", 0.35, "", "measured", SWEEP)
TILE = Constant("output tile of a core that accumulates in place", 65536, "elements", "measured", SWEEP)
RESTREAM = Constant(
    "operands streamed again per doubling above it", 0.45, "of their bytes, at most 1.5", "measured", SWEEP
)
SHARERS = Constant("cores that one read of an operand serves in a matmul", 8, "cores", "published", DIVISION)
CLOCK = Constant("clock", 1500, "cycles/us", "assumption", "the peak over 2 corelets x 64 elements x 8 lanes; RaPiD's")
SFP = Constant("SFP of a core", 128, "bytes/cycle", "assumption", "a stick per cycle; measured: arithmetic is free")
LX = Constant("LX of a core", 128, "bytes/cycle", "published", f"{DOCS} (figure of a core); the clock is assumed")
RING = Constant("ring, per direction", 128, "bytes/cycle", "published", f"{DOCS}; the clock is assumed")
PARTIAL = Constant(
    "adding up a split reduction, per doubling of the split", 4.5e-5, "us/element of the result", "fitted",
    f"{SWEEP}: 2048 x 2048 x 2048 with K split 2, 4 and 8 ways",
)  # fmt: skip

CONSTANTS = (
    BANDWIDTH, TURNAROUND, PEAK_BANDWIDTH, MACS, PEAK_MACS, BATCHED_MACS, FULL_ROWS, FILL, TILE, RESTREAM, SHARERS,
    CLOCK, SFP, LX, RING, PARTIAL,
)  # fmt: skip

STREAMS: Mapping[str, Mapping[int, float]] = {
    "pointwise": {1: 0.58, 2: 0.86, 4: 0.84, 8: 0.9, 16: 0.94, 32: 1.0},
    "reduction": {1: 0.11, 2: 0.22, 4: 0.43, 8: 0.54, 16: 0.54, 32: 1.0},
    "matmul": {16: 0.8, 25: 0.8, 32: 1.0},
}
"""Share of the bandwidth that so many cores reach, by kind of op: measured (the sweep; torch-spyre issue 4032 for
matmuls of 25 cores), straight lines between, the first value below."""


def stream(kind: str, cores: int) -> float:
    """The share of the bandwidth that so many cores reach."""
    points = list(STREAMS.get(kind, STREAMS["pointwise"]).items())
    if cores <= points[0][0]:
        return points[0][1]
    for (low, a), (high, b) in pairwise(points):
        if cores <= high:
            return a + (b - a) * (cores - low) / (high - low)
    return points[-1][1]
