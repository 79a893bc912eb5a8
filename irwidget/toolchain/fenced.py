"""Memory with fences: what a program writes beside a buffer is noticed, and what it reads there is no plausible number.

For compiled programs under test, in a process that ends with them.
"""

from __future__ import annotations

import ctypes
from ctypes import util
from typing import Any

_FENCE = 256
"""Bytes before and after a buffer: more than the alignment that compilers ask for."""
_FILL = 0xA5
"""What fences and memory that nobody has written hold."""


class FencedMemory:
    """Buffers with fences, and a `malloc` and `free` that compiled code can be given."""

    def __init__(self) -> None:
        self._blocks: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self.broken = False
        """Whether a fence was written over."""
        self._malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(self.allocate)
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._release)

    def allocate(self, size: int) -> int:
        """The address of so many bytes, filled with a pattern."""
        block = (ctypes.c_char * (size + 2 * _FENCE))()
        ctypes.memset(block, _FILL, len(block))
        address = ctypes.addressof(block) + _FENCE
        self._blocks[address], self._sizes[address] = block, size
        return address

    def hold(self, data: bytes) -> int:
        """The address of a copy of some bytes."""
        address = self.allocate(len(data))
        ctypes.memmove(address, data, len(data))
        return address

    def check(self) -> bool:
        """Whether all fences stand, those of buffers that were released too."""
        for address in self._blocks:
            self._look(address)
        return not self.broken

    def symbols(self) -> list[tuple[str, int]]:
        """The functions by the names that compiled code calls."""
        named = {"malloc": self._malloc, "free": self._free}
        return [(name, ctypes.cast(function, ctypes.c_void_p).value or 0) for name, function in named.items()]

    def _look(self, address: int) -> None:
        fence = bytes([_FILL]) * _FENCE
        after = ctypes.string_at(address + self._sizes[address], _FENCE)
        self.broken = self.broken or ctypes.string_at(address - _FENCE, _FENCE) != fence or after != fence

    def _release(self, address: int | None) -> None:
        if address in self._blocks:
            self._look(address)
            del self._blocks[address], self._sizes[address]
        elif address is not None:
            self.broken = True


def library(name: str) -> Any:
    """A library of the system by its short name. Raises OSError when there is none."""
    return ctypes.CDLL(util.find_library(name))
