"""The table of IR types: what each starts from and the steps that lead to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from irwidget.dumps import Step
from irwidget.errors import UsageError, near

SourceKind = Literal["pytorch", "triton", "helion", "spyre", "raw"]


@dataclass(frozen=True, slots=True)
class Target:
    """An IR type that something can be lowered to."""

    name: str
    source: SourceKind
    """What it starts from."""
    language: str
    steps: tuple[Step, ...]
    summary: str


def torch_mlir_opt(pipeline: str, name: str) -> Step:
    return Step("torch-mlir-opt", f"builtin.module({pipeline})", name)


TORCH_BACKEND = torch_mlir_opt(
    "func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline{extra-library=}",
    "torchdynamo-export-to-torch-backend-pipeline",
)
TOSA = torch_mlir_opt("torch-backend-to-tosa-backend-pipeline", "torch-backend-to-tosa-backend-pipeline")
LINALG = torch_mlir_opt(
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}",
    "torch-backend-to-linalg-on-tensors-backend-pipeline",
)
STABLEHLO = torch_mlir_opt(
    "torch-backend-to-stablehlo-backend-pipeline{allow-non-finites=true}",
    "torch-backend-to-stablehlo-backend-pipeline",
)

LOOPS = Step(
    "mlir-opt",
    "builtin.module(func.func(refback-generalize-tensor-pad,refback-generalize-tensor-concat),"
    "one-shot-bufferize{allow-unknown-ops bufferize-function-boundaries"
    " function-boundary-type-conversion=identity-layout-map},"
    "func.func(tm-tensor-bufferize),refback-mlprogram-bufferize,canonicalize,cse,"
    "func.func(tm-tensor-to-loops,refback-munge-memref-copy,convert-linalg-to-loops),lower-affine,convert-scf-to-cf)",
    "linalg-to-loops",
)
"""To memory and loops. Copies and paddings become loops too: as calls into a runtime they would reach no GPU."""


def _to_llvm(*math: str) -> Step:
    return Step(
        "mlir-opt",
        "builtin.module(func.func(refback-expand-ops-for-llvm,arith-expand),expand-strided-metadata,lower-affine,"
        f"convert-complex-to-standard,{','.join(math)},convert-complex-to-llvm,convert-arith-to-llvm,"
        "convert-index-to-llvm,convert-vector-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,"
        "convert-cf-to-llvm,reconcile-unrealized-casts,canonicalize,cse)",
        "loops-to-llvm",
    )


TO_LLVM = _to_llvm("convert-math-to-llvm", "convert-math-to-libm")
TO_LLVM_LIBM = _to_llvm("convert-math-to-libm", "convert-math-to-llvm")
"""For NVPTX, whose code generator aborts on `llvm.exp` and its kin: they are calls of `expf` instead."""

_TARGETS = (
    Target("torch_script_graph_ir", "pytorch", "torchscript", (), "the graph that torch.jit.trace records"),
    Target("torch_mlir", "pytorch", "mlir", (TORCH_BACKEND,), "torch dialect, decomposed"),
    Target("tosa_mlir", "pytorch", "mlir", (TORCH_BACKEND, TOSA), "TOSA"),
    Target("linalg_on_tensors_mlir", "pytorch", "mlir", (TORCH_BACKEND, LINALG), "linalg on tensors"),
    Target("stablehlo_mlir", "pytorch", "mlir", (TORCH_BACKEND, STABLEHLO), "StableHLO"),
    Target("raw_ir", "raw", "any", (), "IR text of your own, as it is or through --pipeline"),
)


def targets() -> dict[str, Target]:
    """Every IR type by name, in the order of a lowering."""
    return {target.name: target for target in _TARGETS}


def find(name: str) -> Target:
    """The target of that name. Raises UsageError with the near matches."""
    try:
        return targets()[name]
    except KeyError:
        raise UsageError(f"Unknown IR type {name!r}. {near(name, targets())}") from None
