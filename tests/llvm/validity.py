"""What the assemblers and validators of GPUs say of generated code."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from irwidget.toolchain import gpu_cuda

LANGUAGES = {"nvptx": "ptx", "amdgpu": "amdgcn", "spirv": "spirv"}
_LLVM_MC = "/usr/lib/llvm-22/bin/llvm-mc"
_RUNTIME = {"malloc", "free", "puts", "abort", "memcpy"}
"""What code on a host has, and a whole function calls."""


def missing(target: str) -> str:
    """The package that is to be installed before code for a target can be validated; empty when all is here."""
    if target == "amdgpu" and not Path(_LLVM_MC).exists():
        return "llvm-22"
    return "spirv-tools" if target == "spirv" and not (shutil.which("spirv-as") and shutil.which("spirv-val")) else ""


def faults(target: str, text: str, arch: str = "") -> str:
    """What is wrong with assembly, by the target's own tools; empty when it is valid."""
    if target == "nvptx":
        return _said([gpu_cuda.program("ptxas"), "-c", f"-arch={arch or 'sm_80'}", "-", "-o", "/dev/null"], text)
    if target == "amdgpu":
        processor = f"-mcpu={arch or 'gfx942'}"
        return _said([_LLVM_MC, "-triple=amdgcn-amd-amdhsa", processor, "-filetype=obj", "-o", "/dev/null"], text)
    return _spirv(text)


@functools.lru_cache(maxsize=1000)
def _spirv(text: str) -> str:
    environment = ["--target-env", "spv1.4"]
    made = subprocess.run(["spirv-as", *environment, "-", "-o", "-"], input=text.encode(), capture_output=True)
    if made.returncode:
        return made.stderr.decode()
    return _said(["spirv-val", *environment, "-"], made.stdout)


def _said(command: Sequence[str | Path], text: str | bytes) -> str:
    done = subprocess.run(command, input=text.encode() if isinstance(text, str) else text, capture_output=True)
    return (done.stderr or done.stdout).decode() or "it failed" if done.returncode else ""


def unresolved(target: str, text: str) -> set[str]:
    """The functions that code calls and nobody has."""
    pattern = {
        "nvptx": r"\.extern \.func[^;]*?(\w+)\s*\n?\(",
        "amdgpu": r"(?<![\w.])(\w+)@(?:rel32|gotpcrel32)@",
        "spirv": r'LinkageAttributes "(\w+)" Import',
    }[target]
    found = set(re.findall(pattern, text))
    return {name for name in found - _RUNTIME if not name.startswith(("__spirv_BuiltIn", "__constant_", "main"))}
