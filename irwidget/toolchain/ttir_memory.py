"""How an executed kernel reaches memory: loads, stores, atomic operations, descriptors of tensors; each is watched."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from irwidget.toolchain.ttir_numbers import from_bits, rounded, to_bits, unsigned
from irwidget.toolchain.ttir_program import NotRead, Operation, Type

Function = Callable[..., Any]


class Watch(Protocol):
    """Is told of each access of an executed kernel to memory, before it happens: addresses, and bytes at each.

    It answers which of them there are, None for all: nothing happens at the others, where zeros are read.
    """

    line: int
    """That of the operation, in the text."""

    def placed(self, pointers: Any) -> Any:
        """The addresses that are accessed for those that the kernel names."""
        ...

    def read(self, pointers: Any, width: int) -> Any: ...
    def write(self, pointers: Any, width: int) -> Any: ...


@dataclass(frozen=True)
class Descriptor:
    """A tensor in memory of which blocks are loaded and stored."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    block: tuple[int, ...]
    element: Type
    nan: bool = False
    """What there is outside of it: NaN, or zero."""

    def places(self, offsets: Any) -> tuple[Any, Any]:
        """The addresses of the elements of a block, and which of them are inside of the tensor."""
        addresses: Any = np.array(self.base, dtype=np.int64)
        inside: Any = np.array(True)
        for axis, (offset, size) in enumerate(zip(offsets, self.block, strict=True)):
            at = int(offset) + np.arange(size, dtype=np.int64)
            at = at.reshape([-1 if one == axis else 1 for one in range(len(self.block))])
            addresses = addresses + at * self.strides[axis] * self.element.width
            inside = inside & (at >= 0) & (at < self.shape[axis])
        return addresses.astype(np.uint64), np.broadcast_to(inside, addresses.shape)


_FIRST = np.uint64(4096)
"""An address before all that can be accessed."""


class _Process:
    """The memory of this process as NumPy takes it for an array: an element may begin at any address."""

    def __init__(self, dtype: np.dtype[np.generic]) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "data": (int(_FIRST), False),
            "shape": (1 << 59,),  # more addresses than a process has
            "strides": (1,),
        }


@functools.cache
def _process(dtype: np.dtype[np.generic]) -> Any:
    """The elements at all addresses, the first one at `_FIRST`."""
    return np.asarray(_Process(dtype))


class Memory:
    """The memory of this process, with a watch in front."""

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch
        self.compared = 0
        """How many look whether what is written was there before."""
        self.changes = 0
        """How often it was not, while somebody looked."""

    def load(self, pointers: Any, kind: Type, mask: Any = None, other: Any = None) -> Any:
        """Elements; where the mask is false `other`, or zero."""
        pointers, inside = self._chosen(pointers, mask)
        flat, there = pointers[inside], None
        if self._watch is not None:
            flat = self._watch.placed(flat)
            there = self._watch.read(flat, kind.width)
        if inside is ...:
            return from_bits(self._read(flat, kind, there), kind)
        bits = np.zeros(pointers.shape, dtype=kind.bits_dtype)
        bits[inside] = self._read(flat, kind, there)
        values = from_bits(bits, kind)
        return values if other is None else np.where(inside, values, other)

    def store(self, pointers: Any, values: Any, kind: Type, mask: Any = None) -> None:
        """Write elements where the mask is true."""
        pointers, inside = self._chosen(pointers, mask)
        flat, given = pointers[inside], np.broadcast_to(values, pointers.shape)[inside]
        if self._watch is not None:
            flat = self._watch.placed(flat)
            there = self._watch.write(flat, kind.width)
            flat, given = (flat, given) if there is None else (flat[there], given[there])
        self._write(flat, given, kind)

    def change(self, pointers: Any, kind: Type, how: Callable[[Any, Any], Any], values: Any, mask: Any = None) -> Any:
        """What was there, where `how`, of that and of the values, is written; one element after the other."""
        pointers = np.asarray(pointers)
        inside = np.broadcast_to(True if mask is None else mask, pointers.shape)
        flat = pointers[inside]
        given = np.broadcast_to(values, pointers.shape)[inside]
        found = np.zeros(pointers.shape, dtype=kind.dtype)
        if self._watch is not None:
            flat = self._watch.placed(flat)
            self._watch.read(flat, kind.width)
            if (there := self._watch.write(flat, kind.width)) is not None:
                inside = inside.copy()
                inside[inside] = there
                flat, given = flat[there], given[there]
        if len(np.unique(flat)) == len(flat):
            before = from_bits(self._read(flat, kind), kind)
            self._write(flat, how(before, given), kind)
        else:
            before = np.zeros(len(flat), dtype=kind.dtype)
            for one in range(len(flat)):
                here = slice(one, one + 1)
                before[here] = from_bits(self._read(flat[here], kind), kind)
                self._write(flat[here], how(before[here], given[here]), kind)
        found[inside] = before
        return found

    def at(self, line: int, access: Function) -> Function:
        """The same, at a line of the text that the watch knows."""
        watch = self._watch
        if watch is None:
            return access

        def located(*given: Any) -> Any:
            watch.line = line
            return access(*given)

        return located

    @staticmethod
    def _chosen(pointers: Any, mask: Any) -> tuple[Any, Any]:
        """An array, and the index of its elements that a mask leaves."""
        pointers = np.asarray(pointers)
        return pointers, ... if mask is None or mask.all() else np.broadcast_to(mask, pointers.shape)

    def _read(self, flat: Any, kind: Type, there: Any = None) -> Any:
        if there is not None:
            bits = np.zeros(flat.shape, dtype=kind.bits_dtype)
            bits[there] = self._read(flat[there], kind)
            return bits
        return _process(kind.bits_dtype)[(flat - _FIRST).view(np.int64)]

    def _write(self, flat: Any, values: Any, kind: Type) -> None:
        bits = to_bits(np.asarray(values).astype(kind.dtype), kind)
        if self.compared:
            self.changes += not np.array_equal(to_bits(from_bits(self._read(flat, kind), kind), kind), bits)
        _process(kind.bits_dtype)[(flat - _FIRST).view(np.int64)] = bits


_CHANGES: dict[str, Function] = {
    "fadd": np.add,
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda there, most: np.where(there >= most, 0, there + 1),
    "dec": lambda there, most: np.where((there == 0) | (there > most), most, there - 1),
    "exch": lambda there, given: given,
}


def in_memory(op: Operation, memory: Memory) -> Function | None:
    """What executes an operation on memory, of arrays of the operands; None where it is no such operation."""
    match op.name:
        case "tt.load":
            kind = Type(op.made[0].element, (), op.made[0].to)
            return lambda pointers, mask=None, other=None: memory.load(pointers, kind, mask, other)
        case "tt.store":
            kind = op.types[1]
            return lambda pointers, values, mask=None: memory.store(pointers, values, kind, mask)
        case "tt.addptr":
            assert op.types[0].to is not None
            width = op.types[0].to.width
            return lambda pointers, offsets: pointers + (offsets.astype(np.int64) * width).astype(np.uint64)
        case "tt.atomic_rmw":
            how, kind = _changing(_first_word(op), op.types[1]), op.types[1]
            return lambda pointers, values, mask=None: memory.change(pointers, kind, how, values, mask)
        case "tt.atomic_cas":
            return _exchanging(op, memory)
        case _ if "descriptor" in op.name:
            return _by_descriptor(op, memory)
        case _:
            return None


def _first_word(op: Operation) -> str:
    match = re.match(r"\s*(\w+)", op.text)
    return match[1] if match else ""


def _changing(name: str, kind: Type) -> Callable[[Any, Any], Any]:
    if name not in _CHANGES:
        raise NotRead(f"atomic {name} is not executed")
    change = _CHANGES[name]
    if name[0] == "u" or name in ("inc", "dec"):
        return lambda there, given: change(unsigned(there), unsigned(given)).view(kind.dtype)
    return lambda there, given: rounded(change(there, given), kind) if kind.is_float else change(there, given)


def _exchanging(op: Operation, memory: Memory) -> Function:
    kind = op.types[2]

    def exchange(pointers: Any, expected: Any, values: Any) -> Any:
        pointers = np.asarray(pointers)
        found = np.zeros(pointers.shape, dtype=kind.dtype)
        wanted, given = np.broadcast_to(expected, pointers.shape), np.broadcast_to(values, pointers.shape)
        for one in np.ndindex(pointers.shape):
            is_bits = to_bits(wanted[one], kind)

            def how(there: Any, new: Any, is_bits: Any = is_bits) -> Any:
                return np.where(to_bits(there, kind) == is_bits, new, there)

            found[one] = memory.change(pointers[one], kind, how, given[one])
        return found

    return exchange


def _by_descriptor(op: Operation, memory: Memory) -> Function:
    """What executes an operation on a tensor descriptor."""
    name = op.name.removeprefix("tt.").removeprefix("descriptor_")
    rank = len(op.made[0].shape) if op.made else 0

    def make(base: Any, *sizes: Any) -> Descriptor:
        kind = op.made[0]
        assert kind.to is not None
        whole = tuple(map(int, sizes))
        shape, strides = whole[:rank], whole[rank : 2 * rank]
        nan = bool(re.search(r"padding = (2|pad_nan|nan)", op.text, re.IGNORECASE))
        return Descriptor(int(base), shape, strides, kind.shape, kind.to, nan)

    def load(tensor: Descriptor, *offsets: Any) -> Any:
        pointers, inside = tensor.places(offsets)
        other = np.array(np.nan if tensor.nan and tensor.element.is_float else 0, dtype=tensor.element.dtype)
        return memory.load(pointers, tensor.element, inside, other).reshape(op.made[0].shape)

    def store(tensor: Descriptor, *given: Any) -> None:
        *offsets, values = given
        pointers, inside = tensor.places(offsets)
        memory.store(pointers, values.reshape(pointers.shape), tensor.element, inside)

    def reduce(tensor: Descriptor, *given: Any) -> None:
        *offsets, values = given
        pointers, inside = tensor.places(offsets)
        without_sign = "u" if _first_word(op) in ("min", "max") and re.search("[x<]ui", op.text) else ""
        how = _changing(without_sign + _first_word(op), tensor.element)
        memory.change(pointers, tensor.element, how, values.reshape(pointers.shape), inside)

    def gather(tensor: Descriptor, rows: Any, column: Any) -> Any:
        return np.concatenate([load_row(tensor, row, column) for row in rows])

    def load_row(tensor: Descriptor, row: Any, column: Any) -> Any:
        pointers, inside = tensor.places((row, column))
        return memory.load(pointers, tensor.element, inside, np.array(0, dtype=tensor.element.dtype))

    def scatter(tensor: Descriptor, rows: Any, column: Any, values: Any) -> None:
        for row, line in zip(rows, values, strict=True):
            store(tensor, row, column, line)

    known: dict[str, Function] = {
        "make_tensor_descriptor": make,
        "load": load,
        "store": store,
        "reduce": reduce,
        "gather": gather,
        "scatter": scatter,
    }
    if name not in known:
        raise NotRead(f"{op.name} is not executed")
    return known[name]
