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
        # llc says of ARM that floating-point exceptions are not looked at; llvmlite has no option for that
        (r"^\t\.eabi_attribute\t21,.*\n", ""),
        (r"^\t\.file\t.*\n", ""),
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


TRIPLES = """
x86_64-linux-gnu arm-linux-gnueabihf x86_64--linux-gnu x86_64-none-linux-gnu arm-none-eabi avr-none thumbv7m-none-eabi
aarch64-none-elf mips-mti-elf riscv64-elf armv7-eabi aarch64-linux-android21 wasm32-wasi x86_64-win32 x86_64-pc-mingw32
i686-cygwin thumbv7-windows x86_64-pc-windows-msvc x86_64-windows-msvc i386-pc-win32-macho x86_64-darwin20 ve-linux
x86_64 amdgcn-- amdgcn-amdhsa nvptx64 nvptx64-cuda nvptx64-nvidia-cuda spirv64v1.6-unknown-unknown x86_64-unknown-gnu
spirv-unknown-vulkan1.3-compute arm64-apple-ios17.0-simulator x86_64-unknown-none x86_64-suse-linux x86_64-scei-ps4
"""


@pytest.mark.parametrize("triple", TRIPLES.split())
def test_a_triple_is_put_in_order(triple: str) -> None:
    real = re.search('^target triple = "(.*)"', program("opt", f"-S -mtriple={triple}", ""), re.M)
    assert llvm.settings("opt", f"-mtriple={triple}").triple == (real and real[1])
    assert llvm.settings("llc", f"-mtriple {triple}").triple == (real and real[1])


@pytest.mark.parametrize("triple", ["arm-linux-gnueabihf", "x86_64-linux-gnu", "x86_64-win32"])
def test_a_triple_without_a_vendor_has_the_calls_of_its_system(triple: str) -> None:
    text = "define double @f(double %x, i64 %y) {\n  %a = call double @g(i64 %y, double %x)\n  ret double %a\n}\n"
    text += "declare double @g(i64, double)\n"
    ours = irwidget.lower(text, to="raw_ir", pipeline=f"llc -mtriple={triple}").text
    real = program("llc", f"-mtriple={triple}", text)
    assert comparable("llc", ours).strip() == comparable("llc", real).strip()


ALIGNED = """\
define i64 @f(ptr %p) {
  %a = alloca i64
  %b = load i64, ptr %p
  store volatile i64 %b, ptr %a
  ret i64 %b
}
"""
DEBUG = '!llvm.module.flags = !{!0}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n'
OTHER_LAYOUT = 'target datalayout = "e-i64:16"\ntarget triple = "x86_64-pc-linux-gnu"\n'


@pytest.mark.parametrize("triple", ["xcore", "avr", "msp430", "sparc", "i386-linux-gnu"])
@pytest.mark.parametrize("head", ["", OTHER_LAYOUT], ids=["", "a layout of its own"])
def test_an_alignment_that_the_text_leaves_out_is_that_of_the_target(triple: str, head: str) -> None:
    for tool in ("llc", "opt"):
        embedded = {"llc": llvm.emit, "opt": llvm.optimize}[tool]
        ours = embedded(head + ALIGNED, llvm.settings(tool, f"-mtriple={triple}" + " -O1" * (tool == "opt")))
        real = program(tool, f"-mtriple={triple}" + " -S -O1" * (tool == "opt"), head + ALIGNED)
        assert comparable(tool, ours).strip() == comparable(tool, real).strip()


@pytest.mark.parametrize("tool", ["llc", "opt -O1"])
def test_what_a_target_forbids_is_refused_and_an_error_keeps_its_place(tool: str) -> None:
    with pytest.raises(irwidget.IRWidgetError, match=r"alloca on amdgpu must be in addrspace\(5\)\n  %a = alloca i64"):
        irwidget.lower(ALIGNED, to="raw_ir", pipeline=f"{tool} -mtriple=amdgcn")
    with pytest.raises(irwidget.IRWidgetError, match=r"alloca on amdgpu must be in addrspace\(5\)"):
        irwidget.lower(ALIGNED + DEBUG, to="raw_ir", pipeline=f"{tool} -mtriple=amdgcn")
    with pytest.raises(irwidget.IRWidgetError, match="at line 1, column 8"):
        irwidget.lower(ALIGNED.replace("i64", "i0", 1), to="raw_ir", pipeline=f"{tool} -mtriple=avr")
