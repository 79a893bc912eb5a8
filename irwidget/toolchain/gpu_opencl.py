"""OpenCL's mathematical functions by their own names, so that SPIR-V has instructions of `OpenCL.std` for them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irwidget.toolchain.gpu_kernels import Kernels, on_each
from irwidget.toolchain.llvm_state import same_kind
from irwidget.toolchain.tool import Pass, Run, State, TextState, refuse
from irwidget.trace import Step

TOOL = "libm-to-opencl"

_NAMES = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "fma",
    "fmod",
    "log",
    "log10",
    "log1p",
    "log2",
    "pow",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
)
"""Functions that both libraries have ("The OpenCL C Specification", Math Functions)."""
_DECLARED = re.compile(rf"^declare (?:[^@\n]* )?(float|double) @({'|'.join(_NAMES)})(f?)\(([^)]*)\)", re.M)


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Rename the functions of libm that kernels call: `erff` becomes `_Z3erff`, which is OpenCL's erf of a float.

    LLVM's SPIR-V back end knows these names, and makes an instruction of each call instead of an import.
    """
    if not isinstance(state, Kernels | TextState) or state.language != "llvm":
        raise refuse(step, f"{TOOL} reads LLVM IR, but it was given {state.language}")

    def work(_: str, before: TextState) -> TextState:
        return same_kind(before, "llvm", renamed(before.text))

    yield from on_each(state, TOOL, work, "", TOOL, needed=lambda text: bool(_DECLARED.search(text.text)))


def renamed(text: str) -> str:
    """LLVM IR with OpenCL's functions in place of libm's. Their mangled names say how many arguments, of which type."""
    for kind, base, single, arguments in _DECLARED.findall(text):
        if (kind == "float") != bool(single):
            continue
        count = arguments.count(",") + 1
        text = re.sub(rf"@{base}{single}\b", f"@_Z{len(base)}{base}{('f' if single else 'd') * count}", text)
    return text
