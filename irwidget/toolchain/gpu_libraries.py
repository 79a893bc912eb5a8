"""The functions that kernels call, linked from the libraries in Triton's wheel: NVIDIA's libdevice, AMD's OCML."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

from irwidget.toolchain import llvm
from irwidget.toolchain.gpu_kernels import Kernels, on_each
from irwidget.toolchain.llvm_state import same_kind
from irwidget.toolchain.tool import NeedsProgram, Pass, Run, State, TextState, refuse
from irwidget.trace import Step

_ARGUMENTS = re.compile(r"--only-needed --internalize (?:libdevice\.10\.bc|ocml\.bc oclc_isa_version_(?P<isa>\w+)\.bc)")
_NEEDED = re.compile(r"^declare [^@\n]*@(?:__nv_|__ocml_)", re.M)
_WAVES_OF_64 = 10
"""The first major version whose waves have 32 lanes unless they are asked for 64."""


def folder(back_end: str) -> Path | None:
    """The folder of one of Triton's back ends, `nvidia` or `amd`; found without importing Triton."""
    spec = importlib.util.find_spec("triton")
    place = Path(spec.origin).parent / "backends" / back_end if spec and spec.origin else None
    return place if place and place.is_dir() else None


def llvm_link(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Give kernels the functions of a library that they call (`__nv_expf`), so that nothing is left to link."""
    asked = _ARGUMENTS.fullmatch(step.arguments)
    if asked is None:
        raise NeedsProgram("embedded llvm-link links libdevice.10.bc, or ocml.bc with an oclc_isa_version")
    if not isinstance(state, Kernels | TextState) or state.language != "llvm":
        raise refuse(step, f"llvm-link reads LLVM IR, but it was given {state.language}")
    isa = asked["isa"]
    place = folder("amd" if isa else "nvidia")
    if place is None:
        return  # the calls stay calls, as they are without CUDA or ROCm

    def work(_: str, before: TextState) -> TextState:
        library = (place / "lib" / ("ocml.bc" if isa else "libdevice.10.bc")).read_bytes()
        return same_kind(before, "llvm", llvm.link(before.text + (_control(isa) if isa else ""), library))

    yield from on_each(
        state,
        "llvm-link",
        work,
        step.arguments,
        f"llvm-link {step.arguments}",
        needed=lambda text: bool(_NEEDED.search(text.text)),
    )


def _control(isa: str) -> str:
    """The constants that OCML asks: those that ROCm keeps in a file of bitcode each."""
    major, minor, stepping = isa[:-2], isa[-2], isa[-1]
    version = 1000 * int(major) + 100 * int(minor, 16) + int(stepping, 16)
    values = {
        "ISA_version": ("i32", version),
        "ABI_version": ("i32", 500),
        "wavefrontsize64": ("i8", int(int(major) < _WAVES_OF_64)),
        "correctly_rounded_sqrt32": ("i8", 1),
        "unsafe_math_opt": ("i8", 0),
        "finite_only_opt": ("i8", 0),
        "daz_opt": ("i8", 0),
    }
    lines = (
        f"@__oclc_{name} = linkonce_odr hidden addrspace(4) constant {kind} {value}"
        for name, (kind, value) in values.items()
    )
    return "\n" + "\n".join(lines) + "\n"
