"""How small failing programs become, and in what time: a corpus of 75, and LLVM IR beside `llvm-reduce`, in one run.

    python -m benchmarks.reduce [KIND ...]

`llvm-reduce` gets the same file and a script that asks for the same message of the stock tool (needs llvm-22).
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import irwidget
from irwidget.errors import IRWidgetError
from irwidget.reducing import llvm, programs
from irwidget.reducing.report import Reduced
from tests.reduce.corpus import CASES, LLVM, Case

KINDS = ("mlir", "llvm", "pytorch", "triton", "helion")
SECONDS = 120.0


@dataclass(frozen=True)
class Row:
    """How one case went."""

    case: Case
    reduced: Reduced
    seconds: float


def reduce(case: Case, seconds: float = SECONDS) -> Reduced:
    """Make a case of the corpus small."""
    if case.kind not in ("mlir", "llvm"):
        return programs.reduce(programs.of_file(case.text), case.how, case.predicate, seconds=seconds)
    try:
        low = irwidget.lower(case.text, to="raw_ir", pipeline=case.how[0])
    except IRWidgetError as error:
        if error.lowering is None:
            raise
        low = error.lowering
    return low.reduce(case.predicate, seconds=seconds)


def same(case: Case, reduced: Reduced) -> bool:
    """Whether what is left still has the cause, and still fails as it did."""
    return case.left in reduced.text and (reduced.failure is None) == (case.predicate is not None)


def big(count: int = 2000) -> Case:
    """A module of so many operations with one cause."""
    lines = "".join(f"  %x{i} = arith.addf %{f'x{i - 1}' if i else 'a'}, %b : f32\n" for i in range(count))
    text = f"func.func @f(%a: f32, %b: f32) -> f32 {{\n{lines}  %e = math.erf %x9 : f32\n  return %e : f32\n}}\n"
    how = "mlir-opt --convert-arith-to-llvm --convert-func-to-llvm | mlir-translate --mlir-to-llvmir"
    return Case("2,000 operations", "mlir", text, (how,), "math.erf")


def encoder() -> Case:
    """A model in the torch dialect, of which torch-mlir refuses one operator in the middle."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            made = (nn.TransformerEncoderLayer(256, 4, 512, batch_first=True) for _ in range(12))
            self.layers = nn.ModuleList(made)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for number, layer in enumerate(self.layers):
                x = layer(x)
                if number == 6:
                    x = x + torch.fft.fft(x).real
            return x

    text = irwidget.lower(Net().eval(), torch.randn(1, 16, 256), to="torch_mlir").dumps[0].text
    steps = irwidget.targets()["linalg_on_tensors_mlir"].steps
    how = " | ".join(f"torch-mlir-opt --pass-pipeline='{step.arguments}'" for step in steps)
    return Case("an encoder", "mlir", text, (how,), "torch.aten.fft_fft")


def llvm_reduce(case: Case, reduced: Reduced, folder: Path) -> tuple[int, float] | None:
    """Instructions that `llvm-reduce` leaves, and seconds; None where it, or the stock tool, fails in another way."""
    tool, *arguments = case.how[0].split(" | ")[-1].split()
    source, script, out = folder / "input.ll", folder / "test.sh", folder / "out.ll"
    source.write_text(case.text)
    command = f"/usr/lib/llvm-22/bin/{tool} {' '.join(arguments)}{' -S' if tool == 'opt' else ''} -o - $1"
    word = _telling(reduced.message) if case.predicate is None else case.left
    script.write_text(f"#!/bin/sh\n{command} 2>&1 | tr -d \\' | grep -qF -- '{word}'\n")
    script.chmod(0o755)
    if subprocess.run([script, source]).returncode:
        return None
    started = time.perf_counter()
    reducer = shutil.which("llvm-reduce-22") or "llvm-reduce"
    command_line = [reducer, f"--test={script}", "-o", str(out), "--abort-on-invalid-reduction=false", str(source)]
    subprocess.run(command_line, capture_output=True, timeout=120, cwd=folder)
    if not out.exists():
        return None
    return llvm.count(out.read_text()), time.perf_counter() - started


def _telling(message: str) -> str:
    """What a message has that does not depend on the program: `brind`, `unsupported GC`."""
    said = re.sub(r"^.*(?:rror|ERROR): ", "", message.split("\n")[0].removesuffix(")"))
    found = re.search(r"Cannot select: \S+: [^=]*= ([\w.]+)", message)
    return found[1] if found else said.rsplit(": ", 1)[-1].replace("'", "")[:40]


def table(rows: Sequence[Row]) -> str:
    """The figures of each kind."""
    lines = ["| of | cases | at most 5 operations | same failure | median s | longest s |", "|---|---|---|---|---|---|"]
    for kind in KINDS:
        own = [row for row in rows if row.case.kind == kind]
        if own:
            small = sum(row.reduced.operations <= 5 for row in own) / len(own)
            kept = sum(same(row.case, row.reduced) for row in own) / len(own)
            seconds = [row.seconds for row in own]
            middle = statistics.median(seconds)
            lines.append(f"| {kind} | {len(own)} | {small:.0%} | {kept:.0%} | {middle:.1f} | {max(seconds):.1f} |")
    return "\n".join(lines)


def main(kinds: Sequence[str]) -> None:
    """Run it all and print."""
    rows: list[Row] = []
    for case in (case for case in CASES if case.kind in (kinds or KINDS)):
        started = time.perf_counter()
        rows.append(Row(case, reduce(case), time.perf_counter() - started))
        row = rows[-1]
        state = "" if same(case, row.reduced) else ", ANOTHER FAILURE"
        print(f"{case.kind}: {case.name}: {row.reduced.before} to {row.reduced.operations}, {row.seconds:.1f} s{state}")
    print(table(rows))
    if not kinds or "mlir" in kinds:
        for case in (big(), encoder()):
            started = time.perf_counter()
            made = reduce(case)
            print(f"{made.before:,} operations to {made.operations} in {time.perf_counter() - started:.1f} s")
    if not kinds or "llvm" in kinds:
        _beside(rows)


def _beside(rows: Sequence[Row]) -> None:
    """LLVM IR beside `llvm-reduce`."""
    if not shutil.which("llvm-reduce-22"):
        print("llvm-reduce-22 is not installed: not compared")
        return
    print("| case | instructions | s | llvm-reduce: instructions | s |\n|---|---|---|---|---|")
    for row in (row for row in rows if row.case in LLVM):
        with tempfile.TemporaryDirectory() as folder:
            other = llvm_reduce(row.case, row.reduced, Path(folder))
        said = f"{other[0]} | {other[1]:.1f}" if other else "not compared: it says something else |"
        print(f"| {row.case.name} | {row.reduced.operations} | {row.seconds:.1f} | {said} |")


if __name__ == "__main__":
    main(sys.argv[1:])
