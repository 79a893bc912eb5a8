"""A small `triton-llvm-opt`: Triton's own LLVM pass and its optimisation levels, by libtriton.

libtriton has no function that reads LLVM IR, but it links libraries into a module: a module that declares the
functions of the text, linked with the text, is the text. What is linked becomes internal, so `@llvm.used` keeps it
alive, and the printed text gets its linkage back.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irwidget.errors import near
from irwidget.toolchain import events, scratch, triton_glue, triton_private, triton_state
from irwidget.toolchain.mlir import PassFailed
from irwidget.toolchain.tool import Pass, State, StepFailed, TextState, refuse
from irwidget.trace import WHOLE, Step

_LEVELS = {
    "break-struct-phi-nodes": "OPTIMIZE_O0",
    **{f"O{level}": f"OPTIMIZE_O{level}" for level in range(4)},
}
"""Flag -> libtriton's level. Its optimiser always has the pass that takes phis of structs apart; at O0, only that."""
_DEFINITION = re.compile(r'^define ((?:\w+ )*)(?=[^@\n]*@("[^"\n]+"|[\w.$-]+)\()', re.M)
_LINKAGES = {"private", "internal", "available_externally", "linkonce", "weak", "linkonce_odr", "weak_odr"}
_LOCAL = {"private", "internal"}
_USED = re.compile(r"^@llvm\.used = .*\n\n?", re.M)


def tool(state: State, step: Step) -> Iterator[Pass]:
    """The passes of `triton-llvm-opt -break-struct-phi-nodes -O3`."""
    if state.language != "llvm":
        raise refuse(step, f"triton-llvm-opt reads LLVM IR, not {state.language}")
    for flag in check(step):

        def apply(before: State, flag: str = flag) -> State:
            text = before.raw() if isinstance(before, triton_state.TritonState) else before.render(False).text
            return TextState("llvm", _optimized(text, flag))

        yield Pass(flag, apply, "", WHOLE, f"triton-llvm-opt -{flag}")


def check(step: Step) -> list[str]:
    """The flags of a step. Raises StepFailed for unknown ones."""
    flags = [word.lstrip("-") for word in shlex.split(step.arguments)]
    for flag in flags:
        if flag not in _LEVELS:
            raise StepFailed(
                events.Failed(
                    "usage",
                    f"this triton-llvm-opt (libtriton, embedded) does not know {flag!r}. {near(flag, _LEVELS)} "
                    "Set TRITON_LLVM_OPT_PATH to use a real one.",
                    flag,
                    step.tool,
                )
            )
    return flags


def _optimized(text: str, flag: str) -> str:
    llvm = triton_private.libtriton("llvm")
    linkages: dict[str, str] = {}
    for words, name in _DEFINITION.findall(text):
        linkage = next((word for word in words.split() if word in _LINKAGES), "")
        if linkage not in _LOCAL:
            linkages[name] = linkage
    triple = re.search(r'^target triple = "([^"]*)"', text, re.M)
    llvm.init_targets()
    with triton_glue.captured_stderr() as said:
        try:
            module = _linked(text, list(linkages), triple[1] if triple else "")
            llvm.optimize_module(module, getattr(llvm, _LEVELS[flag]))
        except RuntimeError as error:
            raise PassFailed(f"{said().strip() or error}", ()) from None
    found = str(module)
    if triple and triple[0] not in found:  # libtriton takes the data layout of a triple only
        found = re.sub(r"\A((?:;.*\n|source_filename.*\n|target datalayout.*\n)*)", rf"\g<1>{triple[0]}\n", found)
    if "@llvm.used" not in text:
        found = _USED.sub("", found)
    return _DEFINITION.sub(lambda match: _with_linkage(match, linkages), found)


def _with_linkage(match: re.Match[str], linkages: dict[str, str]) -> str:
    if match[2] not in linkages:
        return match[0]
    words = [word for word in match[1].split() if word != "internal"]
    return " ".join(["define", *filter(None, [linkages[match[2]]]), *words]) + " "


def _linked(text: str, names: list[str], triple: str) -> Any:
    """The text as a module of libtriton."""
    llvm = triton_private.libtriton("llvm")
    declared = [f"  llvm.func @{name}()" for name in names]
    elements = [f"    %{i} = llvm.mlir.addressof @{name} : !llvm.ptr" for i, name in enumerate(names)]
    kind = f"!llvm.array<{len(names)} x ptr>"
    array = [f"    %u0 = llvm.mlir.undef : {kind}"]
    array += [f"    %u{i + 1} = llvm.insertvalue %{i}, %u{i}[{i}] : {kind}" for i in range(len(names))]
    used = [
        f'  llvm.mlir.global appending @llvm.used() {{section = "llvm.metadata"}} : {kind} {{',
        *elements, *array, f"    llvm.return %u{len(names)} : {kind}", "  }",
    ] if names else []  # fmt: skip
    shell = triton_state.parse(triton_state.read("\n".join(["module {", *declared, *used, "}"])), lambda _: None)
    module = llvm.to_module(shell, llvm.context())
    if triple:
        llvm.attach_datalayout(module, triple, "", "")
    with scratch.folder() as folder:
        path = Path(folder, "kernel.ll")
        path.write_text(text)
        llvm.link_extern_libs(module, [str(path)])
    return module
