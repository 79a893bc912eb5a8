"""Tell by its first lines what language IR text is in."""

from __future__ import annotations

import re

from irwidget.errors import UsageError

_SIGNS = (
    ("ptx", re.compile(r"^\s*\.version\s+\d", re.M)),
    ("amdgcn", re.compile(r"^\s*\.amdgcn_target|^\s*\.amdgpu_|s_endpgm", re.M)),
    ("spirv", re.compile(r"^\s*(%\w+ = )?Op(Capability|MemoryModel|EntryPoint)\b", re.M)),
    ("llvm", re.compile(r"^(; ModuleID|source_filename|target (triple|datalayout)|define |declare |@[\w.]+ = )", re.M)),
    ("torchscript", re.compile(r"\A\s*graph\(%")),
    ("dot", re.compile(r"^\s*(strict )?digraph\b", re.M)),
    ("triton", re.compile(r"\btt\.(func|return|load|store|get_program_id)\b")),
    (
        "mlir",
        re.compile(r"^\s*(module|builtin\.module|(func|llvm)\.func|(gpu|spirv)\.module|#\w+ = |\"\w+\.)", re.M),
    ),
    ("x86asm", re.compile(r"^\s*\.(text|globl|file)\b", re.M)),
    ("json", re.compile(r"\A\s*[\[{]")),
)


def require_unicode(text: str) -> None:
    """Raise UsageError, with the line, for a surrogate: what Python makes of bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise UsageError(f"Line {line} of the IR has a character that is not Unicode: {text[error.start]!a}") from None


def detect(text: str) -> str:
    """`mlir`, `triton` (Triton's MLIR) or another of the names above; `text` when nothing tells."""
    head = text[:20000]
    return next((language for language, sign in _SIGNS if sign.search(head)), "text")
