"""Real GPU kernels: valid entry points with nothing left to resolve, a dump list each, the same on every run."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pytest
import torch

import irwidget
from irwidget.toolchain import client, gpu_math, llvm
from tests.llvm import validity
from tests.llvm.programs import PROGRAMS
from tests.llvm.test_targets import lower, named

QUICK = ("gelu", "embedding", "dynamic_batch", "bfloat16")
"""Programs of every run: libraries, serial loops with assertions, dynamic shapes, a type that SPIR-V lacks."""
ENTRY = {
    "nvptx": r"^\.visible \.entry (\w+)",
    "amdgpu": r"^\s*\.amdhsa_kernel (\w+)",
    "spirv": r'^\s*OpEntryPoint Kernel %\w+ "(\w+)"',
}
TOUCHES_MEMORY = re.compile(r"^\s*(?:%[\w:, %]+ = )?(memref\.(?:store|copy)|cf\.assert|scf\.parallel)\b", re.M)


@functools.cache
def lowered(program: str) -> dict[str, irwidget.Lowering]:
    """By target, all of one export."""
    return lower(named(program), tuple(ENTRY), kernels=True)


def kernels(lowering: irwidget.Lowering) -> dict[str, str]:
    return {dump.scope.kernel: dump.text for dump in lowering.dumps if dump.name == "codegen"}


def assert_valid(target: str, lowering: irwidget.Lowering) -> None:
    made = kernels(lowering)
    assert made
    for name, text in made.items():
        assert re.search(ENTRY[target], text, re.M), name
        assert validity.unresolved(target, text) == set(), name
        if not validity.missing(target):
            assert validity.faults(target, text) == "", name


@pytest.mark.parametrize("target", ENTRY)
@pytest.mark.parametrize(
    "program", [pytest.param(p.name, marks=[] if p.name in QUICK else pytest.mark.exhaustive) for p in PROGRAMS]
)
def test_every_kernel_is_valid_and_complete(program: str, target: str) -> None:
    lowering = lowered(program)[target]
    assert_valid(target, lowering)
    outlined = next(dump for dump in lowering.dumps if dump.name == "gpu-kernel-outlining")
    assert not TOUCHES_MEMORY.search(outlined.text.split("gpu.module")[0])
    assert len(re.findall(ENTRY[target], lowering.text, re.M)) == len(kernels(lowering))
    assert lowering.dumps[-1].name == "all kernels"


def test_every_kernel_has_its_own_dumps() -> None:
    lowering = lower(named("cnn"), "amdgpu", kernels=True)
    per_kernel: dict[str, list[str]] = {}
    for dump in lowering.dumps:
        if dump.language in ("llvm", "amdgcn") and not dump.scope.whole:
            per_kernel.setdefault(dump.scope.kernel, []).append(dump.name)
    assert len(per_kernel) >= 18
    assert set(map(tuple, per_kernel.values())) == {("mlir-to-llvmir", "default<O2>", "codegen")}


def test_sass_has_machine_code_and_a_cubin_for_each_kernel() -> None:
    lowering = lower(named("mlp"), "sass", arch="sm_90")
    made = {dump.scope.kernel for dump in lowering.dumps if dump.name == "ptxas"}
    assert len(made) >= 5
    assert {f"{kernel}.cubin" for kernel in made} == set(lowering.trace.attachments)
    assert all(cubin.startswith(b"\x7fELF") for cubin in lowering.trace.attachments.values())
    assert lowering.text.count("EXIT") >= len(made)
    assert lowering.trace.facts["registers main_kernel"] > 0


FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "exp", "exp2"),
            *("expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "erf", "sigmoid", "round", "trunc", "abs"),
        )
    },
    "acosh": lambda x: torch.acosh(x + 1),
    "atan2": lambda x: torch.atan2(x, x + 1),
    "pow": lambda x: torch.pow(x, x),
    "pow3": lambda x: x.pow(3),
    "gelu": torch.nn.functional.gelu,
    "softplus": torch.nn.functional.softplus,
}
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
ALL_OF_THEM = [
    pytest.param(name, dtype, id=f"{name}-{dtype}")
    for name in FUNCTIONS
    for dtype in DTYPES
]  # fmt: skip


def values(dtype: torch.dtype) -> torch.Tensor:
    torch.manual_seed(0)
    return (torch.rand(4, 8) * 0.8 + 0.1).to(dtype)


def together(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(function(x) for function in FUNCTIONS.values())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_function_of_every_float_type_is_right_down_to_llvm_ir(dtype: torch.dtype) -> None:
    low = irwidget.lower(together, values(dtype), to="llvm_ir", check=True, timeout=120)
    assert str(low.check).startswith("equal"), low.check


@functools.cache
def whole(dtype: torch.dtype) -> dict[str, irwidget.Lowering]:
    return irwidget.lower(together, values(dtype), to=tuple(ENTRY), timeout=120)


@pytest.mark.parametrize("target", ENTRY)
@pytest.mark.parametrize(
    "dtype", [pytest.param(d, marks=[] if d == torch.bfloat16 else pytest.mark.exhaustive) for d in DTYPES], ids=str
)
def test_every_function_of_every_float_type_becomes_valid_code(dtype: torch.dtype, target: str) -> None:
    (text,) = kernels(whole(dtype)[target]).values()
    assert validity.unresolved(target, text) == set()
    if not validity.missing(target):
        assert validity.faults(target, text) == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ENTRY)
@pytest.mark.parametrize(("name", "dtype"), ALL_OF_THEM)
def test_every_function_by_itself_is_checked_and_valid(name: str, dtype: torch.dtype, target: str) -> None:
    low = irwidget.lower(FUNCTIONS[name], values(dtype), to=target, kernels=True, timeout=120)
    assert_valid(target, low)
    whole = irwidget.lower(FUNCTIONS[name], values(dtype), to=target, check=True, timeout=120)
    assert "is equal" in str(whole.check)


def integers(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(x.to(dtype).abs() for dtype in (torch.int8, torch.int16, torch.int32, torch.int64))


def test_the_size_of_integers_of_every_width() -> None:
    made = irwidget.lower(integers, torch.arange(-4, 4), to=tuple(ENTRY), kernels=True, timeout=120)
    for target, low in made.items():
        assert_valid(target, low)
        assert len(kernels(low)) >= 4


OPENCL = ("erf", "sinh")


@pytest.mark.parametrize("name", OPENCL)
def test_functions_are_instructions_of_opencl_in_spirv(name: str) -> None:
    low = irwidget.lower(FUNCTIONS[name], values(torch.float64), to="spirv", kernels=True, timeout=120)
    assert set(re.findall(r"OpExtInst %\d+ %\d+ (\w+)", low.text)) == {name}


def test_only_functions_that_a_library_has_are_renamed() -> None:
    text = (
        "declare float @erff(float) #0\ndeclare double @erf(double)\ndeclare double @atan2(double, double)\n"
        "declare float @llvm.tanh.f32(float) #1\ndeclare float @tanhf(float)\ndeclare float @mine(float)\n"
        "declare double @llvm.fabs.f64(double)\n"
        "  %1 = call float @erff(float %0)\n  %2 = call float @erffx(float %0)\n  %3 = call float @tanhf(float %0)\n"
        "  %4 = call float @llvm.tanh.f32(float %0)\n"
    )
    opencl, libdevice, ocml = (gpu_math.LIBRARIES[name] for name in ("opencl", "libdevice", "ocml"))
    assert gpu_math.renamed(text, opencl) == (
        "declare float @_Z3erff(float) #0\ndeclare double @_Z3erfd(double)\n"
        "declare double @_Z5atan2dd(double, double)\n"
        "declare float @llvm.tanh.f32(float) #1\ndeclare float @_Z4tanhf(float)\ndeclare float @mine(float)\n"
        "declare double @llvm.fabs.f64(double)\n"
        "  %1 = call float @_Z3erff(float %0)\n  %2 = call float @erffx(float %0)\n"
        "  %3 = call float @_Z4tanhf(float %0)\n  %4 = call float @llvm.tanh.f32(float %0)\n"
    )
    assert gpu_math.renamed(text, libdevice) == (
        "declare float @__nv_erff(float) #0\ndeclare double @__nv_erf(double)\n"
        "declare double @__nv_atan2(double, double)\n"
        "declare float @__nv_tanhf(float) #1\ndeclare float @mine(float)\n"
        "declare double @llvm.fabs.f64(double)\n"
        "  %1 = call float @__nv_erff(float %0)\n  %2 = call float @erffx(float %0)\n"
        "  %3 = call float @__nv_tanhf(float %0)\n  %4 = call float @__nv_tanhf(float %0)\n"
    )
    of_libm = {"erff": "erff", "erf": "erf", "atan2": "atan2", "tanhf": "tanhf"}
    for library in (libdevice, ocml, opencl):
        assert set(gpu_math.of_libm(gpu_math.renamed(text, library)).values()) == set(of_libm.values())


def test_bfloat16_is_kept_as_bits_where_nothing_computes_with_it() -> None:
    text = (
        "  %1 = load bfloat, ptr %0\n  store bfloat 0xR3F80, ptr %0\n  %3 = select i1 %c, bfloat 0xR0000, bfloat %1\n"
    )
    assert gpu_math.with_i16(text) == (
        "  %1 = load i16, ptr %0\n  store i16 16256, ptr %0\n  %3 = select i1 %c, i16 0, i16 %1\n"
    )


def test_what_computes_nothing_has_no_kernel() -> None:
    with pytest.raises(irwidget.errors.UnsupportedError, match="no GPU kernel in it"):
        irwidget.lower(lambda x: x.view(4, 2), torch.zeros(2, 4), to="nvptx", kernels=True)


TIMES = 20


@pytest.mark.parametrize("target", ENTRY)
def test_the_same_ir_becomes_the_same_code_twenty_times_in_one_process(target: str) -> None:
    lowering = lowered("gelu")[target]
    settings = llvm.settings("llc", lowering.steps[-1].arguments)
    optimized = {dump.scope.kernel: dump.text for dump in lowering.dumps if dump.name == "default<O2>"}
    assert len(optimized) >= 5
    optimized = dict(sorted(optimized.items(), key=lambda one: len(one[1]))[::4])  # one that is small, and larger ones
    made: dict[str, set[str]] = {kernel: set() for kernel in optimized}
    for _ in range(TIMES):  # kernels in turn: what a module leaves behind, another finds
        for kernel, text in optimized.items():
            made[kernel].add(llvm.emit(text, settings))
    assert [len(texts) for texts in made.values()] == [1] * len(made)


def _texts(program: str, *targets: str, whole: bool) -> dict[str, tuple[str, ...]]:
    made = lower(named(program), targets, kernels=not whole)
    return {target: tuple(dump.text for dump in low.dumps) for target, low in made.items()}


def test_a_lowering_is_the_same_again_and_in_a_fresh_worker() -> None:
    def whole() -> dict[str, tuple[str, ...]]:
        return _texts("embedding", "spirv", "llvm_ir", whole=True)

    before, kernels = whole(), _texts("embedding", *ENTRY, whole=False)
    assert "@assert_msg_0" in before["llvm_ir"][-1]
    assert whole() == before
    client.shutdown()
    assert (whole(), _texts("embedding", *ENTRY, whole=False)) == (before, kernels)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", [target for target in irwidget.targets() if target not in ("raw_ir",)])
@pytest.mark.parametrize("program", ["attention", "trigonometry", "embedding"])
def test_every_lowering_is_the_same_twenty_times(program: str, target: str) -> None:
    if irwidget.targets()[target].front_end not in ("pytorch", "torchscript"):
        pytest.skip("of another front end")
    first = _texts(program, target, whole=True)
    for fresh in [False] * TIMES + [True] * 3:
        if fresh:
            client.shutdown()
        assert _texts(program, target, whole=True) == first
