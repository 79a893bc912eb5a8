"""The cost model that divides matmuls over the cores (docs/spyre-rules.md: Matmul costs).

The constants are heuristics of that version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log2, prod, sqrt

MACS_PER_MICROSECOND = 1.536e6
BYTES_PER_MICROSECOND = 204800
PT_ROWS = 8
TARGET_PASSES = 8


@dataclass(frozen=True, slots=True)
class CostTerms:
    """The parts of a cost, in microseconds."""

    compute: float
    memory: float
    partial_sums: float
    tie: float
    batch_factor: float

    @property
    def total(self) -> float:
        return (self.compute + self.memory + self.partial_sums + self.tie) * self.batch_factor


@dataclass(frozen=True, slots=True)
class DivisionCandidate:
    """One way to split a matmul and its cost."""

    splits: Mapping[str, int]
    terms: CostTerms
    cores: int

    @property
    def cost(self) -> float:
        return self.terms.total


def matmul_cost(sizes: tuple[int, int, int, int], splits: tuple[int, int, int, int]) -> CostTerms:
    """Cost of B x M x N x K divided by b, m, n, k."""
    batch, rows, columns, depth = sizes
    b, m, n, k = splits
    passes = max(1.0, (rows // m) / PT_ROWS)
    efficiency = min(1.0, sqrt(passes / TARGET_PASSES))
    compute = batch * rows * columns * depth / (b * m * n * k) / (MACS_PER_MICROSECOND * efficiency)
    moved = 2 * (batch * rows * depth + batch * depth * columns + batch * rows * columns)
    memory = moved / BYTES_PER_MICROSECOND * max(1.0, max(m, n) / 8)
    partial = (k - 1) * batch * rows * columns * 1.4e-4
    tie = 0.0 if passes >= TARGET_PASSES else log2(TARGET_PASSES / passes) * 50
    return CostTerms(compute, memory, partial, tie, b**1.4)


def choose_matmul(
    units: Mapping[str, int],
    batch: Sequence[str],
    row: str,
    column: str,
    depth: str,
    cores: int,
) -> tuple[DivisionCandidate, ...]:
    """Every division that fits the cores, cheapest first; the first enumerated wins a tie."""
    sizes = (prod(units[v] for v in batch), units[row], units[column] * 64, units[depth] * 64)
    dims = [*batch, row, column, depth]
    choices = [[d for d in range(1, min(units[v], cores) + 1) if units[v] % d == 0] for v in dims]
    found: list[DivisionCandidate] = []
    for parts in product(*choices):
        used = prod(parts)
        if used <= cores:
            b = prod(parts[: len(batch)])
            terms = matmul_cost(sizes, (b, *parts[len(batch) :]))  # pyright: ignore[reportArgumentType]
            found.append(DivisionCandidate(dict(zip(dims, parts, strict=True)), terms, used))
    return tuple(sorted(found, key=lambda c: c.cost))
