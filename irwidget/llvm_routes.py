"""The steps from linalg to LLVM and to GPU code, as the target options and the route have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.errors import UsageError, near
from irwidget.registry import option
from irwidget.toolchain import gpu_archs
from irwidget.trace import Step

NAMES = ("llvm_mlir", "llvm_ir", "nvptx", "amdgpu", "spirv", "sass")
"""The IR types that these steps lead to."""

LOOPS = Step(
    "mlir-opt",
    "builtin.module(func.func(refback-generalize-tensor-pad,refback-generalize-tensor-concat),"
    "one-shot-bufferize{allow-unknown-ops allow-return-allocs-from-loops bufferize-function-boundaries"
    " function-boundary-type-conversion=identity-layout-map},"
    "func.func(tm-tensor-bufferize),refback-mlprogram-bufferize,canonicalize,cse,"
    "func.func(tm-tensor-to-loops,refback-munge-memref-copy,convert-linalg-to-loops),lower-affine,convert-scf-to-cf)",
    "linalg-to-loops",
)
"""To memory and loops. Copies and paddings become loops too: as calls into a runtime they would reach no GPU."""


def _to_llvm(expand: str, first: str = "") -> Step:
    return Step(
        "mlir-opt",
        f"builtin.module({first}func.func(math-extend-to-supported-types{{target-type=f32}},{expand}),"
        "expand-strided-metadata,lower-affine,convert-complex-to-standard,convert-math-to-funcs,convert-math-to-llvm,"
        "convert-math-to-libm,convert-complex-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,"
        "convert-vector-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
        "reconcile-unrealized-casts,canonicalize,cse)",
        "loops-to-llvm",
    )


TO_LLVM = _to_llvm("arith-expand")
"""Functions of half precision are computed in float32, as no library has them."""
TO_LLVM_SPIRV = _to_llvm(
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32},arith-expand{include-bf16=true}",
    "buffer-results-to-out-params{hoist-static-allocs modify-public-functions},",
)
"""For SPIR-V, which has no bfloat16 (it is loaded and stored only) and whose back end makes invalid code of a struct
that holds pointers: results are written to buffers that the caller gives."""

EXPLORER = Step(
    "mlir-opt",
    "builtin.module(one-shot-bufferize{bufferize-function-boundaries},canonicalize,cse,convert-linalg-to-loops,"
    "lower-affine,convert-scf-to-cf,expand-strided-metadata,convert-math-to-llvm,convert-arith-to-llvm,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts,canonicalize,cse)",
    "explorer",
)
"""The one fixed list of PyTorch Explorer."""

OUTLINE = Step("outline-kernels", "", "gpu-kernel-outlining")
"""Loops become kernels, in a `gpu.module` each, that the host's code launches."""


def _kernels_to_llvm(name: str, arch: str) -> Step:
    """The kernels in the LLVM dialect, with the intrinsics of their GPU."""
    return Step("kernels-to-llvm", f"{name} {arch}".rstrip(), "kernels-to-llvm")


TRANSLATE = Step("mlir-translate", "--mlir-to-llvmir")


def _for_device(name: str, arch: str) -> tuple[Step, ...]:
    """What makes LLVM IR that of a GPU: its own library's mathematical functions, and what its code has otherwise."""
    library = {"nvptx": "libdevice", "amdgpu": "ocml", "spirv": "opencl"}[name]
    rename = Step("rename-libm", library, f"libm-to-{library}")
    files = {
        "nvptx": "libdevice.10.bc",
        "amdgpu": f"ocml.bc oclc_isa_version_{arch.removeprefix('gfx')}.bc",
    }.get(name)
    if not files:
        return rename, Step("bfloat-to-i16", "", "bfloat-to-i16")
    link = Step("llvm-link", f"--only-needed --internalize {files}", "llvm-link")
    return (rename, link, Step("alloca-to-private", "", "alloca-to-private")) if name == "amdgpu" else (rename, link)


PRINT_CHANGED = "-print-changed=quiet"
"""Makes `opt` and `llc` show every pass that changed something."""

_TRIPLES = {
    "nvptx": gpu_archs.NVPTX_TRIPLE,
    "amdgpu": gpu_archs.AMDGPU_TRIPLE,
    "spirv": gpu_archs.SPIRV_TRIPLE,
}
_ARCHS = {"nvptx": gpu_archs.NVPTX, "amdgpu": gpu_archs.AMDGPU}


LEVELS = ("0", "1", "2", "3")


def _level(value: Any) -> bool:
    return not isinstance(value, bool) and str(value).removeprefix("O") in LEVELS


@dataclass(frozen=True, kw_only=True)
class CodeOptions:
    """What every lowering to machine code can be told."""

    arch: str | None = option(
        None, "what to generate code for: sm_80, gfx942, ...", says="a text, as in 'sm_90' or 'gfx942'"
    )
    llvm_passes: bool = option(False, "a dump after every LLVM pass that changed something")


@dataclass(frozen=True, kw_only=True)
class TorchOptions(CodeOptions):
    """The options of PyTorch's IR types."""

    O: int | str = option(  # noqa: E741
        2, "LLVM's optimisation level", says="0, 1, 2 or 3", allows=_level, read=str, metavar="LEVEL"
    )
    kernels: bool = option(False, "outline real GPU kernels")


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user asked for, checked."""

    route: str = "robust"
    nvptx: str = ""
    """The architecture; the default one when empty."""
    amdgpu: str = ""
    level: int = 2
    llvm_passes: bool = False
    kernels: bool = False
    """Real kernels by the gpu dialect, rather than one device function with serial loops."""


def choose(names: Sequence[str], route: str, options: TorchOptions) -> Choices:
    """The route and the target options for these IR types. Raises UsageError for what does not go together."""
    if options.kernels and route == "explorer":
        raise UsageError("The explorer route has no kernels: PyTorch Explorer makes one device function")
    return Choices(
        route,
        level=int(str(options.O).removeprefix("O")),
        llvm_passes=options.llvm_passes,
        kernels=options.kernels,
        **_archs(names, options.arch or ""),
    )


def _archs(names: Sequence[str], asked: str) -> dict[str, str]:
    """The architecture of each GPU target that is wanted, from `sm_90`, `gfx942` or `sm_90,gfx942`."""
    families = [family for family in _ARCHS if family in names or (family == "nvptx" and "sass" in names)]
    if not families:
        _check_known(asked)
        return {}
    found: dict[str, str] = {}
    for arch in filter(None, (word.strip() for word in asked.split(","))):
        family = next((family for family in families if arch in _ARCHS[family]), None)
        if family is None:
            known = [arch for family in families for arch in _ARCHS[family]]
            raise UsageError(f"{' or '.join(families)}: no architecture {arch!r}. {_near_arch(arch, known)}")
        found[family] = arch
    return found


def _check_known(asked: str) -> None:
    """An architecture that is of no use here may belong to another IR type, but must be one. Raises UsageError."""
    known = [*gpu_archs.NVPTX, *gpu_archs.AMDGPU]
    for arch in filter(None, (word.strip() for word in asked.split(","))):
        if arch not in known:
            raise UsageError(f"There is no architecture {arch!r}. {_near_arch(arch, known)}")


def _near_arch(arch: str, known: Sequence[str]) -> str:
    hint = near(arch, known)
    return hint if hint.startswith("Known") else f"{hint} Known: {', '.join(known)}."


def steps(name: str, to_linalg: tuple[Step, ...], choices: Choices | None = None) -> tuple[Step, ...]:
    """The steps to an IR type of NAMES."""
    choices = choices or Choices()
    if name == "sass" or (choices.kernels and name in _TRIPLES):
        return (*to_linalg, *_kernels(name, choices))
    if choices.route == "explorer":
        to_llvm = (*to_linalg, EXPLORER)
    else:
        to_llvm = (*to_linalg, LOOPS, TO_LLVM_SPIRV if name == "spirv" else TO_LLVM)
    if name == "llvm_mlir":
        return to_llvm
    if name == "llvm_ir":
        return (*to_llvm, TRANSLATE)
    device = () if choices.route == "explorer" else _for_device(name, _arch_of(name, choices))
    return (*to_llvm, TRANSLATE, *device, *_code_generation(name, choices))


def _kernels(name: str, choices: Choices) -> tuple[Step, ...]:
    """From linalg to the assembly or the machine code of every kernel."""
    gpu = "nvptx" if name == "sass" else name
    arch = _arch_of(gpu, choices)
    made = (OUTLINE, _kernels_to_llvm(gpu, arch), TRANSLATE, *_for_device(gpu, arch), *_code_generation(gpu, choices))
    return (*made, Step("ptxas", f"-arch={arch} -lineinfo", "ptxas")) if name == "sass" else made


def _code_generation(name: str, choices: Choices) -> tuple[Step, Step]:
    """`opt` and `llc` for a GPU."""
    triple, level = f"-mtriple={_TRIPLES[name]}", f"-O{choices.level}"
    if choices.route == "explorer":  # its opt knows no target, and its llc the oldest of each
        cpu = [f"-mcpu={arch}"] if (arch := _arch(name, choices)) else []
        optimize, generate = ["-O2"], [triple, *cpu]
    else:
        cpu = [f"-mcpu={arch}"] if (arch := _arch_of(name, choices)) else []
        whole = name == "amdgpu" or not choices.kernels
        optimize = [level, triple, *cpu, *(_NO_UNROLLING if whole else [])]
        ptx = [f"-mattr=+ptx{gpu_archs.ptx_version(arch)}"] if name == "nvptx" and arch else []
        generate = [level, triple, *cpu, *ptx]
    return _step("opt", optimize, choices), _step("llc", generate, choices)


_DEFAULTS = {"nvptx": gpu_archs.DEFAULT_NVPTX, "amdgpu": gpu_archs.DEFAULT_AMDGPU}

_NO_UNROLLING = ["-disable-loop-unrolling", "-vectorize-loops=false", "-vectorize-slp=false"]
"""One function holds the whole model, and unrolling its loops makes code that nobody reads: an encoder layer takes
three times as long for NVPTX, and minutes for AMDGPU, whose cost model unrolls kernels just so."""


def mlir_steps() -> frozenset[Step]:
    """Every step on MLIR, whatever the target options."""
    archs = [("nvptx", arch) for arch in gpu_archs.NVPTX] + [("amdgpu", arch) for arch in gpu_archs.AMDGPU]
    kernels = (_kernels_to_llvm(name, arch) for name, arch in (*archs, ("spirv", "")))
    return frozenset((LOOPS, TO_LLVM, TO_LLVM_SPIRV, EXPLORER, OUTLINE, *kernels))


def _arch(name: str, choices: Choices) -> str:
    return {"nvptx": choices.nvptx, "amdgpu": choices.amdgpu}.get(name, "")


def _arch_of(name: str, choices: Choices) -> str:
    """The architecture, or the default one; empty for SPIR-V, which has none."""
    return _arch(name, choices) or _DEFAULTS.get(name, "")


def _step(tool: str, arguments: Sequence[str], choices: Choices) -> Step:
    changed = [PRINT_CHANGED] if choices.llvm_passes else []
    return Step(tool, " ".join([*arguments, *changed]), tool)
