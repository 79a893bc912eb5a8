"""The embedded tools make the same text as LLVM 22's own programs on the same command lines."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import torch

import irwidget
from irwidget.toolchain import llvm
from tests.llvm.test_targets import lower, named

BIN = Path("/usr/lib/llvm-22/bin")
pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not (BIN / "opt").exists(), reason="needs apt-get install mlir-22-tools llvm-22"),
]
PROGRAMS = ["mlp", "cnn", "gelu", "sort"]


def program(tool: str, arguments: str, text: str) -> str:
    done = subprocess.run(
        [BIN / tool, *arguments.split(), "-o", "-"], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=PROGRAMS)
def llvm_ir(request: pytest.FixtureRequest) -> str:
    return lower(named(request.param), "llvm_ir").text


def without_names(text: str) -> str:
    """The file name that each tool gives a module that came from standard input."""
    return re.sub(r"^; ModuleID = .*\n|^source_filename = .*\n", "", text, flags=re.M)


# Differences between versions of LLVM, each with its cause; everything else must be equal.
DIFFERENCES = {
    "mlir-translate": [],
    "opt": [
        # the parser resets the attributes of an intrinsic's declaration, opt adds the processor after parsing:
        # only the real program has it there
        (r' "target-(?:cpu|features)"="[^"]*"', ""),
    ],
    "llc": [
        # Debian builds 22.1.8, llvmlite 22.1.0: each writes its own version
        (r"^\t\.ident\t.*\n", ""),
    ],
}


def comparable(tool: str, text: str) -> str:
    text = without_names(text)
    for pattern, replacement in DIFFERENCES[tool]:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return text


@pytest.mark.parametrize("name", PROGRAMS)
def test_mlir_translate(name: str) -> None:
    lowering = lower(named(name), "llvm_ir", elide=False)
    source = lowering.dumps[-2].text
    assert comparable("mlir-translate", lowering.text) == comparable(
        "mlir-translate", program("mlir-translate", "--mlir-to-llvmir", source)
    )


@pytest.mark.parametrize("arguments", [
    "-S", "-O0 -S", "-O1 -S", "-O2 -S", "-O3 -S",
    "-O2 -S -disable-loop-unrolling -vectorize-loops=false -vectorize-slp=false",
    "-O2 -S -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80",
    "-O2 -S -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90 -mattr=+ptx80",
    "-O2 -S -mtriple=amdgcn-amd-amdhsa -mcpu=gfx942 -disable-loop-unrolling -vectorize-loops=false",
    "-O2 -S -mtriple=spirv64-unknown-unknown",
    "-O2 -S -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3",
])  # fmt: skip
def test_opt(llvm_ir: str, arguments: str) -> None:
    embedded = llvm.optimize(llvm_ir, llvm.settings("opt", arguments))
    real = program("opt", arguments, llvm_ir)
    if "-mcpu" in arguments:
        assert re.findall(r"^define .*", embedded, re.M) == re.findall(r"^define .*", real, re.M)
    assert comparable("opt", embedded) == comparable("opt", real)


@pytest.mark.parametrize("arguments", [
    "-O2 -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=+ptx80",
    "-O0 -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90 -mattr=+ptx80",
    "-mtriple=amdgcn-amd-amdhsa -mcpu=gfx942",
    "-mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100",
    "-mtriple=spirv64-unknown-unknown",
    "-O3 -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3",
    "-mtriple=aarch64-unknown-linux-gnu",
    "-mtriple=riscv64-unknown-linux-gnu -mattr=+m,+d",
])  # fmt: skip
def test_llc(llvm_ir: str, arguments: str) -> None:
    if "nvptx" in arguments and "@llvm.exp" in llvm_ir:
        pytest.skip("NVPTX ends the process for exp")
    embedded = llvm.emit(llvm_ir, llvm.settings("llc", arguments))
    assert comparable("llc", embedded) == comparable("llc", program("llc", arguments, llvm_ir))


def test_the_external_program_gives_the_same_by_the_same_step() -> None:
    torch.manual_seed(0)
    model, inputs = named("mlp").make()
    command = "opt -O2 | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80"
    texts = [
        irwidget.lower(model, *inputs, to="llvm_ir", pipeline=command, external=external).text
        for external in (False, True)
    ]
    instructions = [re.findall(r"^\t[a-z][\w.]*\b.*;$", text, re.M) for text in texts]
    assert instructions[0]
    assert instructions[0] == instructions[1]
