"""Tell by its first lines what language IR text is in."""

from __future__ import annotations

import re

from irwidget.errors import UsageError

_NAME = r'(?:[-\w.$]+|"[^"\n]*")'
"""A name of LLVM IR."""
_SIGNS = (
    # First, because its texts may hold IR of any kind; a log may begin with [info], too.
    ("json", re.compile(r'\A\s*(\{\s*["}]|\[\s*([\[{"]|-?\d[\d.eE+-]*\s*(,|\]\s*\Z)))')),
    ("ptx", re.compile(r"^[^\S\n]*\.version\s+\d", re.M)),
    ("amdgcn", re.compile(r"^[^\S\n]*\.amdgcn_target|^[^\S\n]*\.amdgpu_|s_endpgm", re.M)),
    ("spirv", re.compile(r"^[^\S\n]*(%\w+ = )?Op(Capability|MemoryModel|EntryPoint)\b", re.M)),
    (
        "llvm",
        re.compile(
            rf"^(; ModuleID|source_filename|target (triple|datalayout)|define |declare |module asm |attributes #\d+ = |"
            rf"@{_NAME} = |%{_NAME} = type |\${_NAME} = comdat |![\w.]+ = (distinct )?!(\{{|DI\w+\())",
            re.M,
        ),
    ),
    ("torchscript", re.compile(r"\A\s*graph\(%")),
    ("dot", re.compile(r"^[^\S\n]*(strict )?digraph\b", re.M)),
    ("triton", re.compile(r"\btt\.(func|return|load|store|get_program_id)\b")),
    (
        "mlir",
        re.compile(
            r"^[^\S\n]*(module|builtin\.module(?!\()|(func|llvm)\.func(?!\()|(gpu|spirv)\.module|#\w+ = "
            r"|\"\w+\.[^\"\n]*\"\s*\()",
            re.M,
        ),
    ),
    ("x86asm", re.compile(r"^[^\S\n]*\.(text|globl|file)\b", re.M)),
)


_SUFFIXES = {
    "mlir": ".mlir",
    "triton": ".mlir",
    "llvm": ".ll",
    "ptx": ".ptx",
    "amdgcn": ".s",
    "x86asm": ".s",
    "spirv": ".spvasm",
    "json": ".json",
}


def suffix(language: str) -> str:
    """How files of a language end: `.txt` where no tool asks for an ending of its own."""
    return _SUFFIXES.get(language, ".txt")


def require_unicode(text: str) -> None:
    """Raise UsageError, with the line, for a surrogate: what Python makes of bytes that are not UTF-8; and for a zero,
    at which llvmlite would take the text to end.
    """
    if (zero := text.find("\0")) >= 0:
        line = text.count("\n", 0, zero) + 1
        raise UsageError(f"Line {line} of the IR has a zero character, where parsers may end: take it out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise UsageError(f"Line {line} of the IR has a character that is not Unicode: {text[error.start]!a}") from None


_BINARY = (
    (b"BC\xc0\xde", "LLVM bitcode: llvm-dis makes text of it"),
    (b"\xde\xc0\x17\x0b", "LLVM bitcode: llvm-dis makes text of it"),
    (b"ML\xefR", "MLIR bytecode: mlir-opt makes text of it"),
    (b"\x03\x02#\x07", "SPIR-V: spirv-dis makes text of it"),
    (b"\x7fELF", "an ELF file, machine code: objdump -d makes text of it"),
    (b"\x1f\x8b", "packed by gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd: unpack it first"),
    (b"PK\x03\x04", "a zip file: unpack it first"),
    (b"\xff\xfe", "text in UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16: save it as UTF-8"),
)


def binary(data: bytes) -> str:
    """What bytes are that are no text of ours, by how they begin, and what makes text of them; empty when unknown."""
    return next((what for sign, what in _BINARY if data.startswith(sign)), "")


_COMMENT = re.compile(r"\s*(?://|;)[^\n]*\n|\s+")
_MARK = "\ufeff"
"""What editors of other systems put first, the byte order mark: no language has it."""
_HEAD = 20_000


def without_mark(text: str) -> str:
    """The text without a byte order mark."""
    return text.removeprefix(_MARK)


def detect(text: str) -> str:
    """`mlir`, `triton` (Triton's MLIR) or another of the names above; `text` when nothing tells."""
    text = without_mark(text)
    start = 0
    while comment := _COMMENT.match(text, start):
        start = comment.end()
    head = f"{text[:_HEAD]}\n{text[start : start + _HEAD]}" if start else text[:_HEAD]
    return next((language for language, sign in _SIGNS if sign.search(head)), "text")
