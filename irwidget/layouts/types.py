"""The tensors that a dump of TTGIR names: their types with layouts, read from its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_ALIAS = re.compile(r"^(#[\w$.-]+) = (.+)$", re.M)
_START = re.compile(r"\btensor<|!ttg\.memdesc<|!tt\.tensordesc<")
_SHAPE = re.compile(r"((?:\d+x)+)(.+)", re.S)
_RESULT = re.compile(r"\s*((?:%[\w$.#:-]+(?:, )?)+) = ")
_OPERATION = re.compile(r"\s*(?:%[^=]* = )?\"?([a-z_]\w*(?:\.\w+)+)\"?")
_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?")
_ARGUMENT = re.compile(r"(%[\w$.-]+)(?: =[^:]*?)?: ")
_BITS = re.compile(r"^[a-z]+?(\d+)")
_MODULE = re.compile(r'"?ttg\.(num-warps|threads-per-warp|num-ctas)"? = (\d+)')
_TARGET = re.compile(r'ttg\.target = "(\w+:\w+)"')


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor that has a layout."""

    text: str
    """As the dump has it, with aliases: `tensor<64x64xf16, #mma>`."""
    shape: tuple[int, ...]
    element: str
    encoding: str
    memory: str = ""
    """`shared` or `tensor` for a description of memory; empty for what is in registers."""
    allocated: tuple[int, ...] = ()
    """The shape that its memory was allocated with, where that is another one."""

    @property
    def bits(self) -> int:
        """Of an element; a pointer has 64."""
        match = _BITS.match(self.element)
        return int(match[1]) if match else 64


@dataclass(frozen=True)
class Module:
    """What a dump says for all of its layouts."""

    aliases: Mapping[str, str]
    """`#mma` and what it stands for, in the order of the dump."""
    warps: int = 4
    threads: int = 32
    ctas: int = 1
    target: str = "cuda:80"

    @property
    def header(self) -> str:
        """The aliases as text that Triton's parser takes; locations are left out."""
        kept = [f"{name} = {text}" for name, text in self.aliases.items() if not text.startswith("loc(")]
        return "\n".join(kept) + "\n"

    @property
    def attributes(self) -> str:
        return (
            f'attributes {{"ttg.num-ctas" = {self.ctas} : i32, "ttg.num-warps" = {self.warps} : i32, '
            f'ttg.target = "{self.target}", "ttg.threads-per-warp" = {self.threads} : i32}}'
        )


@dataclass(frozen=True)
class Tensor:
    """A value of a dump that has a layout, at a line."""

    line: int
    """Counted from 1."""
    name: str
    """The SSA value, `%acc`; empty where a line names a type without one."""
    type: TensorType


@dataclass(frozen=True)
class Move:
    """An operation that takes a tensor from one layout to another: `ttg.convert_layout`, `ttg.local_load` ..."""

    line: int
    operation: str
    name: str
    source: TensorType
    result: TensorType


MOVES = ("ttg.convert_layout", "ttg.local_load", "ttg.local_alloc", "ttg.local_store")
"""The operations that move a tensor from one layout to another."""


def module(text: str) -> Module:
    """What holds for all layouts of a dump."""
    said = {name: int(value) for name, value in _MODULE.findall(text)}
    target = _TARGET.search(text)
    aliases = {name: value for name, value in _ALIAS.findall(text) if not name.startswith("#loc")}
    return Module(
        aliases,
        said.get("num-warps", 4),
        said.get("threads-per-warp", 32),
        said.get("num-ctas", 1),
        target[1] if target else "cuda:80",
    )


def one_buffer(kind: TensorType, encoding: str) -> TensorType:
    """Of a ring of buffers in shared memory one, where the layout's attribute, written out, says its number of axes."""
    order = re.search(r"\border = \[([^\]]*)\]", encoding)
    rank = len(order[1].split(",")) if order else len(kind.shape)
    if kind.memory != "shared" or rank >= len(kind.shape):
        return kind
    shape = (kind.allocated or kind.shape)[-rank:]
    text = f"!ttg.memdesc<{'x'.join(map(str, shape))}x{kind.element}, {kind.encoding}, #ttg.shared_memory, mutable>"
    return TensorType(text, shape, kind.element, kind.encoding, "shared")


def types(line: str) -> Iterator[tuple[int, TensorType]]:
    """The types with layouts in a line, each with where it begins."""
    at = 0
    while match := _START.search(line, at):
        end = _closed(line, match.end())
        text = line[match.start() : end]
        if found := tensor_type(text):
            yield match.start(), found
        at = end


def tensor_type(text: str) -> TensorType | None:
    """A type as text; None when it has no layout, or is none of a tensor."""
    start = text.index("<") + 1
    words = _split(text[start:-1])
    match = _SHAPE.fullmatch(words[0])
    if match is None or len(words) < 2 or not words[1].startswith("#"):
        return None
    shape = _sizes(match[1])
    if text.startswith("tensor<"):
        return TensorType(text, shape, match[2], words[1])
    if text.startswith("!tt.tensordesc"):
        return TensorType(text, shape, match[2], words[1], "shared")
    memory = "tensor" if any("tensor_memory" in word for word in words[2:]) else "shared"
    allocated = next((_sizes(word + "x") for word in words[2:] if re.fullmatch(r"\d+(x\d+)*", word)), ())
    return TensorType(text, shape, match[2], words[1], memory, allocated)


def tensors(text: str) -> list[Tensor]:
    """The values with layouts that a dump defines, line by line; and types of lines that define none."""
    found: list[Tensor] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not _START.search(line):
            continue
        here = list(types(line))
        named = list(_named(line, here))
        found += [Tensor(number, name, kind) for name, kind in named]
        known = {kind for _, kind in named}
        found += [Tensor(number, "", kind) for kind in dict.fromkeys(kind for _, kind in here) if kind not in known]
    return found


def moves(text: str) -> list[Move]:
    """The operations of a dump that move tensors between layouts."""
    found: list[Move] = []
    for number, line in enumerate(text.splitlines(), 1):
        operation = _OPERATION.match(line)
        if operation is None or operation[1] not in MOVES:
            continue
        here = [kind for _, kind in types(line)]
        names = _NAME.findall(line)
        if len(here) >= 2 and names:
            found.append(Move(number, operation[1], names[0], here[0], here[-1]))
    return found


def _named(line: str, here: list[tuple[int, TensorType]]) -> Iterator[tuple[str, TensorType]]:
    """Values that a line defines, with their types: results, which are last in it, and arguments of blocks."""
    results = _RESULT.match(line)
    if results is None or " = scf.for " in line or "scf.while" in line:
        for match in _ARGUMENT.finditer(line):
            kind = next((kind for at, kind in here if at == match.end()), None)
            if kind:
                yield match[1], kind
    if results is not None:
        arrow = line.rfind("-> ")
        after = [kind for at, kind in here if arrow < 0 or at > arrow]
        names = list(_names(results[1]))
        if arrow < 0 and len(names) == 1:
            after = after[-1:]
        if len(after) == len(names):
            yield from zip(names, after, strict=True)


def _names(text: str) -> Iterator[str]:
    for word in text.split(", "):
        name, _, count = word.partition(":")
        yield from ([f"{name}#{i}" for i in range(int(count))] if count else [name])


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split("x") if size)


def _closed(line: str, at: int) -> int:
    """Where the bracket that was opened before `at` is closed; arrows are none."""
    depth = 1
    while depth and at < len(line):
        if line[at] == "<":
            depth += 1
        elif line[at] == ">" and line[at - 1] != "-":
            depth -= 1
        at += 1
    return at


def _split(text: str) -> list[str]:
    """At commas that are in no bracket."""
    found, depth, start = list[str](), 0, 0
    for at, letter in enumerate(text):
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}" and not (letter == ">" and text[at - 1] == "-"):
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]
