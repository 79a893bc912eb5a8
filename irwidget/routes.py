"""The table of IR types: what each starts from and the steps that lead to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from irwidget import llvm_routes
from irwidget import options as options_of
from irwidget.errors import UsageError, near
from irwidget.helion import pipelines as helion_pipelines
from irwidget.toolchain import triton_archs
from irwidget.trace import Step

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
    Target("torch_script_graph_ir", "pytorch", "torchscript", (), "the graph that torch.jit.trace records"),
    Target("torch_mlir", "pytorch", "mlir", (TORCH_BACKEND,), "torch dialect, decomposed"),
    Target("tosa_mlir", "pytorch", "mlir", (TORCH_BACKEND, TOSA), "TOSA"),
    Target("linalg_on_tensors_mlir", "pytorch", "mlir", (TORCH_BACKEND, LINALG), "linalg on tensors"),
    Target("stablehlo_mlir", "pytorch", "mlir", (TORCH_BACKEND, STABLEHLO), "StableHLO"),
    *(
        Target(name, "pytorch", language, llvm_routes.steps(name, (TORCH_BACKEND, LINALG)), summary)
        for name, language, summary in (
            ("llvm_mlir", "mlir", "LLVM dialect"),
            ("llvm_ir", "llvm", "LLVM IR"),
            ("nvptx", "ptx", "PTX for NVIDIA GPUs"),
            ("amdgpu", "amdgcn", "assembly for AMD GPUs"),
            ("spirv", "spirv", "SPIR-V"),
            ("sass", "sass", "machine code of NVIDIA GPUs, of real kernels"),
        )
    ),
    *(
        Target(name, "triton", language, (), summary)
        for name, language, summary in (
            ("triton_ir", "mlir", "Triton's TTIR"),
            ("triton_gpu_ir", "mlir", "Triton's TTGIR, with layouts"),
            ("triton_llvm_ir", "llvm", "LLVM IR of a Triton kernel"),
            ("triton_nvptx", "ptx", "PTX of a Triton kernel"),
            ("triton_amdgpu", "amdgcn", "AMD assembly of a Triton kernel; the .hsaco is an attachment"),
            ("triton_sass", "sass", "SASS of a Triton kernel"),
        )
    ),
    Target("helion_device_ir", "helion", "fx", (), "Helion's Device IR graphs"),
    Target("helion_mlir", "helion", "mlir", (), "one module of stock dialects; --aten says how ATen ends up"),
    Target("helion_triton", "helion", "python", (), "the Triton program that Helion generates"),
    *(
        Target(name, "spyre", language, (), summary)
        for name, language, summary in (
            ("spyre_fx", "fx", "the FX graph after Spyre's decompositions"),
            ("spyre_loop_ir", "text", "loop-level IR: layouts, work division, scratchpad"),
            ("spyre_opspec", "python", "OpSpecs"),
            ("spyre_kernelspec", "python", "OpSpecs by kernel, under their older name"),
            ("spyre_superdsc", "json", "SuperDSC"),
            ("spyre_bundle", "mlir", "bundle.mlir"),
            ("spyre_host", "python", "the host module"),
        )
    ),
    Target("raw_ir", "raw", "any", (), "IR text of your own, as it is or through --pipeline"),
)


def targets() -> dict[str, Target]:
    """Every IR type by name, in the order of a lowering."""
    return {target.name: target for target in _TARGETS}


def blind_steps() -> frozenset[Step]:
    """The steps of PyTorch's routes, with any target options, that do not look at the values of large floats.

    That to TOSA does: it transposes constants.
    """
    return llvm_routes.mlir_steps() | {TORCH_BACKEND, LINALG, STABLEHLO}


def find(name: str) -> Target:
    """The target of that name. Raises UsageError with the near matches."""
    try:
        return targets()[name]
    except KeyError:
        raise UsageError(f"Unknown IR type {name!r}. {near(name, targets())}") from None


def resolve(names: Sequence[str], route: str = "robust", options: Mapping[str, Any] | None = None) -> list[Target]:
    """The targets of these names, with the steps that the route and the target options ask for.

    Options: `arch` (`sm_80`, `gfx942`, or one of each: `sm_90,gfx1100`), `O` (0 to 3), `kernels`,
    `llvm_passes`. Raises UsageError before anything has run.
    """
    wanted = [find(name) for name in names]
    ours = [target.name for target in wanted if target.source == "pytorch"]
    options = options or {}
    choices = llvm_routes.choose(ours, route, options) if ours else llvm_routes.Choices()
    _check_kernels({target.source for target in wanted}, options)
    return [
        replace(target, steps=llvm_routes.steps(target.name, (TORCH_BACKEND, LINALG), choices))
        if target.name in llvm_routes.NAMES
        else target
        for target in wanted
    ]


def _check_kernels(sources: Collection[SourceKind], options: Mapping[str, Any]) -> None:
    """The options of kernels that can be told wrong by themselves. Raises UsageError."""
    if "triton" in sources:
        options_of.check({name: value for name, value in options.items() if name in ("arch", "llvm_passes")})
        if options.get("arch"):
            triton_archs.find(options["arch"])
    if "helion" in sources:
        options_of.check({name: value for name, value in options.items() if name == "aten"})
        if options.get("aten"):
            helion_pipelines.check(options["aten"])
