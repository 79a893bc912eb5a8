"""Print which of the test programs can be lowered to which IR type, as Markdown.

python -m benchmarks.support_table [PROGRAM ...] > table.md
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import torch

import irwidget
from irwidget.errors import IRWidgetError
from tests.llvm.programs import PROGRAMS, Program

TARGETS = (
    *("torch_script_graph_ir", "torch_mlir", "tosa_mlir", "linalg_on_tensors_mlir", "stablehlo_mlir"),
    *("llvm_mlir", "llvm_ir", "nvptx", "amdgpu", "spirv", "raw_ir"),
)


def reason(error: IRWidgetError) -> str:
    """The first line of an error, without the pass that it came from repeated."""
    return str(error).split("\n")[0][:200].replace("|", "\\|")


def row(program: Program) -> dict[str, str]:
    """For each IR type `ok`, or why not."""
    torch.manual_seed(0)
    model, inputs = program.make()
    options: dict[str, Any] = {"dynamic_shapes": program.dynamic_shapes, "dumps": False, "timeout": 120}
    found: dict[str, str] = {}
    linalg = ""
    for target in TARGETS:
        try:
            if target == "raw_ir":  # the program's linalg, as text that comes from elsewhere
                irwidget.lower(linalg, to="raw_ir", pipeline="mlir-opt --canonicalize")
            else:
                lowering = irwidget.lower(model, *inputs, to=target, **options)
                linalg = lowering.text if target == "linalg_on_tensors_mlir" else linalg
            found[target] = "ok"
        except IRWidgetError as error:
            found[target] = reason(error)
    return found


def main(names: list[str]) -> None:
    notes: dict[str, int] = {}
    print("| program | " + " | ".join(TARGETS) + " |")
    print("|---" * (len(TARGETS) + 1) + "|")
    for program in PROGRAMS:
        if names and program.name not in names:
            continue
        cells = [
            "ok" if cell == "ok" else f"[{notes.setdefault(cell, len(notes) + 1)}]" for cell in row(program).values()
        ]
        print(f"| {program.name} | " + " | ".join(cells) + " |", flush=True)
    print()
    for note, number in notes.items():
        print(f"{number}. {note}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
