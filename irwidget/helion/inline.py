"""Put one module's function body inside another module: as IR objects, and as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from irwidget.errors import UsageError

if TYPE_CHECKING:
    from irwidget.helion.bindings import ir


def splice(
    function: ir.Operation,
    operands: Sequence[ir.Value],
    point: ir.InsertionPoint,
    location: ir.Location,
) -> list[ir.Value]:
    """Copy the body of `function` to `point`, its arguments replaced by `operands`.

    `function` is a `func.func` of one block in the same context. Every copied op
    gets `location`. Returns what the function would have returned.
    """
    clone = function.clone(point)
    block = clone.regions[0].blocks[0]
    for argument, operand in zip(list(block.arguments), operands, strict=True):
        argument.replace_all_uses_with(operand)
    body = list(block.operations)
    for operation in body[:-1]:
        operation.operation.location = location
        operation.operation.move_before(clone)
    results = list(body[-1].operation.operands)
    clone.erase()
    return results


class LineBuilder(Protocol):
    """Receives the lines of an inlined body and hands out fresh names."""

    def emit(self, line: str) -> None:
        """Add a line."""
        ...

    def fresh(self, hint: str) -> str:
        """A new SSA name that starts with `%` and `hint`."""
        ...


@dataclass
class TextBuilder:
    """The plainest `LineBuilder`: keeps the lines, and counts names up for each hint."""

    lines: list[str] = field(default_factory=list[str])
    indent: str = ""
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def fresh(self, hint: str) -> str:
        """`%t0`, `%t1`, ... for the hint `t`."""
        count = self.counts.get(hint, 0)
        self.counts[hint] = count + 1
        return f"%{hint}{count}"

    def emit(self, line: str) -> None:
        """Add a line."""
        self.lines.append(self.indent + line)

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|(%[A-Za-z0-9_$.-]+)((?::\d+)|(?:#\d+))?')
_ALIAS_LINE = re.compile(r"^(#[A-Za-z_][\w.]*|![A-Za-z_][\w.]*) = (.*)$")
_ALIAS_USE = re.compile(r'"(?:[^"\\]|\\.)*"|([#!][A-Za-z_][\w]*)(?![\w.<])')
_REGION_OPS = re.compile(r"\b(scf\.(for|forall|parallel|while)|stablehlo\.reduce|linalg\.(map|reduce)|reducer)\b")
_BLOCK_ARGUMENT = re.compile(r"(%[A-Za-z0-9_$.-]+)\s*:")


def inline_torch_mlir_output(
    mlir_text: str,
    operands: Sequence[str],
    builder: LineBuilder,
) -> str | tuple[str, ...] | None:
    """Inline the one function of a module's text: the function's arguments become `operands`.

    SSA values get fresh names from `builder` (`%t0`, ...), block arguments
    likewise (`%blk_arg0`, ...), and attribute aliases such as `#map` are
    written out. Lines go to `builder.emit`.

    Returns:
        The SSA name of the result; a tuple of names for several; None for none.

    Raises:
        UsageError: no function, a number of operands that does not fit, or
            module-level ops besides the function that the body would need.
    """
    aliases, body, arguments = _take_apart(mlir_text)
    if len(arguments) != len(operands):
        raise UsageError(f"The function takes {len(arguments)} arguments, not {len(operands)}.")
    names = dict(zip(arguments, (_percent(name) for name in operands), strict=True))
    results: tuple[str, ...] = ()
    for raw in textwrap.dedent("\n".join(body)).splitlines():
        line = _expand(raw.rstrip(), aliases)
        stripped = line.lstrip()
        if re.match(r"(func\.)?return\b", stripped):
            returned = re.match(r"(?:func\.)?return\s*([^:]*)", stripped)
            text = returned[1] if returned else ""
            results = tuple(_rename(name, names) for name in re.findall(r"%[A-Za-z0-9_$.-]+(?:#\d+)?", text))
            continue
        _name_definitions(stripped, names, builder)
        builder.emit(_rename(line, names))
    if not results:
        return None
    return results[0] if len(results) == 1 else results


def _percent(name: str) -> str:
    return name if name.startswith("%") else f"%{name}"


def _take_apart(text: str) -> tuple[dict[str, str], list[str], list[str]]:
    """Aliases, lines of the function's body and names of its arguments."""
    aliases: dict[str, str] = {}
    lines = text.splitlines()
    start = -1
    arguments: list[str] = []
    for number, line in enumerate(lines):
        if match := _ALIAS_LINE.match(line):
            aliases[match[1]] = match[2]
        elif line.lstrip().startswith("func.func"):
            if start >= 0:
                raise UsageError("The module has several functions; inline them one at a time.")
            start = number
            header = line.split("(", 1)[1] if "(" in line else ""
            arguments = re.findall(r"(%[A-Za-z0-9_$.-]+)\s*:", header)
        elif "ml_program.global" in line or line.lstrip().startswith("memref.global"):
            raise UsageError("The module holds globals; text inlining cannot take them along. Use IR objects.")
    if start < 0:
        raise UsageError("The text holds no func.func.")
    depth, body = 0, list[str]()
    for number in range(start, len(lines)):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', lines[number])
        depth += code.count("{") - code.count("}")
        if number > start and depth <= 0:
            break
        if number > start:
            body.append(lines[number])
    return aliases, body, arguments


def _expand(line: str, aliases: dict[str, str]) -> str:
    for _ in range(8):
        replaced = _ALIAS_USE.sub(lambda m: aliases.get(m[1], m[0]) if m[1] else m[0], line)
        if replaced == line:
            break
        line = replaced
    return line


def _name_definitions(line: str, names: dict[str, str], builder: LineBuilder) -> None:
    """Give fresh names to what a line defines: results, and block arguments."""
    head = re.match(r"((?:%[A-Za-z0-9_$.-]+(?::\d+)?(?:,\s*)?)+)\s*=\s", line)
    if head:
        for name in re.findall(r"%[A-Za-z0-9_$.-]+", head[1]):
            names[name] = builder.fresh("t")
    if line.startswith("^"):
        for name in _BLOCK_ARGUMENT.findall(line):
            names[name] = builder.fresh("blk_arg")
    elif _defines_arguments(line):
        inside = line.split("=", 1)[1] if head else line
        for name in re.findall(r"(%[A-Za-z0-9_$.-]+)\s*=(?!=)", inside):
            names[name] = builder.fresh("blk_arg")
        for name in re.findall(r"[(,]\s*(%[A-Za-z0-9_$.-]+)\s*:", inside):
            names.setdefault(name, builder.fresh("blk_arg"))
        loop = re.search(r"scf\.for\s+(%[A-Za-z0-9_$.-]+)", inside)
        if loop:
            names[loop[1]] = builder.fresh("blk_arg")


def _defines_arguments(line: str) -> bool:
    code = line.split("=", 1)[1] if re.match(r"%[^=]*=", line) else line
    opens = line.rstrip().endswith("{") or "reducer" in line or "iter_args" in line
    return opens and bool(_REGION_OPS.search(code))


def _rename(line: str, names: dict[str, str]) -> str:
    def fresh(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]
        name, suffix = match[1], match[2] or ""
        return names.get(name, name) + suffix

    return _NAME.sub(fresh, line)
