"""Whole kernels beside helion-mlir: `python benchmarks/helion_beside.py CHECKOUT`, a clone of ecolab-nus/helion-mlir.

For four of its examples, at their own sizes: milliseconds of processor time, of this process and all that it starts,
from the bound kernel to the text of the MLIR; both sides warm, in one process, in turns. Helion-mlir's side is
`generate_mlir`, clean-up included. Ours is emission, the passes in the worker and the readable text, without dumps.
Helion-mlir needs the package `tabulate`.
"""

# ruff: noqa: E402 - the path comes first
from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[1])  # not the folder of this file, which is named as Helion is

import torch

from irwidget.helion.binding import bind
from irwidget.helion.emission import emit
from irwidget.helion.lowering import EmittedKernel

ROUNDS, RUNS = 5, 20
_TICK = os.sysconf("SC_CLK_TCK")


def half(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.float16)


EXAMPLES: dict[str, tuple[str, tuple[torch.Tensor, ...], bool]] = {
    "matmul": ("matmul", (half(4096, 512), half(512, 4096)), False),
    "batch_matmul": ("batch_matmul", (half(8, 4096, 512), half(8, 512, 4096)), False),
    "flash_attention": ("attention", (half(32, 4096, 128),) * 3, True),
    "mamba_chunk_scan": (
        "helion_mamba2_chunk_scan_kernel",
        (
            half(2, 8, 1, 256, 256), half(2, 2048, 64, 64), half(2, 64, 8, 256), half(2, 64, 8, 256),
            half(2, 2048, 1, 64), half(2, 8, 64, 64, 64), half(64),
        ),
        True,
    ),
}  # fmt: skip
"""The file of each example, its kernel, arguments of its sizes, and whether it promises tiles that divide the sizes."""


def spent() -> float:
    """Seconds of processor time of this process, of those that it has waited for, and of those that it has."""
    own, seconds = os.getpid(), 0.0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if own in (int(entry.name), int(fields[1])):
            seconds += sum(map(int, fields[11:15])) / _TICK
    return seconds


def median(runs: list[Callable[[], Any]]) -> list[float]:
    """Milliseconds of a run of each: of `RUNS` in a row, as the clock ticks coarsely, the median of the rounds."""
    taken: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    for _ in range(ROUNDS):
        for place, run in enumerate(runs):
            began = spent()
            for _ in range(RUNS):
                run()
            taken[place].append((spent() - began) * 1000 / RUNS)
    return [sorted(times)[len(times) // 2] for times in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    checkout = parser.parse_args().checkout.resolve()
    sys.path[1:1] = [str(checkout / "src"), str(checkout / "examples" / "scripts")]
    generate = importlib.import_module("helion_mlir").generate_mlir
    for name, (kernel_name, args, divisible) in EXAMPLES.items():
        kernel = getattr(importlib.import_module(name), kernel_name)
        binding, theirs = bind(kernel, args), kernel.bind(args)

        def ours(binding: Any = binding) -> str:
            return EmittedKernel(binding, emit(binding)).lower(dumps=False).mlir

        def other(theirs: Any = theirs, divisible: bool = divisible) -> str:
            return generate(theirs, assume_divisible_tiles=divisible)

        try:
            own, their = median([ours, other])
        except Exception as error:
            print(f"{name:17} {type(error).__name__}: {str(error)[:300]}")
            continue
        print(f"{name:17} {own:6.1f} ms, helion-mlir {their:6.1f} ms, ratio {their / own:4.1f}", flush=True)


if __name__ == "__main__":
    main()
