"""What a line of IR says, by regular expressions: the names that passes renumber, the symbol that it defines, its op.

The browser has no such rules of its own: it gets what they find as columns, see `irwidget.trace.columns`.
"""

from __future__ import annotations

import re
from typing import Literal

Syntax = Literal["mlir", "llvm", "asm"]
"""How a family of languages writes an operation."""

_RENUMBERED = re.compile(
    r"(?<=%)[\w$.-]+(?:[:#]\d+)?|(?<=\^)\w+|(?<=\#)(?:(?:map|set|loc)\d*|\d+)\b|(?<=!)\d+"
    r"|(?<=\$)L__BB\d+_\d+|^(?:\d+|bb[\w.]*)(?=:)",
    re.ASCII,
)
_NAME = r'("[^"]*"|[\w$.-]+)'
_SYMBOL = re.compile(
    rf'\s*(?:(?:\w+\.)*(?:func|module|global|kernel_launcher)\b[^@"%]*(?:"\w*"[^@"%]*)?@{_NAME}'
    rf"|(?:define|declare)\b[^@]*@{_NAME}"
    rf"|@{_NAME}\s*="
    r"|\.(?:visible |weak )?\.?(?:entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$]+))",
    re.ASCII,
)
_OPERATION = {
    "mlir": re.compile(r'\s*(?:%[^=]*=\s*)?"?([a-zA-Z_][\w$]*+(?:\.[\w$]++)*+)(?!:)"?', re.ASCII),
    # Not what goes on from the line above: the cases of a switch, where an invoke goes on, what a landing pad takes.
    "llvm": re.compile(
        r"\s+(?:%[^=]*=\s*)?(?:tail |musttail |notail )?(?!(?:i\d+|to|catch|filter|cleanup)\b)([a-z]\w*)", re.ASCII
    ),
    # After an address (SASS), a condition, or a result (SPIR-V); not the callee and the parameters of a call of PTX.
    "asm": re.compile(
        r"\s+(?:/\*\w+\*/\s+)?(?:@!?%?\w+\s+|%\w+ = )?(?!param\d)([A-Za-z](?:[\w.]|::)*)(?=[\s;]|$)(?! :)", re.ASCII
    ),
}
_SYNTAX: dict[str, Syntax] = {
    "mlir": "mlir", "llvm": "llvm", "ptx": "asm", "amdgcn": "asm", "sass": "asm", "x86asm": "asm", "spirv": "asm",
}  # fmt: skip
_NOT_OPERATIONS = frozenset("ins outs attributes else do case default permutation to".split())
"""Words that open a line of MLIR without being an operation."""
_DIALECT = {"module": "builtin.", "unrealized_conversion_cast": "builtin."} | dict.fromkeys(
    ("func", "return", "call", "call_indirect", "constant"), "func."
)
"""Operations that MLIR prints without their dialect."""

_BODIES = ("linalg.generic", "linalg.map", "linalg.reduce")

_RESOURCE = re.compile(r"dense_resource<([^>]*)>")
_WRITTEN = re.compile(r'^      (\S+): ("0x[0-9A-F]*"),?$', re.MULTILINE)
_EXTERNAL = re.compile(r"^@(\S+) = external constant ", re.MULTILINE)

Span = tuple[int, int]


def left_out(text: str) -> list[str]:
    """The constants whose values a text of MLIR or LLVM IR does not have."""
    kept = text.partition("{-#")[2]
    named = [name for name in dict.fromkeys(_RESOURCE.findall(text)) if f"{name}:" not in kept]
    return named + _EXTERNAL.findall(text)


def written(text: str) -> dict[str, str]:
    """The values that a text of MLIR writes in its section of resources, by name, in hexadecimal."""
    return dict(_WRITTEN.findall(text.partition("{-#")[2]))


def syntax_of(language: str) -> Syntax | None:
    """How a dump's language writes operations; None where it has none (`python`, `json`, ...)."""
    return _SYNTAX.get(language)


def renumbered(line: str) -> list[Span]:
    """The parts of a line that a pass may renumber, in order.

    Names of SSA values and blocks, attribute aliases, LLVM's metadata and labels, labels of PTX and of machine IR;
    what says of which sort they are (`%`, `^`, `#`, `!`, `$`) is left.
    """
    return [found.span() for found in _RENUMBERED.finditer(line)]


def blank(line: str) -> str:
    """The line without the names that a pass may renumber."""
    return _RENUMBERED.sub("", line)


def symbol_span(line: str) -> Span | None:
    """Where the name of the symbol is that a line defines (a function, module, global or kernel), or None."""
    if "@" not in line and "entry" not in line and "func" not in line:
        return None
    found = _SYMBOL.match(line)
    return found.span(found.lastindex) if found and found.lastindex else None


def symbol(line: str) -> str:
    """The symbol that a line defines, as it is written, without the `@`; or ""."""
    span = symbol_span(line)
    return line[slice(*span)] if span else ""


def operation_span(line: str, syntax: Syntax) -> tuple[str, Span] | None:
    """What is to be put before the operation on a line, and where on the line it is; None where there is none."""
    found = _OPERATION[syntax].match(line)
    if found is None:
        return None
    name = found[1]
    if syntax != "mlir" or "." in name:
        return "", found.span(1)
    if name in _NOT_OPERATIONS or name not in _DIALECT:
        return None
    return _DIALECT[name], found.span(1)


def prints_body(operation: str) -> bool:
    """Whether MLIR prints the operations in an operation, which most of linalg's have and do not show."""
    return not operation.startswith("linalg.") or operation in _BODIES


def operation(line: str, syntax: Syntax) -> str:
    """The operation on a line with its dialect, or ""."""
    found = operation_span(line, syntax)
    return found[0] + line[slice(*found[1])] if found else ""
