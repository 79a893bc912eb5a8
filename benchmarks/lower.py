"""What the dumps cost: `python -m benchmarks.lower [--rounds N]` prints ratios, both sides measured in one run.

enable_ir_printing is what export_and_import(..., enable_ir_printing=True) does; its output goes to a file here, as it
would to a log.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator

import torch
from torch import nn
from torch_mlir import fx

import irwidget
from irwidget import routes
from irwidget.frontends import importing
from irwidget.frontends import torch as frontend
from irwidget.reports import table
from irwidget.toolchain import mlir
from irwidget.toolchain.run import Options, Source


def models() -> dict[str, tuple[nn.Module, torch.Tensor]]:
    torch.manual_seed(0)
    encoder = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    twelve = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 12, enable_nested_tensor=False
    )
    return {
        "mlp": (nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval(), torch.randn(4, 16)),
        "encoder layer": (encoder.eval(), torch.randn(2, 16, 32)),
        "12-layer encoder, d=256": (twelve.eval(), torch.randn(1, 32, 256)),
    }


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


LONG = 1.0
"""Seconds of measuring at least: what takes milliseconds is measured more often."""


def rounds_of(rounds: int, work: Callable[[], object]) -> int:
    return max(rounds, min(40, int(LONG * rounds / seconds(work))))


def compare(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The median time of each, measured in turns."""
    times = [[seconds(work) for work in works] for _ in range(rounds_of(rounds, works[0]))]
    return [statistics.median(column) for column in zip(*times, strict=True)]


@contextlib.contextmanager
def stderr_to_file() -> Generator[None]:
    """The compiler prints to the descriptor, not to sys.stderr."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def against_fx(model: nn.Module, x: torch.Tensor, rounds: int) -> tuple[float, float]:
    """lower() with all dumps against bare export_and_import."""
    theirs, ours = compare(
        rounds,
        lambda: fx.export_and_import(model, x, output_type="tosa"),
        lambda: irwidget.lower(model, x, to="tosa_mlir"),
    )
    return theirs, ours


def second_target(model: nn.Module, x: torch.Tensor, rounds: int) -> tuple[float, float]:
    """One target against what a second one of the same object adds."""
    one, two = compare(
        rounds,
        lambda: irwidget.lower(model, x, to="tosa_mlir"),
        lambda: irwidget.lower(model, x, to=["tosa_mlir", "linalg_on_tensors_mlir"]),
    )
    return one, two - one


def capture(model: nn.Module, x: torch.Tensor, target: str, rounds: int) -> tuple[float, float, float, float]:
    """The MLIR passes to a target: bare, captured, captured and printed, printed by MLIR."""
    bytecode = importing.import_program(frontend.export(model, (x,)), "model").bytecode
    steps = routes.find(target).steps
    pipeline = "builtin.module(" + ",".join(step.arguments[len("builtin.module(") : -1] for step in steps) + ")"

    def bare(printing: bool) -> float:
        context = mlir.new_context()
        module = mlir.parse(bytecode, context)
        context.enable_multithreading(not printing)

        def run() -> None:
            manager = mlir.passmanager.PassManager.parse(pipeline, context=context)
            if printing:
                manager.enable_ir_printing()
            manager.run(module.operation)

        with stderr_to_file():
            return seconds(run)

    def ours(printing: bool) -> float:
        trace = Source(bytecode).run(steps, Options(isolate=False))
        passes = sum(dump.seconds for dump in trace.dumps)
        if not printing:
            return passes + clones(bytecode, len(trace.dumps))
        return passes + seconds(lambda: [dump.text for dump in trace.dumps])

    often = rounds_of(rounds, lambda: bare(False))
    rows = [(bare(False), ours(False), ours(True), bare(True)) for _ in range(often)]
    a, b, c, d = (statistics.median(column) for column in zip(*rows, strict=True))
    return a, b, c, d


def clones(bytecode: bytes, count: int) -> float:
    """What copying the module after each pass costs."""
    module = mlir.parse(bytecode, mlir.new_context())
    return seconds(lambda: [module.operation.clone() for _ in range(count)])


def import_seconds(code: str) -> float:
    script = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", script]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    rows: list[tuple[str, ...]] = [("model", "what", "seconds", "against", "seconds", "ratio", "goal")]
    for name, (model, x) in models().items():
        seconds(lambda model=model, x=x: irwidget.lower(model, x, to="tosa_mlir"))
        theirs, ours = against_fx(model, x, rounds)
        rows.append(row(name, "lower(tosa_mlir), all dumps", ours, "fx.export_and_import", theirs, "<= 1.15"))
        first, second = second_target(model, x, rounds)
        rows.append(row(name, "second target", second, "first target", first, "<= 0.3"))
        for target, goals in {"tosa_mlir": ("<= 1.25", "-"), "llvm_mlir": ("<= 1.25", ">= 8")}.items():
            bare, captured, printed, theirs = capture(model, x, target, rounds)
            what = f"passes to {target}"
            rows.append(row(name, f"{what}, captured", captured, "passes alone", bare, goals[0]))
            rows.append(row(name, f"{what}, enable_ir_printing", theirs, "captured", captured, goals[1]))
            rows.append(row(name, f"{what}, enable_ir_printing", theirs, "captured and printed", printed, "-"))
    print(table(rows))
    print(f"\nimport irwidget: {import_seconds('import irwidget'):.3f} s (goal: under 0.15, without torch)")


def row(name: str, what: str, a: float, against: str, b: float, goal: str) -> tuple[str, ...]:
    return (name, what, f"{a:.4f}", against, f"{b:.4f}", f"{a / b:.2f}", goal)


if __name__ == "__main__":
    main()
