"""Real GPU kernels: entry points that ptxas accepts, one dump list each."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import torch

import irwidget
from irwidget.toolchain import gpu_cuda, gpu_opencl
from tests.llvm.test_targets import lower, named

MODELS = [
    pytest.param("mlp", 5, id="mlp"),
    pytest.param("cnn", 18, id="cnn"),
    pytest.param("encoder", 80, id="encoder", marks=pytest.mark.heavy),
]


@pytest.mark.parametrize(("program", "at_least"), MODELS)
def test_ptxas_accepts_every_kernel(program: str, at_least: int) -> None:
    lowering = lower(named(program), "nvptx", kernels=True)
    assembled = [dump for dump in lowering.dumps if dump.language == "ptx" and dump.name == "codegen"]
    assert len(assembled) >= at_least
    for dump in assembled:
        assert ".visible .entry " in dump.text
        assert ".extern" not in dump.text
        ptxas = [gpu_cuda.program("ptxas"), "-arch=sm_80", "-", "-o", "/dev/null"]
        done = subprocess.run(ptxas, input=dump.text, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{dump.scope}: {done.stderr}"


@pytest.mark.parametrize(("program", "at_least"), MODELS)
def test_every_kernel_has_its_own_dumps(program: str, at_least: int) -> None:
    lowering = lower(named(program), "amdgpu", kernels=True)
    per_kernel: dict[str, list[str]] = {}
    for dump in lowering.dumps:
        if dump.language in ("llvm", "amdgcn") and not dump.scope.whole:
            per_kernel.setdefault(dump.scope.kernel, []).append(dump.name)
    assert len(per_kernel) >= at_least
    assert set(map(tuple, per_kernel.values())) == {("mlir-to-llvmir", "default<O2>", "codegen")}
    assert len(re.findall(r"^\s*\.amdhsa_kernel ", lowering.text, re.M)) == len(per_kernel)
    assert lowering.dumps[-1].name == "all kernels"


@pytest.mark.parametrize(("program", "at_least"), MODELS)
def test_spirv_kernels_are_entry_points(program: str, at_least: int) -> None:
    text = lower(named(program), "spirv", kernels=True).text
    assert len(re.findall(r"OpEntryPoint Kernel %\w+ \"main_kernel", text)) >= at_least


def test_sass_has_machine_code_and_a_cubin_for_each_kernel() -> None:
    lowering = lower(named("mlp"), "sass", arch="sm_90")
    kernels = {dump.scope.kernel for dump in lowering.dumps if dump.name == "ptxas"}
    assert len(kernels) >= 5
    assert {f"{kernel}.cubin" for kernel in kernels} == set(lowering.trace.attachments)
    assert all(cubin.startswith(b"\x7fELF") for cubin in lowering.trace.attachments.values())
    assert lowering.text.count("EXIT") >= len(kernels)
    assert lowering.trace.facts["registers main_kernel"] > 0


def test_functions_of_libdevice_are_linked() -> None:
    lowering = lower(named("gelu"), "nvptx", kernels=True)
    linked = [dump for dump in lowering.dumps if dump.name == "llvm-link"]
    assert linked
    assert all("declare float @__nv_" not in dump.text for dump in linked)
    assert not re.search(r"^\s*call|^\.extern|^\.func", lowering.text, re.M)


FUNCTIONS = {
    "erf": torch.erf,
    "asinh": torch.asinh,
    "atanh": torch.atanh,
    "tanh": torch.tanh,
    "atan2": torch.atan2,
    "exp": torch.exp,
    "sinh": torch.sinh,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_instructions_of_opencl_in_spirv(name: str, dtype: torch.dtype) -> None:
    two = name == "atan2"

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return FUNCTIONS[name](x, y) if two else FUNCTIONS[name](x) + y

    inputs = (torch.rand(4, 8, dtype=dtype), torch.rand(4, 8, dtype=dtype))
    low = irwidget.lower(program, *inputs, to="spirv", kernels=True, timeout=120)
    assert set(re.findall(r"OpExtInst %\d+ %\d+ (\w+)", low.text)) == {name}
    imported = set(re.findall(r'LinkageAttributes "(\w+)" Import', low.text))
    assert all(one.startswith("__spirv_BuiltIn") for one in imported)


def test_a_gelu_becomes_valid_spirv() -> None:
    lowering = lower(named("gelu"), "spirv", kernels=True)
    made = [dump for dump in lowering.dumps if dump.name == "codegen"]
    assert any(" erf " in dump.text for dump in made)
    if shutil.which("spirv-as") is None:
        pytest.skip("spirv-tools are not installed")
    for dump in made:
        assemble = ["spirv-as", "--target-env", "spv1.4", "-", "-o", "-"]
        binary = subprocess.run(assemble, input=dump.text.encode(), capture_output=True, check=True).stdout
        valid = subprocess.run(["spirv-val", "-"], input=binary, capture_output=True, check=False)
        assert valid.returncode == 0, f"{dump.scope}: {valid.stderr.decode()}"


def test_only_functions_that_opencl_has_are_renamed() -> None:
    text = "declare float @erff(float) #0\ndeclare double @atan2(double, double)\ndeclare float @mine(float)\n"
    text += "  %1 = call float @erff(float %0)\n  %2 = call float @erffx(float %0)\n"
    assert gpu_opencl.renamed(text) == (
        "declare float @_Z3erff(float) #0\ndeclare double @_Z5atan2dd(double, double)\ndeclare float @mine(float)\n"
        "  %1 = call float @_Z3erff(float %0)\n  %2 = call float @erffx(float %0)\n"
    )
