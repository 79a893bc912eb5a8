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

_TARGETS = (
    Target("torch_mlir", "pytorch", "mlir", (TORCH_BACKEND,), "torch dialect, decomposed"),
    Target("tosa_mlir", "pytorch", "mlir", (TORCH_BACKEND, TOSA), "TOSA"),
    Target("linalg_on_tensors_mlir", "pytorch", "mlir", (TORCH_BACKEND, LINALG), "linalg on tensors"),
    Target("stablehlo_mlir", "pytorch", "mlir", (TORCH_BACKEND, STABLEHLO), "StableHLO"),
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
