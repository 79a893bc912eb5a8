"""A module of LLVM IR taken apart: functions, blocks, instructions, and the rest line by line.

What used a result that is gone gets an argument of the function, or `poison`, in its place; blocks that nothing reaches
go, and phis forget them. Whether what is left is well-formed, the parser and the verifier say.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

_DEFINE = re.compile(r"define\b")
_LABEL = re.compile(r'([\w$.-]+|"[^"]*"):')
_RESULT = re.compile(r'(%(?:[\w$.-]+|"[^"]*")) = (.*)', re.S)
_NAME = re.compile(r'%(?:[\w$.-]+|"[^"]*")')
_TARGET = re.compile(r'label (%(?:[\w$.-]+|"[^"]*"))')
_CONTINUES = ("to label", "unwind ", "cleanup", "catch ", "filter ")
_SIMPLE_TYPE = re.compile(
    r'(?:i\d+|half|bfloat|float|double|fp128|x86_fp80|ppc_fp128|x86_amx|token|metadata|void|%(?:[\w$.-]+|"[^"]*"))'
    r"|ptr(?: addrspace\(\d+\))?|target\("
)
_WORD = re.compile(r"[\w.-]+(?:\([^()]*\))? ?")
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_PHI = re.compile(r"\[\s*(.*?)\s*,\s*(%[^\s\],]+)\s*\]")


@dataclass(frozen=True)
class Block:
    """A label and instructions, of which the last ends it."""

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Function:
    """A definition."""

    before: str
    """What is before its name: `define i32 `."""
    name: str
    arguments: tuple[str, ...]
    after: str
    """What is after its arguments, without the brace."""
    blocks: tuple[Block, ...]

    @property
    def result(self) -> str:
        """The type of what it returns; empty where it is not understood."""
        words = self.before.strip()
        starts = [0, *(found.end() for found in re.finditer(r"\s", words))]
        return next((words[at:] for at in starts if type_at(words[at:]) == words[at:]), "")

    def text(self) -> str:
        """The definition."""
        lines = [f"{self.before}{self.name}({', '.join(self.arguments)}){self.after} {{"]
        for block in self.blocks:
            lines += [f"{block.label}:", *(f"  {line}" for line in block.lines)]
        return "\n".join([*lines, "}"])


Item = Function | str
Module = tuple[Item, ...]


def text(module: Module) -> str:
    """The module as text."""
    return "\n".join(item if isinstance(item, str) else item.text() for item in module) + "\n"


@functools.lru_cache(maxsize=16)
def read(source: str) -> Module:
    """A module from its text, normal or not: comments go, values and blocks without names get some."""
    items: list[Item] = []
    body: list[str] | None = None
    head = ""
    prefix = "v"
    while re.search(rf"%{prefix}\d", source):
        prefix += "v"
    for line in map(_uncommented, source.split("\n")):
        stripped = line.strip()
        if not stripped:
            continue
        if body is not None:
            if stripped == "}":
                items.append(_function(head, body, prefix))
                body = None
            elif body and (_is_open(body[-1]) or stripped.startswith(_CONTINUES)):
                body[-1] += f" {stripped}"
            else:
                body.append(stripped)
        elif _DEFINE.match(stripped) and stripped.endswith("{"):
            head, body = stripped.removesuffix("{").rstrip(), []
        elif items and isinstance(items[-1], str) and _is_open(items[-1]):
            items[-1] += f" {stripped}"
        else:
            items.append(stripped)
    return tuple(items)


def _uncommented(line: str) -> str:
    at = line.find(";")
    while at >= 0:
        if line.count('"', 0, at) % 2 == 0:
            return line[:at]
        at = line.find(";", at + 1)
    return line


def _is_open(line: str) -> bool:
    bare = re.sub(r'"[^"]*"', "", line)
    return any(bare.count(opens) > bare.count(closes) for opens, closes in (("[", "]"), ("(", ")"), ("{", "}")))


def _function(head: str, body: list[str], prefix: str) -> Function:
    at = re.search(r'@(?:[\w$.-]+|"[^"]*")\(', head)
    if at is None:
        return Function(head, "", (), "", (Block("entry", tuple(body)),))
    opens = at.end() - 1
    closes = matching(head, opens)
    arguments, number = _named(split(head[opens + 1 : closes]), prefix)
    lines = [re.sub(r"%(\d+)\b", rf"%{prefix}\1", line) for line in body]
    blocks: list[Block] = []
    for line in lines:
        label = _LABEL.fullmatch(line)
        if label or not blocks:
            name = label[1] if label else f"{prefix}{number}"
            blocks.append(Block(f"{prefix}{name}" if name.isdigit() else name, ()))
        if not label:
            blocks[-1] = replace(blocks[-1], lines=(*blocks[-1].lines, line))
    return Function(head[: at.start()], head[at.start() : opens], arguments, head[closes + 1 :], tuple(blocks))


def _named(arguments: list[str], prefix: str) -> tuple[tuple[str, ...], int]:
    """Arguments that all have names, and the number of the first value without one after them."""
    found: list[str] = []
    number = 0
    for one in arguments:
        name = re.search(r'%(?:[\w$.-]+|"[^"]*")$', one)
        if one == "..." or (name and " " in one and not name[0][1:].isdigit()):
            found.append(one)
            continue
        kept = one[: name.start()].strip() if name and " " in one else one
        found.append(f"{kept} %{prefix}{number}")
        number += 1
    return tuple(found), number


# Reading a line


def matching(line: str, at: int) -> int:
    """Where the bracket is closed that opens at a place; the end of the line where it is not."""
    depth, quoted = 0, False
    for place in range(at, len(line)):
        mark = line[place]
        quoted ^= mark == '"'
        if not quoted:
            depth += (mark in "([{<") - (mark in ")]}>")
            if depth == 0:
                return place
    return len(line)


def split(line: str) -> list[str]:
    """What commas outside of brackets separate."""
    parts, depth, quoted = [""], 0, False
    for mark in line:
        quoted ^= mark == '"'
        depth += 0 if quoted else (mark in "([{<") - (mark in ")]}>")
        if mark == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += mark
    return [part.strip() for part in parts if part.strip()]


def type_at(line: str) -> str:
    """The type that a text begins with; empty for none."""
    if line[:1] in _PAIRS and line[:1] != "(":
        return line[: matching(line, 0) + 1]
    found = _SIMPLE_TYPE.match(line)
    if not found:
        return ""
    if found[0] == "target(":
        return line[: matching(line, found.end() - 1) + 1]
    return found[0]


def _type_after_words(line: str) -> str:
    """The type after flags: `nsw i32 %a, %b`."""
    while line and not type_at(line):
        word = _WORD.match(line)
        if not word:
            return ""
        line = line[word.end() :]
    return type_at(line)


def result(line: str) -> str:
    """The name that an instruction gives its result; empty for none."""
    found = _RESULT.match(line)
    return found[1] if found else ""


def result_type(line: str) -> str:
    """The type of an instruction's result; empty where it is not understood."""
    found = _RESULT.match(line)
    if not found:
        return ""
    words = re.sub(r"^(?:tail|musttail|notail) ", "", found[2])
    opcode, _, rest = words.partition(" ")
    if opcode in ("icmp", "fcmp"):
        of = _type_after_words(rest)
        return re.sub(r"x .*>", "x i1>", of) if of.startswith("<") else "i1"
    if opcode in ("alloca", "getelementptr"):
        return "" if "<" in rest.split(",")[1 if "," in rest else 0] or "addrspace" in rest else "ptr"
    if opcode in ("extractvalue", "cmpxchg", "landingpad", "shufflevector", "catchpad", "cleanuppad", "catchswitch"):
        return ""
    if " to " in rest and opcode not in ("call", "invoke", "callbr"):
        return rest.rpartition(" to ")[2].split(",")[0].strip()
    if opcode in ("call", "invoke", "callbr"):
        return _type_after_words(rest)
    if opcode in ("select", "atomicrmw"):
        parts = split(rest)
        return type_at(parts[1]) if len(parts) > 1 else ""
    of = _type_after_words(rest)
    if opcode == "extractelement":
        return re.sub(r"^<.*? x (.*)>$", r"\1", of)
    return of


def is_phi(line: str) -> bool:
    """Whether an instruction is a phi."""
    return re.match(r"%\S+ = phi ", line) is not None


def targets(block: Block) -> list[str]:
    """The labels that a block may go to, without the `%`."""
    return [name[1:] for name in _TARGET.findall(block.lines[-1])] if block.lines else []


# Making another one


def renamed(function: Function, names: Mapping[str, str]) -> Function:
    """With other values in place of some."""
    if not names:
        return function

    def one(line: str) -> str:
        head = _RESULT.match(line)
        body = head[2] if head else line
        body = _NAME.sub(lambda found: names.get(found[0], found[0]), body)
        return f"{head[1]} = {body}" if head else body

    blocks = tuple(replace(block, lines=tuple(map(one, block.lines))) for block in function.blocks)
    return replace(function, blocks=blocks)


def with_blocks(function: Function, blocks: Iterable[Block]) -> Function:
    """With other blocks: those that nothing reaches go, phis forget them, what used their results gets `poison`."""
    by_label = {block.label: block for block in blocks}
    if not by_label:
        return function
    waiting, reached = [next(iter(by_label))], dict[str, None]()
    while waiting:
        label = waiting.pop()
        if label in by_label and label not in reached:
            reached[label] = None
            waiting += targets(by_label[label])
    kept = [block for block in by_label.values() if block.label in reached]
    before = {block.label: [other.label for other in kept if block.label in targets(other)] for block in kept}
    made = [replace(block, lines=tuple(_phi(line, before[block.label]) for line in block.lines)) for block in kept]
    had = {result(line) for block in function.blocks for line in block.lines}
    have = {result(line) for block in made for line in block.lines}
    return renamed(replace(function, blocks=tuple(made)), dict.fromkeys(had - have - {""}, "poison"))


def _phi(line: str, before: list[str]) -> str:
    if not is_phi(line):
        return line
    head, _, rest = line.partition(" [")
    entries = [f"[ {value}, {label} ]" for value, label in _PHI.findall(f"[{rest}") if label[1:] in before]
    return f"{head} {', '.join(entries)}" if entries else line


def merged(function: Function) -> Function:
    """With each block that is the only way on from another at its end, where it has no phi."""
    blocks = list(function.blocks)
    at = 0
    while at < len(blocks):
        after = targets(blocks[at])
        follows = next((one for one in blocks[1:] if len(after) == 1 and one.label == after[0]), None)
        alone = follows is not None and sum(follows.label in targets(one) for one in blocks) == 1
        plain = blocks[at].lines[-1].startswith("br label") if blocks[at].lines else False
        if follows is None or follows is blocks[at] or not (alone and plain):
            at += 1
            continue
        phis = [line for line in follows.lines if is_phi(line)]
        names = {result(line): value for line in phis for value, _ in _PHI.findall(line)[:1]}
        rest = [line for line in follows.lines if not is_phi(line)]
        own = blocks[at] = Block(blocks[at].label, (*blocks[at].lines[:-1], *rest))
        blocks = [one for one in blocks if one is not follows]
        at = blocks.index(own)  # what follows may stand before it
        labels = {f"%{follows.label}": f"%{own.label}"}
        function = renamed(replace(function, blocks=tuple(blocks)), {**names, **labels})
        blocks = list(function.blocks)
    return replace(function, blocks=tuple(blocks))


def mapped(module: Module, change: Callable[[Function], Item]) -> Module:
    """With each function changed."""
    return tuple(item if isinstance(item, str) else change(item) for item in module)
