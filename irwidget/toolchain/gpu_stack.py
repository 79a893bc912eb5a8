"""AMD's GPUs have a function's stack in an address space of its own.

MLIR allocates it in the one that pointers have by default, which LLVM's verifier refuses for `amdgcn` ("User Guide for
AMDGPU Backend", Address Spaces).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from irwidget.toolchain.gpu_kernels import Kernels, on_each
from irwidget.toolchain.llvm_state import same_kind
from irwidget.toolchain.tool import Pass, Run, State, TextState, refuse
from irwidget.trace import Step

TOOL = "alloca-to-private"
_PRIVATE = 5
_ALLOCA = re.compile(
    r'^(?P<indent> *)%(?P<quote>"?)(?P<name>[^"\n]*?)(?P=quote) = (?P<made>alloca (?:(?!, addrspace\()[^!\n])*?)'
    r"(?P<metadata>(?:, ![^\n]*)?)$",
    re.M,
)


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Allocate each function's stack in the private address space, and cast its address to one of the default one."""
    if not isinstance(state, Kernels | TextState) or state.language != "llvm":
        raise refuse(step, f"{TOOL} reads LLVM IR, but it was given {state.language}")

    def work(_: str, before: TextState) -> TextState:
        return same_kind(before, "llvm", privately(before.text))

    yield from on_each(state, TOOL, work, "", TOOL, needed=lambda text: bool(_ALLOCA.search(text.text)))


def privately(text: str) -> str:
    """LLVM IR whose `alloca`s are in the private address space."""

    def cast(found: re.Match[str]) -> str:
        indent, quote, name, made, metadata = found.groups()
        place = f"%{quote}stack.{name}{quote}"
        return (
            f"{indent}{place} = {made}, addrspace({_PRIVATE}){metadata}\n"
            f"{indent}%{quote}{name}{quote} = addrspacecast ptr addrspace({_PRIVATE}) {place} to ptr{metadata}"
        )

    return _ALLOCA.sub(cast, text)
