"""What addresses in a kernel's arguments point to, brought to the copy of memory that its module runs on, and back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from irwidget.errors import UsageError
from irwidget.helion import private

_MEMORY = "/proc/self/mem"
"""This process's memory as a file: an address that is none is an error, and no crash."""


_ACCESSES = ("load", "store")


def stacked(graphs: list[Any]) -> dict[torch.dtype, bool]:
    """The dtypes of the stacks that graphs of a kernel read and write, and of each whether one is written."""
    found: dict[torch.dtype, bool] = {}
    for info in graphs:
        for node in info.graph.nodes:
            target = private.target_name(node.target)
            if node.op == "call_function" and target in _ACCESSES and isinstance(node.args[0], (list, tuple)):
                dtype = node.args[0][0].meta["val"].dtype
                found[dtype] = found.get(dtype, False) or target == "store"
    return found


@dataclass(frozen=True)
class Piece:
    """Bytes of this process that stand somewhere in the copy."""

    address: int
    count: int
    start: int
    """Where in the copy they begin."""


@dataclass
class Pointed:
    """The pieces that addresses point into."""

    known: Sequence[Piece]
    """What is in the copy anyway: the tensors of the kernel."""
    count: int
    """Bytes that each address stands for."""
    copied: list[Piece]
    """What is copied besides."""
    size: int
    """Bytes of the copy, with what is copied."""

    def place(self, address: int) -> int:
        """Where in the copy an address is."""
        for piece in (*self.known, *self.copied):
            if piece.address <= address and address + self.count <= piece.address + piece.count:
                return piece.start + address - piece.address
        raise UsageError(f"{address:#x} is the address of no whole tensor.")


def pointed(addresses: Sequence[int], count: int, known: Sequence[Piece], size: int) -> Pointed:
    """Find a place for `count` bytes at each of the addresses, behind the `size` bytes that the copy has."""
    found = Pointed(known, count, [], size)
    missing: list[list[int]] = []
    for address in sorted(set(addresses)):
        if any(one.address <= address and address + count <= one.address + one.count for one in known):
            continue
        if missing and address <= missing[-1][1]:
            missing[-1][1] = address + count  # tensors that share memory share it in the copy
        else:
            missing.append([address, address + count])
    for begin, end in missing:
        start = (found.size + 63) // 64 * 64 + begin % 64
        found.copied.append(Piece(begin, end - begin, start))
        found.size = start + end - begin
    return found


def read(piece: Piece, into: Any) -> None:
    """Copy a piece of this process's memory. Raises UsageError for what is no memory."""
    with _opened(os.O_RDONLY) as memory:
        try:
            data = os.pread(memory.number, piece.count, piece.address)
        except (OSError, OverflowError):
            data = b""
    if len(data) != piece.count:
        raise UsageError(
            f"The kernel reads tensors by address, and {piece.address:#x} is the address of no {piece.count} bytes "
            "of this process: give the data_ptr() of CPU tensors that are alive."
        )
    into[piece.start : piece.start + piece.count] = data


def write(piece: Piece, data: Any) -> None:
    """Copy a piece back."""
    with _opened(os.O_WRONLY) as memory:
        os.pwrite(memory.number, bytes(data[piece.start : piece.start + piece.count]), piece.address)


class _opened:
    def __init__(self, how: int) -> None:
        try:
            self.number = os.open(_MEMORY, how)
        except OSError as error:
            raise UsageError(f"Kernels that read tensors by address run on Linux only: {error}") from None

    def __enter__(self) -> _opened:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.number)
