"""Single faults in the text of MLIR and LLVM IR: what a wrong pattern or a slip makes of a right program."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Edit = tuple[int, int, str]
"""From, to, and what takes its place."""


@dataclass(frozen=True)
class Fault:
    """A fault of one kind at one place."""

    kind: str
    line: int
    text: str
    """The whole program with it."""


def _swaps(pairs: dict[str, str], suffix: str = r"\b") -> Callable[[str], Iterator[Edit]]:
    names = "|".join(map(re.escape, sorted(pairs, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w.])({names}){suffix}")

    def edits(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            yield match.start(1), match.end(1), pairs[match[1]]

    return edits


def _both(*pairs: tuple[str, str]) -> dict[str, str]:
    return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


_MLIR_OPS = _both(
    ("arith.addf", "arith.subf"),
    ("arith.mulf", "arith.divf"),
    ("arith.maximumf", "arith.minimumf"),
    ("arith.addi", "arith.subi"),
    ("arith.andi", "arith.ori"),
    ("math.exp", "math.exp2"),
    ("math.sqrt", "math.rsqrt"),
    ("math.sin", "math.cos"),
    ("math.tanh", "math.erf"),
    ("math.floor", "math.ceil"),
    ("arith.sitofp", "arith.uitofp"),
    ("arith.maxsi", "arith.minsi"),
    ("arith.shrsi", "arith.shrui"),
)
_TORCH_OPS = _both(
    ("torch.aten.add.Tensor", "torch.aten.sub.Tensor"),
    ("torch.aten.mul.Tensor", "torch.aten.div.Tensor"),
    ("torch.aten.maximum", "torch.aten.minimum"),
    ("torch.aten.gt.Tensor", "torch.aten.lt.Tensor"),
    ("torch.aten.tanh", "torch.aten.sigmoid"),
    ("torch.aten.exp", "torch.aten.expm1"),
    ("torch.aten.sqrt", "torch.aten.rsqrt"),
    ("torch.aten.sin", "torch.aten.cos"),
    ("torch.aten.floor", "torch.aten.ceil"),
    ("torch.aten.relu", "torch.aten.neg"),
)
_TOSA_OPS = _both(
    ("tosa.add", "tosa.sub"),
    ("tosa.maximum", "tosa.minimum"),
    ("tosa.greater", "tosa.greater_equal"),
    ("tosa.tanh", "tosa.sigmoid"),
    ("tosa.rsqrt", "tosa.reciprocal"),
    ("tosa.sin", "tosa.cos"),
    ("tosa.floor", "tosa.ceil"),
    ("tosa.exp", "tosa.negate"),
)
_STABLEHLO_OPS = _both(
    ("stablehlo.add", "stablehlo.subtract"),
    ("stablehlo.multiply", "stablehlo.divide"),
    ("stablehlo.maximum", "stablehlo.minimum"),
    ("stablehlo.exponential", "stablehlo.exponential_minus_one"),
    ("stablehlo.tanh", "stablehlo.logistic"),
    ("stablehlo.sqrt", "stablehlo.rsqrt"),
    ("stablehlo.sine", "stablehlo.cosine"),
    ("stablehlo.floor", "stablehlo.ceil"),
)
_DIRECTIONS = _both(("GT", "LT"), ("GE", "LE"), ("EQ", "NE"))
_LLVM_DIALECT_OPS = _both(
    ("llvm.fadd", "llvm.fsub"),
    ("llvm.fmul", "llvm.fdiv"),
    ("llvm.intr.maximum", "llvm.intr.minimum"),
    ("llvm.intr.exp", "llvm.intr.exp2"),
    ("llvm.intr.sin", "llvm.intr.cos"),
    ("llvm.intr.floor", "llvm.intr.ceil"),
    ("llvm.sitofp", "llvm.uitofp"),
    ("llvm.sext", "llvm.zext"),
)
_LLVM_OPS = _both(("fadd", "fsub"), ("fmul", "fdiv"), ("sitofp", "uitofp"), ("sext", "zext"))
_LLVM_CALLS = _both(("@llvm.maximum.f32", "@llvm.minimum.f32"), ("@llvm.exp.f32", "@llvm.exp2.f32"))
_PREDICATES = _both(
    ("ogt", "olt"),
    ("ugt", "ult"),
    ("oge", "ole"),
    ("uge", "ule"),
    ("oeq", "une"),
    ("sgt", "slt"),
    ("sge", "sle"),
    ("eq", "ne"),
)
_MLIR_PREDICATE = re.compile(r'(?:arith\.cmp[fi] |llvm\.[fi]cmp ")(\w+)')
_LLVM_PREDICATE = re.compile(r"\b[fi]cmp (\w+) ")
_FLOAT = re.compile(r"(?<![\w.x\"])-?\d+\.\d+e[-+]\d+")
_HEX_FLOAT = re.compile(r"(?<=[ (])0x[0-9A-F]{16}\b")
_INDEX = re.compile(r"(?:arith\.constant|llvm\.mlir\.constant\()\s*(\d+) ?: (?:index|i64)")
_LLVM_INDEX = re.compile(r"(?:add|mul|icmp \w+) i64 %\w+, (\d+)$", re.M)
_OPERANDS = re.compile(r"(?:arith\.subf|arith\.divf|arith\.subi|llvm\.fsub|llvm\.fdiv|llvm\.sub) (%[\w#]+), (%[\w#]+)")
_LLVM_OPERANDS = re.compile(r"= (?:fsub|fdiv) \w+ (%\w+), (%\w+)")
_SELECT = re.compile(r"(?:arith\.select|llvm\.select) %[\w#]+, (%[\w#]+), (%[\w#]+)")
_LLVM_SELECT = re.compile(r"select i1 %\w+, \w+ (%\w+), \w+ (%\w+)")
_DENSE = re.compile(r'dense<"0x([0-9A-F]{8,})">|: "0x08000000([0-9A-F]{8,})"|: "0x04000000([0-9A-F]{8,})"')
_LIST = re.compile(r"(?:dense<|\[)\[?(-?\d+\.\d+e[-+]\d+)")
_TORCH_INT = re.compile(r"torch\.constant\.int (\d+)")
_DIRECTION = re.compile(r"stablehlo\.compare\s+(\w+)")
_STABLEHLO_DIVISION = re.compile(r"stablehlo\.(?:subtract|divide) (%[\w#]+), (%[\w#]+)")
_TOSA_DIFFERENCE = re.compile(r"tosa\.sub (%[\w#]+), (%[\w#]+)")
_TORCH_DIFFERENCE = re.compile(r"torch\.aten\.(?:sub|div)\.Tensor (%[\w#]+), (%[\w#]+)")
_DIALECT_SELECT = re.compile(r"(?:tosa\.|stablehlo\.)select %[\w#]+, (%[\w#]+), (%[\w#]+)")
_PERMUTED = re.compile(r"(?:perms = array<i32: |permute\(|dims = \[)(\d+), (\d+)")
_AXES = re.compile(r"permutation = \[(\d+), (\d+)")


def _constants(text: str) -> Iterator[Edit]:
    for match in _FLOAT.finditer(text):
        value = float(match[0])
        for other in (value * 1.25, value + 0.125, -value):
            if other != value:
                yield match.start(), match.end(), f"{struct.unpack('f', struct.pack('f', other))[0]:e}"


def _hex_constants(text: str) -> Iterator[Edit]:
    for match in _HEX_FLOAT.finditer(text):
        (value,) = struct.unpack(">d", bytes.fromhex(match[0][2:]))
        if value == value and abs(value) < 1e30:
            (single,) = struct.unpack("f", struct.pack("f", value * 1.25))
            yield match.start(), match.end(), "0x" + struct.pack(">d", single).hex().upper()


def _groups(pattern: re.Pattern[str], change: Callable[[str], str]) -> Callable[[str], Iterator[Edit]]:
    def edits(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            new = change(match[1])
            if new != match[1]:
                yield match.start(1), match.end(1), new

    return edits


def _exchanged(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Edit]]:
    def edits(text: str) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            if match[1] != match[2]:
                yield match.start(1), match.end(2), f"{match[2]}{text[match.end(1) : match.start(2)]}{match[1]}"

    return edits


def _weights(text: str) -> Iterator[Edit]:
    """The sign of one element of a weight, whose bytes are little-endian."""
    for match in _DENSE.finditer(text):
        group = next(i for i in (1, 2, 3) if match[i])
        count = len(match[group]) // 8
        for element in {0, count // 2, count - 1}:
            place = match.start(group) + 8 * element + 6
            yield place, place + 2, f"{int(text[place : place + 2], 16) ^ 0x80:02X}"


KINDS: dict[str, dict[str, Callable[[str], Iterator[Edit]]]] = {
    "torch": {
        "constant": _constants, "op": _swaps(_TORCH_OPS), "operands": _exchanged(_TORCH_DIFFERENCE),
        "weight": _weights, "index": _groups(_TORCH_INT, lambda word: str(int(word) + 1)),
    },
    "TOSA": {
        "constant": _constants, "op": _swaps(_TOSA_OPS), "operands": _exchanged(_TOSA_DIFFERENCE), "weight": _weights,
        "select": _exchanged(_DIALECT_SELECT), "axes": _exchanged(_PERMUTED),
    },
    "StableHLO": {
        "constant": _constants, "op": _swaps(_STABLEHLO_OPS), "operands": _exchanged(_STABLEHLO_DIVISION),
        "weight": _weights, "select": _exchanged(_DIALECT_SELECT), "axes": _exchanged(_PERMUTED),
        "predicate": _groups(_DIRECTION, lambda word: _DIRECTIONS.get(word, word)),
    },
    "linalg": {
        "constant": _constants, "op": _swaps(_MLIR_OPS), "operands": _exchanged(_OPERANDS), "weight": _weights,
        "predicate": _groups(_MLIR_PREDICATE, lambda word: _PREDICATES.get(word, word)), "select": _exchanged(_SELECT),
        "index": _groups(_INDEX, lambda word: str(int(word) + 1)), "axes": _exchanged(_AXES),
    },
    "LLVM dialect": {
        "constant": _constants, "op": _swaps(_LLVM_DIALECT_OPS), "operands": _exchanged(_OPERANDS), "weight": _weights,
        "predicate": _groups(_MLIR_PREDICATE, lambda word: _PREDICATES.get(word, word)), "select": _exchanged(_SELECT),
        "index": _groups(_INDEX, lambda word: str(int(word) + 1)),
    },
    "LLVM IR": {
        "constant": _constants, "hexadecimal constant": _hex_constants, "op": _swaps(_LLVM_OPS, " "),
        "call": _swaps(_LLVM_CALLS), "operands": _exchanged(_LLVM_OPERANDS), "select": _exchanged(_LLVM_SELECT),
        "predicate": _groups(_LLVM_PREDICATE, lambda word: _PREDICATES.get(word, word)),
        "index": _groups(_LLVM_INDEX, lambda word: str(int(word) + 1)),
    },
}  # fmt: skip


def faults(text: str, level: str, most: int, seed: int) -> list[Fault]:
    """At most so many faults of a program, of as many kinds as it has places for, each at a random place."""
    chance = random.Random(seed)
    by_kind = {kind: list(edits(text)) for kind, edits in KINDS[level].items()}
    chosen: list[Fault] = []
    while len(chosen) < most and any(by_kind.values()):
        for kind, places in by_kind.items():
            if places and len(chosen) < most:
                start, end, new = places.pop(chance.randrange(len(places)))
                chosen.append(Fault(kind, text.count("\n", 0, start) + 1, text[:start] + new + text[end:]))
    return chosen
