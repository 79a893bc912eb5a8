"""What a piece of the LLVM dialect does with shared memory: every thread's address, evaluated, for each access."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
BANKS, BANK_BYTES = 32, 4
"""Of shared memory on NVIDIA's GPUs: successive 32-bit words are in successive banks, 32 of them."""


@dataclass(frozen=True)
class SharedAccess:
    """One instruction that reads or writes shared memory, as all threads of a block execute it."""

    kind: str
    """`store` or `load`."""
    instruction: str
    """`st.shared.v4.b32`, `ld.shared.v4.b32`, `ldmatrix.x4` ..."""
    bytes: int
    """What a lane moves with one address."""
    addresses: Numbers | None
    """In bytes, by warp and lane; of a matrix instruction those of its rows. None where they were not understood."""
    active: npt.NDArray[np.bool_] | None = None
    """The lanes that take part; None: all."""

    def steps(self) -> Iterator[list[tuple[Numbers, npt.NDArray[np.bool_]]]]:
        """For each warp the addresses of the lanes that are served at once, and which of those take part.

        At once go 32 lanes with up to 32 bits each, 16 with 64, 8 with 128. Raises ValueError without addresses.
        """
        if self.addresses is None:
            raise ValueError(f"the addresses of {self.instruction} are not known")
        active = np.ones(self.addresses.shape, bool) if self.active is None else self.active
        lanes = 32 // max(1, self.bytes // BANK_BYTES)
        for places, taking in zip(self.addresses, active, strict=True):
            starts = range(0, len(places), lanes)
            yield [(places[at : at + lanes], taking[at : at + lanes]) for at in starts if taking[at : at + lanes].any()]

    def wavefronts(self) -> tuple[int, int] | None:
        """How often the block goes to memory with 32 banks of 32 bits, and how often were no two lanes of a step to
        meet in a bank; None where addresses are not known.

        A step takes as long as the bank of which most different words are wanted.
        """
        if self.addresses is None:
            return None
        steps = [step for warp in self.steps() for step in warp]
        return sum(_depth(places[taking], self.bytes) for places, taking in steps), len(steps)


def _depth(addresses: Numbers, size: int) -> int:
    """How many different words the busiest bank has to give."""
    starts = addresses[:, None] + np.arange(0, max(size, 1), BANK_BYTES)[None, :]
    words = np.unique(starts // BANK_BYTES)
    return int(np.bincount(words % BANKS).max())


@dataclass(frozen=True)
class Code:
    """What was found in it."""

    shuffles: int
    """Instructions by which lanes of a warp give values to each other, a thread."""
    accesses: tuple[SharedAccess, ...]
    barriers: int


_LINE = re.compile(r"\s*(?:(%[\w:]+) = )?\"?((?:llvm|nvvm|rocdl|arith|ttg|amdg)\.[\w.]+)\"?(.*)")
_SHUFFLES = re.compile(
    r"nvvm\.shfl|rocdl\.ds_bpermute|rocdl\.ds_swizzle|rocdl\.update\.dpp|rocdl\.permlane|amdgcn\.(ds\.bpermute|ds\.swizzle|permlane\w*)"
)
_ASM = re.compile(r'"((?:@\$\d+ )?(?:st|ld)\.shared[^"]*)", "[^"]*" ([^:]*)')
_VALUE = re.compile(r"%[\w]+(?:#\d+)?")
_TRANSPOSING = re.compile(r"\b(ds\.(?:load|read)\.tr\d+\.b(\d+))\b")
"""AMD's loads by which lanes get each other's elements, as an operation or an intrinsic's name."""


def read(text: str, warps: int, lanes: int) -> Code:
    """Evaluate a function without branches for all threads; what is moved is not looked at."""
    threads = np.arange(warps * lanes, dtype=np.int64)
    values: dict[str, Numbers] = {}
    found: list[SharedAccess] = []
    shuffles = barriers = 0
    for line in text.splitlines():
        for argument in re.findall(r"(%arg\d+): !llvm\.(?:ptr|struct)", line):
            values[argument] = np.zeros_like(threads)
        match = _LINE.match(line)
        if match is None:
            continue
        name, operation, rest = match.groups()
        shuffles += bool(_SHUFFLES.search(f"{operation}{rest}"))
        barriers += operation in ("nvvm.barrier", "nvvm.barrier0", "rocdl.barrier", "rocdl.s.barrier")
        if operation.endswith(("tid.x", "workitem.id.x")):
            values[name] = threads
        elif (value := _evaluated(operation, rest, values, lanes)) is not None:
            values[name] = value
        found += _accesses(operation, rest, values, warps)
    return Code(shuffles, tuple(found), barriers)


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "lshr": np.right_shift,
    "ashr": np.right_shift,
    "udiv": np.floor_divide,
    "sdiv": np.floor_divide,
    "urem": np.remainder,
    "srem": np.remainder,
}
_COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "slt": np.less, "ult": np.less, "sle": np.less_equal, "ule": np.less_equal,
    "sgt": np.greater, "ugt": np.greater, "sge": np.greater_equal, "uge": np.greater_equal,
}  # fmt: skip
_SAME = ("zext", "sext", "trunc", "bitcast", "ptrtoint", "inttoptr", "addrspacecast", "freeze", "extractvalue")
_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def _evaluated(operation: str, rest: str, values: Mapping[str, Numbers], lanes: int) -> Numbers | None:
    """The value of an operation on numbers, for all threads; None when it is none, or its operands are not known."""
    short = operation.rpartition(".")[2]
    if operation.endswith("mlir.constant"):
        match = re.match(r"\((-?\d+|true|false)\b", rest)
        if match is None or "dense" in rest:
            return None
        number = {"true": 1, "false": 0}.get(match[1])
        some = next(iter(values.values()), np.zeros(1, np.int64))
        return np.full_like(some, int(match[1]) if number is None else number)
    known = [values.get(one) for one in _VALUE.findall(rest)]
    if not known or any(one is None for one in known):
        return None
    operands = [one for one in known if one is not None]
    if short in _OPERATIONS and len(operands) == 2:
        return np.asarray(_OPERATIONS[short](*operands), np.int64)
    if short == "icmp" and (match := re.search(r'"(\w+)"', rest)):
        return _COMPARISONS[match[1]](*operands).astype(np.int64)
    if short == "select":
        return np.where(operands[0] != 0, operands[1], operands[2])
    if short == "getelementptr":
        return _pointer(rest, operands)
    if short == "readfirstlane":
        return np.repeat(operands[0].reshape(-1, lanes)[:, 0], lanes)
    return operands[0] if short in _SAME else None


def _pointer(rest: str, operands: list[Numbers]) -> Numbers | None:
    element = rest.rsplit(", ", 1)[-1].strip()
    index = re.search(r"\[([^\]]*)\]", rest)
    if element not in _SIZES or index is None:
        return None
    if re.fullmatch(r"-?\d+", index[1]):
        return operands[0] + int(index[1]) * _SIZES[element]
    return operands[0] + operands[1] * _SIZES[element] if len(operands) == 2 else None


def _accesses(operation: str, rest: str, values: Mapping[str, Numbers], warps: int) -> Iterator[SharedAccess]:
    """The access that an operation is, if it is one."""

    def by_warp(name: str) -> Numbers | None:
        value = values.get(name)
        return None if value is None else value.reshape(warps, -1)

    if operation == "llvm.inline_asm" and (match := _ASM.search(rest)):
        yield _assembly(match[1], [one.strip() for one in match[2].split(",")], by_warp)
    elif operation in ("nvvm.ldmatrix", "nvvm.stmatrix") and (pointer := _VALUE.search(rest)):
        count = int(found[1]) if (found := re.search(r"num = (\d)", rest)) else rest.count(" i32")
        rows = by_warp(pointer[0])
        kind = "load" if operation.endswith("ldmatrix") else "store"
        trans = ".trans" if "mma_layout<col>" in rest else ""
        name = f"{operation.removeprefix('nvvm.')}.x{max(1, count)}{trans}"
        yield SharedAccess(kind, name, 16, None if rows is None else rows[:, : 8 * max(1, count)])
    elif (found := _TRANSPOSING.search(f"{operation}{rest}")) and (pointer := _VALUE.search(rest)):
        yield SharedAccess("load", found[1], int(found[2]) // 8, by_warp(pointer[0]))
    elif operation in ("llvm.load", "llvm.store") and "!llvm.ptr<3>" in rest:
        names = _VALUE.findall(rest.split(":")[0].split("{")[0])
        kind = operation.removeprefix("llvm.")
        word = rest.rsplit("-> ", 1)[-1] if kind == "load" else rest.split(" : ")[-1].split(",")[0]
        size = _size(word.strip())
        yield SharedAccess(kind, f"{kind} {word.strip()}", size, by_warp(names[-1]) if size else None)


def _assembly(text: str, operands: list[str], by_warp: Callable[[str], Numbers | None]) -> SharedAccess:
    """A store or load of PTX: `@$2 st.shared::cta.v4.b32 [ $0 + 0 ], { ... };`."""
    predicate = re.match(r"@\$(\d+) ", text)
    instruction = text.split(" ")[1 if predicate else 0]
    place = re.search(r"\[\s*\$(\d+)(?:\s*\+\s*(\d+))?", text)
    width = re.search(r"\.[bufs](\d+)$", instruction)
    count = re.search(r"\.v(\d)", instruction)
    size = (int(width[1]) // 8 if width else 0) * (int(count[1]) if count else 1)
    found = by_warp(operands[int(place[1])]) if place and size and "cluster" not in instruction else None
    taking = by_warp(operands[int(predicate[1])]) if predicate else None
    if found is not None and place and place[2]:
        found = found + int(place[2])
    if predicate and taking is None:
        found = None
    kind = "store" if instruction.startswith("st") else "load"
    return SharedAccess(kind, instruction.replace("::cta", ""), size, found, None if taking is None else taking != 0)


def _size(text: str) -> int:
    """Bytes of a type; 0 when it is not known."""
    vector = re.fullmatch(r"vector<(\d+)x(\w+)>", text)
    if vector:
        return int(vector[1]) * _SIZES.get(vector[2], 0)
    return _SIZES.get(text, 0)
