"""Real GPU kernels: entry points that ptxas accepts, one dump list each."""

from __future__ import annotations

import re
import subprocess

import pytest

from irwidget.toolchain import gpu_cuda
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
        if dump.language in ("llvm", "amdgcn") and dump.scope != "module":
            per_kernel.setdefault(dump.scope, []).append(dump.name)
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
    kernels = {dump.scope for dump in lowering.dumps if dump.name == "ptxas"}
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
