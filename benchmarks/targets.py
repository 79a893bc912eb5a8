"""All ten IR types at once against one by one, and what dumps cost. Prints ratios, both sides measured in one run.

    python -m benchmarks.targets

One by one is how PyTorch Explorer does it: for each IR type the model is made and
exported again, and every tool is a process of its own (needs mlir-22-tools and llvm-22).
"""

from __future__ import annotations

import statistics
import subprocess
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import irwidget
from irwidget import routes
from irwidget.frontends import importing
from irwidget.frontends import torch as frontend
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step
from tests.llvm.programs import Cnn

BIN = "/usr/lib/llvm-22/bin"
TARGETS = [
    *("torch_script_graph_ir", "torch_mlir", "tosa_mlir", "linalg_on_tensors_mlir", "stablehlo_mlir"),
    *("llvm_mlir", "llvm_ir", "nvptx", "amdgpu", "spirv"),
]
TRIPLES = {"nvptx": "nvptx64-nvidia-cuda", "amdgpu": "amdgcn-amd-amdhsa", "spirv": "spirv64-unknown-unknown"}
OUTPUTS = {"torch_mlir": "torch", "tosa_mlir": "tosa", "stablehlo_mlir": "stablehlo"}
EXPLORER_LIST = [
    "--one-shot-bufferize=bufferize-function-boundaries",
    "-canonicalize",
    "-cse",
    "-convert-linalg-to-loops",
    "-lower-affine",
    "-convert-scf-to-cf",
    "-expand-strided-metadata",
    "-convert-math-to-llvm",
    "-convert-arith-to-llvm",
    "-finalize-memref-to-llvm",
    "-convert-func-to-llvm",
    "-convert-cf-to-llvm",
    "-reconcile-unrealized-casts",
    "-canonicalize",
    "-cse",
]

Make = Callable[[], tuple[nn.Module, torch.Tensor]]


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def tool(name: str, *arguments: str, text: str) -> str:
    return subprocess.run(
        [f"{BIN}/{name}", *arguments, "-o", "-"], input=text, capture_output=True, text=True, check=True
    ).stdout


def one_by_one(make: Make, target: str) -> None:
    """One IR type, from the model on, a process for each tool."""
    from torch_mlir import fx

    model, x = make()
    if target == "torch_script_graph_ir":
        torch.jit.trace(model, x, check_trace=False)
        return
    text = str(fx.export_and_import(model, x, output_type=OUTPUTS.get(target, "linalg-on-tensors")))
    if target in OUTPUTS or target == "linalg_on_tensors_mlir":
        return
    text = tool("mlir-opt", *EXPLORER_LIST, text=text)
    if target == "llvm_mlir":
        return
    text = tool("mlir-translate", "--mlir-to-llvmir", text=text)
    if target in TRIPLES:
        tool("llc", f"-mtriple={TRIPLES[target]}", text=tool("opt", "-O2", "-S", text=text))


def ten_types(name: str, make: Make) -> None:
    failed: list[str] = []

    def separately() -> None:
        for target in TARGETS:
            try:
                one_by_one(make, target)
            except subprocess.CalledProcessError:
                failed.append(target)

    def together() -> None:
        model, x = make()
        made = irwidget.lower(model, x, to=TARGETS)
        assert all(lowering.text for lowering in made.values())

    together()
    rows = [(seconds(separately), seconds(together)) for _ in range(3)]
    theirs, ours = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        f"{name:14} ten IR types: separately {theirs:5.2f} s ({len(failed) // len(rows)} failed: "
        f"{', '.join(dict.fromkeys(failed)) or 'none'}), lower(to=[...]) {ours:5.2f} s: {theirs / ours:.1f} x faster "
        "(until the results are there; texts of the dumps follow)"
    )


def slowest_type(name: str, make: Make) -> None:
    model, x = make()
    times = {target: seconds(lambda target=target: irwidget.lower(model, x, to=target)) for target in TARGETS}
    worst = max(times, key=lambda target: times[target])
    print(f"{name:14} slowest IR type by itself, warm: {worst} {times[worst]:.2f} s")


def dumps_of_twelve_layers() -> None:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval(), torch.randn(1, 16, 256)
    data = importing.import_program(frontend.export(model, (x,), {}, None, "encoder"), "encoder").bytecode
    mlir = routes.find("llvm_mlir").steps

    def passes(dumps: bool) -> float:
        source = Source(data)
        return seconds(lambda: source.run(mlir, Options(dumps=dumps)))

    passes(True)
    plain, dumped = passes(False), passes(True)
    print(
        f"{'12 layers':14} MLIR passes: undumped {plain:.2f} s, a dump after each {dumped:.2f} s: "
        f"{dumped / plain:.2f} x (until the result is there; texts follow in the background)"
    )
    trace = Source(data).run(routes.find("llvm_ir").steps)
    print(f"{'12 layers':14} translation to LLVM IR, weights elided: {trace.dumps[-1].seconds:.2f} s")


def llvm_passes() -> None:
    model, x = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval(), torch.randn(2, 5, 32)
    data = importing.import_program(frontend.export(model, (x,), {}, None, "encoder"), "encoder").bytecode
    source = Source(data)
    before, triple = routes.find("llvm_ir").steps, "-O2 -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80"
    source.run((*before, Step("opt", triple)))
    plain = seconds(lambda: source.run((*before, Step("opt", f"{triple} -S"))))
    every = seconds(lambda: source.run((*before, Step("opt", f"{triple} -print-changed=quiet"))))
    print(
        f"{'encoder layer':14} opt -O2: {plain:.2f} s, every pass that changed something {every:.2f} s: "
        f"{every / plain:.1f} x"
    )


def main() -> None:
    torch.manual_seed(0)
    models: dict[str, Make] = {
        "mlp": lambda: (nn.Sequential(nn.Linear(16, 8), nn.ReLU()), torch.randn(4, 16)),
        "cnn": lambda: (Cnn().eval(), torch.randn(8, 3, 16, 16)),
        "encoder layer": lambda: (
            nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval(),
            torch.randn(2, 5, 32),
        ),
    }
    for name, make in models.items():
        ten_types(name, make)
        slowest_type(name, make)
    dumps_of_twelve_layers()
    llvm_passes()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
