"""What a kernel that the CPU executes reads and writes: only its tensors, and of these what was written?"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from irwidget.frontends.triton.memory import MEASURED, Memory
from irwidget.frontends.triton.scopes import replaced

FILLS = (0xFB, 0x7B, 0xFF)
"""What bytes are given that nothing has written: floats far below and above others, and NaN."""


APART = 1 << 50
"""Bytes between memories as a kernel is told their addresses: more than a process has."""


class Astray(Exception):
    """A kernel that is executed again reaches outside of its tensors, or comes to no end."""


@dataclass(frozen=True)
class State:
    """What memories hold, as arrays of bytes."""

    values: Sequence[Any]
    masks: Sequence[Any]
    """Which bytes are written, one number a byte; None: all."""

    def differs(self, other: State) -> bool:
        """Whether other bytes are written, or hold something else."""
        return any(map(_differ, self.values, other.values, self.masks, other.masks))


def _differ(one: Any, other: Any, mask: Any, others: Any) -> bool:
    if mask is None:
        return bool((one != other).any())
    return bool((mask != others).any() or ((one != other) & (mask != 0)).any())


class _Repeated:
    """What a kernel reads of memory before it writes there, each byte by itself."""

    def __init__(self, before: Any) -> None:
        self._before = before.copy()
        self._written = before.astype(bool) & False
        self._read_first = self._written.copy()

    def read(self, offsets: Any, width: int) -> None:
        for byte in range(width):
            self._read_first[offsets + byte] |= ~self._written[offsets + byte]

    def write(self, offsets: Any, width: int) -> None:
        for byte in range(width):
            self._written[offsets + byte] = True

    def differs(self, after: Any) -> bool:
        """Whether any of what it read first is another one `after` it."""
        return bool((self._read_first & (self._before != after)).any())


class Reached:
    """Looks at each access of a kernel to memory; `doubt` is told what leaves its result to chance.

    The kernel, called `name`, may access `memories`, and write `writable` of them. Of those that an autotuner has
    `measured` with, it may not read first what it then changes.
    """

    def __init__(
        self,
        name: str,
        memories: Iterable[Memory],
        writable: Iterable[Memory],
        doubt: Callable[[str], None],
        measured: Iterable[Memory] = (),
    ) -> None:
        import numpy

        self.np: Any = numpy
        self.name = name
        self._tell = doubt
        self.doubted = False
        self.memories = sorted(dict.fromkeys(memories), key=lambda one: one.allocated().data_ptr())
        self.memories = [one for one in self.memories if one.nbytes]
        self.writable = set(writable)
        self.starts = self._numbers(one.allocated().data_ptr() for one in self.memories)
        self.sizes: Any = numpy.array([one.nbytes for one in self.memories], dtype=numpy.int64)
        self.masks = [None if one.written is None else one.written.numpy() for one in self.memories]
        self.measured = {
            number: _Repeated(one.bytes()) for number, one in enumerate(self.memories) if one in set(measured)
        }
        self.stored: set[Memory] = set()
        """What it has written into, the same bytes perhaps that were there."""
        self.unwritten = False
        """Whether it has read what nothing has written."""
        self.line = 0
        """That of its TTIR which runs."""
        self.where: Callable[[int], object] = lambda line: ""
        """Gives the place in the user's code of a line of its TTIR, if there is one."""
        self.outside: dict[tuple[int, str], str] = {}
        """What it does outside of its tensors, in words, by line."""
        self._accesses, self._most = 0, math.inf
        self._apart = [(number + 1) * APART + int(start) for number, start in enumerate(self.starts)]
        told = [(one.address, one) for one in self.memories if one.address]
        told = [*sorted(told, key=lambda one: one[0]), *zip(self._apart, self.memories, strict=True)]
        self.told_starts = self._numbers(begins for begins, _ in told)
        """Where memory begins by what host code was told, and by what the kernel is (`apart`)."""
        self.told_ends = self._numbers(begins + one.nbytes for begins, one in told)
        self.told_places = self._numbers(one.allocated().data_ptr() for _, one in told)

    def doubt(self, reason: str) -> None:
        """Its results are left to chance."""
        self.doubted = True
        self._tell(reason)

    def _numbers(self, values: Iterable[int]) -> Any:
        return self.np.array([*values], dtype=self.np.uint64)

    def apart(self, pointer: int) -> int:
        """An address for one of a tensor, such that none of another tensor's is near it."""
        number = int(self.np.searchsorted(self.starts, self.np.uint64(pointer), side="right")) - 1
        inside = number >= 0 and pointer <= int(self.starts[number]) + int(self.sizes[number])
        return pointer - int(self.starts[number]) + self._apart[number] if inside else pointer

    def placed(self, pointers: Any) -> Any:
        """Addresses in this process for those that host code was told; others as they are."""
        if not self.told_starts.size:
            return pointers
        np = self.np
        given = np.asarray(pointers, dtype=np.uint64)
        number = np.maximum(np.searchsorted(self.told_starts, given, side="right").astype(np.int64) - 1, 0)
        inside = (given >= self.told_starts[number]) & (given < self.told_ends[number])
        return np.where(inside, given - self.told_starts[number] + self.told_places[number], given)

    def read(self, pointers: Any, width: int) -> Any:
        """The addresses that one operation reads, `width` bytes each. Gives which lie in tensors, None for all."""
        places, there = self._places(pointers, width, "reads")
        for number, offsets in places:
            mask = self.masks[number]
            if mask is not None and not all(mask[offsets + byte].all() for byte in range(width)):
                self.unwritten = True
            if number in self.measured:
                self.measured[number].read(offsets, width)
        return there

    def write(self, pointers: Any, width: int) -> Any:
        """Those that one writes."""
        places, there = self._places(pointers, width, "writes")
        for number, offsets in places:
            self.stored.add(self.memories[number])
            if self.memories[number] not in self.writable:
                self.doubt(f"{self.name} writes where its TTIR does not")
            mask = self.masks[number]
            if mask is not None:
                for byte in range(width):
                    mask[offsets + byte] = 1
            if number in self.measured:
                self.measured[number].write(offsets, width)
        return there

    def _places(self, pointers: Any, width: int, does: str) -> tuple[list[tuple[int, Any]], Any]:
        """The memories that addresses lie in, by number, with the offsets there; which lie in any, None for all."""
        self._accesses += 1
        if self._accesses > self._most:
            raise Astray
        np = self.np
        shape = np.shape(pointers)
        flat = np.asarray(pointers, dtype=np.uint64).reshape(-1)
        if flat.size == 0:
            return [], None
        if not self.memories:
            self._outside(does)
            return [], np.zeros(shape, dtype=bool)
        first, last = np.searchsorted(self.starts, [flat.min(), high := flat.max()], side="right") - 1
        if first == last >= 0 and high - self.starts[first] + width <= self.memories[first].nbytes:
            return [(int(first), (flat - self.starts[first]).view(np.int64))], None
        found = np.searchsorted(self.starts, flat, side="right").astype(np.int64) - 1
        offsets = (flat - self.starts[found]).view(np.int64)
        there = (found >= 0) & (offsets >= 0) & (offsets + width <= self.sizes[found])
        if not there.all():
            self._outside(does)
        places = [(int(number), offsets[there & (found == number)]) for number in np.unique(found[there])]
        return places, None if there.all() else there.reshape(shape)

    def _outside(self, does: str) -> None:
        """Note, once for each operation, that it does this outside."""
        if (self.line, does) in self.outside:
            return
        place = self.where(self.line)
        said = f"{does} outside of its tensors" + (f" at {place}" if place else "")
        self.outside[self.line, does] = said
        self.doubt(f"{self.name} {said}")

    def state(self) -> State:
        """What its memories hold."""
        masks = [None if one is None else one.copy() for one in self.masks]
        return State([one.bytes().copy() for one in self.memories], masks)

    def restore(self, state: State, fill: int | None = None) -> None:
        """Have its memories hold this, and bytes that nothing has written `fill`."""
        for memory, mask, values, written in zip(self.memories, self.masks, state.values, state.masks, strict=True):
            memory.bytes()[:] = values
            if mask is not None:
                mask[:] = written
                if fill is not None:
                    memory.bytes()[written == 0] = fill

    @contextmanager
    def executed_again(self) -> Generator[None]:
        """While it lasts, Astray is raised where it reaches outside, or accesses memory far more often than before."""

        def astray(_: str) -> None:
            raise Astray

        most, self._accesses = 2 * self._accesses + 1000, 0
        with replaced(self, "_tell", astray), replaced(self, "_most", most), replaced(self, "outside", {}):
            yield

    def again(self) -> None:
        """Say where the kernel, launched again on what it leaves, would find something else."""
        for number, one in self.measured.items():
            if one.differs(self.memories[number].bytes()):
                self.doubt(f"{self.name} {MEASURED}")

    def settle(self) -> None:
        """Note what was written, where there is no doubt of it."""
        self.again()
        for memory in self.memories:
            memory.mark_as_written(memory.written)
