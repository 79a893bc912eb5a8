"""The text of TTIR as what can be executed: functions, blocks, operations, with the types of their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np


class NotRead(NotImplementedError):
    """A line of TTIR that is not understood."""


@dataclass(frozen=True)
class Type:
    """The type of a value."""

    element: str
    """`i32`, `f16`, `f8E4M3FN`; `ptr` of a pointer, `desc` of a tensor descriptor."""
    shape: tuple[int, ...] = ()
    """Empty for a scalar; of a descriptor, that of its blocks."""
    to: Type | None = None
    """What a pointer points to, or the elements of a descriptor."""

    @cached_property
    def bits(self) -> int:
        """Of one element; an address has 64."""
        return 64 if self.element == "ptr" else int(re.findall(r"\d+", self.element)[0])

    @cached_property
    def width(self) -> int:
        """Bytes of one element in memory."""
        return max(1, self.bits // 8)

    @cached_property
    def is_float(self) -> bool:
        return "f" in self.element and self.element != "desc"

    @cached_property
    def is_integer(self) -> bool:
        return self.element.startswith("i")

    @cached_property
    def bits_dtype(self) -> np.dtype[np.generic]:
        """NumPy's type of the bits of an element."""
        return np.dtype(f"u{self.width}")

    @cached_property
    def dtype(self) -> np.dtype[np.generic]:
        """NumPy's type of what is computed with: floats that NumPy does not have are kept as float32."""
        if self.element == "i1":
            return np.dtype(bool)
        if self.element == "ptr":
            return np.dtype(np.uint64)
        if self.is_integer:
            return np.dtype(f"i{self.width}")
        return np.dtype(f"f{self.width}" if self.element in ("f16", "f32", "f64") else "f4")

    def of(self, element: str) -> Type:
        """Elements of another type in the same shape."""
        return Type(element, self.shape)


@dataclass(slots=True)
class Operation:
    """One operation."""

    name: str
    operands: list[str]
    types: list[Type]
    """Of the operands."""
    results: list[str]
    made: list[Type]
    """The types of the results."""
    text: str
    """What stands behind the name: operands, attributes, predicates, types."""
    line: int
    """Which one of the text, without those of locations, from 0."""
    regions: list[list[Block]] = field(default_factory=list["list[Block]"])
    places: list[tuple[str, list[str]]] = field(default_factory=list["tuple[str, list[str]]"])
    """Of a branch: the blocks that it goes to, with their arguments."""


@dataclass(slots=True)
class Block:
    name: str
    arguments: list[str]
    operations: list[Operation] = field(default_factory=list[Operation])


@dataclass(slots=True)
class Function:
    name: str
    arguments: list[tuple[str, Type]]
    blocks: list[Block]


_PLACE = re.compile(r' loc\((?:unknown|#loc\d*|"[^"]*"\(#loc\d*\))\)')
_SHAPE = re.compile(r"((?:\d+x)*)(.*)$")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_PARAMETER = re.compile(r"(%[\w$.-]+): (!?[\w.]+(?:<[^>]*>+)?)")
_FUNCTION = re.compile(r'tt\.func (?:\w+ )?@("[^"]*"|[^(]+)\(')
_OPERATION = re.compile(r'(?:(%[^=]*?) = )?"?([\w.]+)"?(.*)$')
_BLOCK = re.compile(r"\^(\w+)(?:\((.*)\))?:")
_BRANCH = re.compile(r"\^(\w+)(?:\(([^:)]*)[^)]*\))?")
_INITIAL = re.compile(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def functions(ttir: str) -> dict[str, Function]:
    """The functions of a module by name, the kernel first. Raises NotRead."""
    return _Reader(ttir).functions()


def needed(function: Function, others: Mapping[str, Function]) -> set[str]:
    """The names that what has an effect is made from: what else a function computes, its compilation leaves out.

    `others` are those that it may call. Loads are made for nothing else than their results, but for volatile ones
    (`LoadOp` in Triton's `TritonOps.td`).
    """
    every = list(_operations(function.blocks))
    found: set[str] = set()
    count = -1
    while count < len(found):  # blocks may stand in any order
        count = len(found)
        for op in reversed(every):
            if not is_pure(op) or not found.isdisjoint(op.results):
                found.update(_looked_at(op, others), *(given for _, given in op.places))
    return found


def only_reduced(function: Function) -> set[str]:
    """The names of reshaped tensors that nothing but reductions use, whose result does not depend on their order.

    Those of `tl.sum(x)`: a reduction over all axes. If another operand of it keeps its order, the order matters.
    """
    every = list(_operations(function.blocks))
    reshaped = {one for op in every if op.name == "tt.reshape" for one in op.results}
    reshaped.difference_update(one for op in every if op.name != "tt.reshape" for one in op.results)  # by the same name
    for op in every:
        if op.name != "tt.reduce" or not reshaped.issuperset(op.operands):
            reshaped.difference_update(op.operands, *(given for _, given in op.places))
    return reshaped


def callee(op: Operation) -> str:
    """The name of the function that an operation calls. Raises NotRead."""
    match = re.match(r'\s*@("[^"]*"|[^(]+)\(', op.text)
    if match is None:
        raise NotRead(f"the call {op.text[:60]} is not understood")
    return match[1].strip('"')


def _looked_at(op: Operation, others: Mapping[str, Function]) -> Iterator[str]:
    """The operands that an operation computes with."""
    called = others.get(callee(op)) if op.name == "tt.call" else None
    if called is None:
        yield from op.operands
    else:
        used = needed(called, others)
        yield from (one for one, (name, _) in zip(op.operands, called.arguments, strict=True) if name in used)


_PURE = re.compile(
    r"arith\.|math\.|tt\.(load|addptr|splat|broadcast|expand_dims|reshape|trans|join|split|make_range|bitcast|fp_to_fp|"
    r"int_to_ptr|ptr_to_int|get_program_id|get_num_programs|make_tensor_ptr|advance|descriptor_load)\b"
)


def is_pure(op: Operation) -> bool:
    """Whether an operation is made for nothing else than its results."""
    return bool(_PURE.match(op.name)) and "isVolatile = true" not in op.text


def _operations(blocks: Sequence[Block]) -> Iterator[Operation]:
    """All operations in their order, those of regions before the operation that they are in."""
    for op in (op for block in blocks for op in block.operations):
        for region in op.regions:
            yield from _operations(region)
        yield op


def type_of(text: str) -> Type:
    """`tensor<4x!tt.ptr<f32>>` as a type. Raises NotRead."""
    text = text.strip()
    if text.startswith("tensor<"):
        sizes, element = _split_shape(_inside(text))
        inner = type_of(element)
        return Type(inner.element, sizes, inner.to)
    if text.startswith(("!tt.ptr<", "<")):
        return Type("ptr", (), type_of(_inside(text).partition(",")[0]))
    if text.startswith("!tt.tensordesc<"):
        inside = _inside(text).removeprefix("tensor<")
        sizes, element = _split_shape(inside.rstrip(">").partition(",")[0])
        return Type("desc", sizes, type_of(element))
    if match := re.fullmatch(r"[us]?(i\d+)|(b?f\d\w*)", text):
        return Type(match[1] or match[2])
    raise NotRead(f"the type {text} is not known")


def _inside(text: str) -> str:
    return text[text.index("<") + 1 : text.rindex(">")]


def _split_shape(text: str) -> tuple[tuple[int, ...], str]:
    """The sizes, and the element."""
    sizes, element = _SHAPE.findall(text)[0]
    return tuple(map(int, sizes.split("x")[:-1])), element


class _Reader:
    def __init__(self, ttir: str) -> None:
        lines = _PLACE.sub("", ttir).splitlines()
        self._lines = [line.strip() for line in lines if not line.startswith("#loc")]
        self._at = 0
        self._types: dict[str, Type] = {}

    def functions(self) -> dict[str, Function]:
        found: dict[str, Function] = {}
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if match := _FUNCTION.match(line):
                name = match[1].strip('"')
                found[name] = self._function(name, line[match.end() :])
        if not found:
            raise NotRead("there is no function")
        return found

    def _function(self, name: str, header: str) -> Function:
        self._types = {}
        arguments = [(one, type_of(kind)) for one, kind in _PARAMETER.findall(header)]
        self._types.update(arguments)
        blocks, _ = self._region([])
        return Function(name, arguments, blocks)

    def _region(self, arguments: list[str]) -> tuple[list[Block], str]:
        """The blocks up to the line that ends them, and this line."""
        blocks = [Block("bb0", arguments)]
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith("}"):
                return blocks, line
            if match := _BLOCK.match(line):
                parameters = _PARAMETER.findall(match[2] or "")
                self._types.update((one, type_of(kind)) for one, kind in parameters)
                block = Block(match[1], [one for one, _ in parameters])
                if match[1] == "bb0" and not blocks[0].operations:
                    blocks[0] = block
                else:
                    blocks.append(block)
            elif line and not line.startswith("//"):
                blocks[-1].operations.append(self._operation(line))
        raise NotRead("the text ends within a function")

    def _operation(self, line: str) -> Operation:
        match = _OPERATION.match(line)
        if match is None:
            raise NotRead(f"{line[:80]} is not understood")
        results, name, rest = result_names(match[1] or ""), match[2], match[3]
        made = Operation(name, [], [], results, [], rest, self._at - 1)
        if name == "scf.for":
            return self._loop(made, rest)
        if name == "scf.while":
            return self._while(made, rest)
        if name == "scf.if":
            made.operands = _VALUE.findall(rest.partition("{")[0])
            ended = self._into(made, [])
            if ended.startswith("} else"):
                self._into(made, [])
            return self._typed(made, _kinds(rest.rpartition("{")[0].partition("->")[2]))
        plain = _QUOTED.sub('""', rest)
        made.operands = _VALUE.findall(plain)
        if rest.endswith("({"):
            plain = self._into(made, [])
        if name in ("cf.br", "cf.cond_br"):
            made.places = [(block, _VALUE.findall(given)) for block, given in _BRANCH.findall(rest)]
            made.operands = made.operands[: name == "cf.cond_br"]
        _, colon, kinds = plain.rpartition(" : ")
        return self._typed(made, self._made(made, kinds if colon else ""))

    def _made(self, op: Operation, kinds: str) -> list[Type]:
        """The types of what an operation gives, by the types that stand at its end."""
        if not op.results:
            return []
        if not kinds:
            return [Type("i1")]  # arith.constant true
        if op.name == "tt.make_tensor_descriptor":
            return [type_of("!tt.tensordesc" + kinds.rpartition(", ")[2].removeprefix("!tt.tensordesc"))]
        _, arrow, after = kinds.rpartition(" -> ")
        if not arrow:
            _, arrow, after = kinds.rpartition(" to ")
        found = _kinds(after if arrow else kinds)
        if arrow:
            return found if len(found) >= len(op.results) else found * len(op.results)
        if op.name in ("arith.cmpi", "arith.cmpf"):
            return [found[0].of("i1")]
        if op.name == "tt.load":
            assert found[0].to is not None
            return [Type(found[0].to.element, found[0].shape, found[0].to.to)]
        return [found[0] if op.name == "tt.addptr" else found[-1]] * len(op.results)

    def _typed(self, op: Operation, made: list[Type]) -> Operation:
        op.made = made
        op.types = [self._types[one] for one in op.operands]
        self._types.update(zip(op.results, made, strict=True))
        return op

    def _into(self, op: Operation, arguments: list[str]) -> str:
        blocks, ended = self._region(arguments)
        op.regions.append(blocks)
        return ended

    def _loop(self, op: Operation, rest: str) -> Operation:
        head, _, _ = rest.partition(" iter_args(")
        carried = _INITIAL.findall(rest.partition(" iter_args(")[2])
        variable, *bounds = _VALUE.findall(head.partition(" : ")[0])
        op.operands = [*bounds, *(first for _, first in carried)]
        self._types[variable] = self._types[bounds[0]]
        op.text = "unsigned" if head.startswith(" unsigned") else ""
        made = [self._types[first] for _, first in carried]
        self._types.update((name, kind) for (name, _), kind in zip(carried, made, strict=True))
        self._into(op, [variable, *(name for name, _ in carried)])
        return self._typed(op, made)

    def _while(self, op: Operation, rest: str) -> Operation:
        carried = _INITIAL.findall(rest)
        op.operands = [first for _, first in carried]
        self._types.update((name, self._types[first]) for name, first in carried)
        self._into(op, [name for name, _ in carried])
        self._into(op, [])
        return self._typed(op, _kinds(rest.removesuffix("{").rpartition(" -> ")[2]) if op.results else [])


def _kinds(text: str) -> list[Type]:
    """Types that are separated by commas."""
    return [type_of(one) for one in _split(text.strip().removeprefix("(").removesuffix(")"))]


def _split(text: str) -> Iterator[str]:
    depth, begin = 0, 0
    for at, char in enumerate(text):
        depth += (char in "<(") - (char in ">)")
        if char in ",*" and depth == 0:
            yield text[begin:at]
            begin = at + 1
    if text[begin:].strip():
        yield text[begin:]


def result_names(text: str) -> list[str]:
    """`%a, %b:2` as the names that they are used by: `%a`, `%b#0`, `%b#1`."""
    found: list[str] = []
    for one in filter(None, text.split(", ")):
        name, _, count = one.partition(":")
        found += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return found
