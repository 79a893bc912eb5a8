"""The estimate of time beside published measurements of the card: does it put kernels into the same order?

    python benchmarks/spyre_time.py

The points are kernel times that others measured (`SOURCES`), a sample of shapes, ops, cores and splits; LX as there.
Prints each pair, the median error and Spearman's rank correlation, by family and over all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import torch

from irwidget.spyre import TensorSpec, compile

SOURCES = (
    "the sweep behind torch-spyre's cost model (pull request 3572): sweep_records.csv and the report beside it",
    "torch-spyre issue 4032: matmuls of few rows",
)


class Point(NamedTuple):
    """A published kernel time in us, of an op over these sizes, on so many cores or divided so."""

    op: str
    sizes: tuple[int, ...]
    us: float
    cores: int = 32
    split: tuple[int, int, int] | None = None


OPS: Mapping[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "gelu": torch.nn.functional.gelu,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "mulbcast": lambda a, b: a * b,
    "transpose": lambda a: a.t().contiguous(),
    "amax": lambda a: a.amax(-1),
    "mean": lambda a: a.mean(-1),
    "sumcol": lambda a: a.sum(0),
    "mm": lambda a, b: a @ b,
}

POINTS = (
    Point("neg", (512, 1024), 19.4), Point("neg", (2048, 1024), 78.7), Point("neg", (2048, 4096), 319.9),
    Point("neg", (4096, 4096), 642.4), Point("neg", (2048, 16384), 1312.2), Point("neg", (8192, 2048), 990.3, 1),
    Point("neg", (8192, 2048), 740.7, 16), Point("gelu", (2048, 1024), 77.6), Point("gelu", (2048, 4096), 320.0),
    Point("add", (64, 16384), 53.0), Point("add", (2048, 1024), 107.9), Point("add", (8192, 1024), 458.2),
    Point("add", (4096, 4096), 875.9), Point("add", (4096, 4096), 932.4, 16), Point("add", (4096, 4096), 968.0, 8),
    Point("add", (4096, 4096), 1498.9, 1), Point("mul", (2048, 16384), 1748.8), Point("mul", (2048, 4096), 435.6),
    Point("mulbcast", (64, 2048), 9.7), Point("mulbcast", (512, 2048), 31.2), Point("mulbcast", (2048, 4096), 277.9),
    Point("mulbcast", (8192, 4096), 1168.2), Point("mulbcast", (16384, 8192), 4809.5),
    Point("transpose", (1024, 1024), 38.1), Point("transpose", (4096, 1024), 142.3),
    Point("transpose", (4096, 4096), 576.5), Point("transpose", (2048, 16384), 1156.5),
    Point("amax", (2048, 2048), 57.9), Point("amax", (2048, 8192), 221.6), Point("amax", (8192, 1024), 146.6),
    Point("mean", (4096, 2048), 128.7), Point("mean", (8192, 4096), 559.5), Point("mean", (2048, 8192), 551.1, 4),
    Point("mean", (2048, 8192), 1985.0, 1), Point("sumcol", (2048, 2048), 70.6), Point("sumcol", (2048, 8192), 292.9),
    Point("mm", (2048, 64, 2048), 56.4, split=(4, 8, 1)), Point("mm", (2048, 512, 2048), 160.2, split=(4, 8, 1)),
    Point("mm", (2048, 2048, 2048), 384.5, split=(8, 4, 1)), Point("mm", (2048, 2048, 2048), 572.5, split=(4, 4, 2)),
    Point("mm", (2048, 2048, 2048), 735.7, split=(4, 2, 4)), Point("mm", (2048, 2048, 2048), 806.9, split=(2, 2, 8)),
    Point("mm", (2048, 4096, 2048), 679.6, split=(8, 4, 1)), Point("mm", (2048, 4096, 2048), 1210.6, split=(4, 2, 4)),
    Point("mm", (4096, 2048, 2048), 845.5, split=(8, 4, 1)), Point("mm", (4096, 2048, 2048), 807.1, split=(4, 8, 1)),
    Point("mm", (4096, 2048, 2048), 1389.8, split=(8, 2, 1)), Point("mm", (4096, 2048, 2048), 2121.1, split=(4, 2, 1)),
    Point("mm", (4096, 2048, 2048), 4026.9, split=(2, 2, 1)), Point("mm", (4096, 2048, 4096), 1583.5, split=(4, 8, 1)),
    Point("mm", (8192, 2048, 2048), 1607.7, split=(4, 8, 1)), Point("mm", (2048, 2048, 8192), 1587.3, split=(4, 8, 1)),
    Point("mm", (256, 2048, 2048), 85.8, split=(4, 4, 1)), Point("mm", (1024, 2048, 2048), 296.6, split=(4, 4, 1)),
    Point("mm", (8192, 2048, 2048), 2360.9, split=(4, 4, 1)), Point("mm", (512, 4096, 4096), 2076.4, split=(4, 1, 1)),
    Point("mm", (512, 4096, 4096), 1216.6, split=(8, 1, 1)), Point("mm", (512, 4096, 4096), 913.9, split=(16, 1, 1)),
    Point("mm", (512, 4096, 4096), 802.9, split=(32, 1, 1)), Point("mm", (1, 4096, 25600), 1762, split=(1, 25, 1)),
    Point("mm", (2, 4096, 25600), 1463, split=(1, 8, 4)), Point("mm", (4, 4096, 25600), 1389, split=(2, 8, 2)),
    Point("mm", (16, 4096, 25600), 1365, split=(4, 8, 1)), Point("mm", (1, 4096, 26624), 1508, split=(1, 32, 1)),
)  # fmt: skip


def estimated(point: Point) -> float:
    """Microseconds of a point by our estimate."""
    sizes = point.sizes
    if point.op == "mm":
        shapes = [sizes[:2], sizes[1:]]
    else:
        shapes = (
            [sizes, (1, sizes[1])] if point.op == "mulbcast" else [sizes] * (2 if point.op in ("add", "mul") else 1)
        )
    options: dict[str, Any] = {}
    if point.split is not None:
        free = [n for n, size in zip(point.split, (sizes[0], sizes[2], sizes[1]), strict=True) if size > 1]
        options["divisions"] = {"buf0": {f"d{i}": n for i, n in enumerate(free)}}
    program = compile(OPS[point.op], [TensorSpec(shape) for shape in shapes], point.cores, **options)
    return program.estimate().us


def spearman(pairs: Sequence[tuple[float, float]]) -> float:
    """Rank correlation; equal values share their ranks."""

    def ranks(values: list[float]) -> list[float]:
        return [sum(v < w for v in values) + (values.count(w) + 1) / 2 for w in values]

    xs, ys = (ranks(list(side)) for side in zip(*pairs, strict=True))
    mean = (len(xs) + 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(xs, ys, strict=True))
    return top / (sum((x - mean) ** 2 for x in xs) * sum((y - mean) ** 2 for y in ys)) ** 0.5


def families(pairs: Mapping[Point, float]) -> dict[str, list[tuple[float, float]]]:
    """(measured, estimated) by family of ops, and of all."""
    kinds = {"mm": "matmul", "amax": "reduction", "mean": "reduction", "sumcol": "reduction", "transpose": "copies"}
    found: dict[str, list[tuple[float, float]]] = {}
    for point, us in pairs.items():
        for family in (kinds.get(point.op, "pointwise"), "all"):
            found.setdefault(family, []).append((point.us, us))
    return found


def main() -> None:
    pairs = {point: estimated(point) for point in POINTS}
    for point, us in pairs.items():
        how = "x".join(map(str, point.split)) if point.split else f"{point.cores} cores"
        size = "x".join(map(str, point.sizes))
        print(f"{point.op:10} {size:16} {how:9} {point.us:8.1f} {us:8.1f} {100 * (us / point.us - 1):+6.1f} %")
    for family, found in families(pairs).items():
        error = median(abs(us / measured - 1) for measured, us in found)
        print(f"{family:10} {len(found):3} kernels, rank correlation {spearman(found):.3f}, median error {error:.1%}")


if __name__ == "__main__":
    main()
