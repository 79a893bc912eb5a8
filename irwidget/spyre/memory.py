"""The reference executor's memory: byte-addressed device tensors, the pool and the scratchpads, with owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from irwidget.errors import IRWidgetError

Integers = npt.NDArray[np.int64]


class TileError(IRWidgetError):
    """A tile broke a rule of the memory: what a card would do silently wrong."""


@dataclass(frozen=True, slots=True)
class Region:
    """Byte addresses of a tile's elements: a base, and what each axis adds to it."""

    base: int
    axes: tuple[Integers, ...]
    """Per axis the bytes that each of its positions adds."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def first(self) -> int:
        """The address of the first element."""
        return self.base + sum(int(axis[0]) for axis in self.axes)

    def moved(self, by: int) -> Region:
        """The same, so many bytes further."""
        return Region(self.base + by, self.axes)

    def addresses(self) -> Integers:
        """All of them, over the axes."""
        at = np.full((1,) * len(self.axes), self.base, np.int64)
        for i, axis in enumerate(self.axes):
            at = at + along(axis, i, len(self.axes))
        return at


Place = Region | Integers
"""Where elements lie; an array of addresses where they are no sum over the axes, as those of a gather."""


def along(values: Integers, axis: int, rank: int) -> Integers:
    """The values as one axis of so many."""
    shape = [1] * rank
    shape[axis] = len(values)
    return values.reshape(shape)


class Space:
    """A stretch of memory. Each element lies at its byte address and knows which buffer wrote it, and when.

    `unit` is the bytes of the smallest element in it.
    """

    def __init__(self, name: str, size: int, unit: int = 1, exact: bool = True) -> None:
        self.name, self.size, self.unit = name, size, unit
        cells = -(-size // unit)
        self.values: npt.NDArray[Any] = np.zeros(cells, np.float64 if exact else np.float32)
        self.epoch: npt.NDArray[np.int32] = np.zeros(cells, np.int32)
        self.owners: dict[int, int] = {}
        """Epoch -> the buffer that was written in it."""

    def read(self, at: Place, owner: int, what: str) -> npt.NDArray[Any]:
        """Elements that `owner` must have written last: a copy."""
        self._inside(at, what)
        cells, shape = self._cells(at)
        seen = _view(self.epoch, cells)
        low, high = (int(seen.min()), int(seen.max())) if seen.size else (0, -1)
        table = np.array([self.owners.get(epoch, 0) for epoch in range(low, high + 1)])
        if not (table == owner).all():
            found = table[seen - low]
            if not (found == owner).all():
                bad = int(found[found != owner].flat[0])
                why = "nobody wrote" if bad == 0 else "another buffer has overwritten while it was live"
                raise TileError(f"{what} reads an element of {self.name} that {why}")
        return np.array(_view(self.values, cells)).reshape(shape)

    def write(self, at: Place, values: npt.NDArray[Any], owner: int, epoch: int, what: str) -> None:
        """Store elements, each at most once per epoch."""
        self._inside(at, what)
        cells, shape = self._cells(at)
        if self.owners.setdefault(epoch, owner) != owner:
            raise TileError(f"{what}: two buffers of {self.name} are written at once")
        epochs = _view(self.epoch, cells)
        if (epochs == epoch).any():
            raise TileError(f"{what}: two cores write the same element of {self.name}")
        _put(self.values, cells, np.broadcast_to(values, shape))
        _put(self.epoch, cells, np.int32(epoch))

    def _cells(self, at: Place) -> tuple[_Strided | Integers, tuple[int, ...]]:
        """The numbers of the cells: strided where they can be, which is a hundred times as fast."""
        if isinstance(at, Region):
            pieces = [_affine(axis) for axis in at.axes]
            if all(piece is not None for piece in pieces):
                flat = [step for piece in pieces for step in piece or ()]
                sizes, steps = tuple(n for n, _ in flat), tuple(step // self.unit for _, step in flat)
                return _Strided(at.first // self.unit, sizes, steps), at.shape
            at = at.addresses()
        return at // self.unit, at.shape

    def _inside(self, at: Place, what: str) -> None:
        if isinstance(at, Region):
            low = at.base + sum(int(axis.min()) for axis in at.axes)
            high = at.base + sum(int(axis.max()) for axis in at.axes)
        else:
            low, high = (int(at.min()), int(at.max())) if at.size else (0, 0)
        if low < 0 or high >= self.size:
            raise TileError(f"{what}: a tile leaves {self.name} ({self.size} bytes)")


@dataclass(frozen=True, slots=True)
class _Strided:
    """Cells in nested rows: the first, and per dim how many and how far apart."""

    first: int
    sizes: tuple[int, ...]
    steps: tuple[int, ...]


def _affine(axis: Integers) -> tuple[tuple[int, int], ...] | None:
    """An axis as nested (number, step); None where it is none, as with a last stick that is not full."""
    n = len(axis)
    if n == 1:
        return ((1, 0),)
    steps = np.diff(axis)
    step = int(steps[0])
    others = np.flatnonzero(steps != step)
    if not len(others):
        return ((n, step),)
    row = int(others[0]) + 1
    if n % row:
        return None
    rows = axis.reshape(-1, row)
    outer = _affine(np.ascontiguousarray(rows[:, 0])) if (rows - rows[:, :1] == rows[0] - rows[0, 0]).all() else None
    return None if outer is None else (*outer, (row, step))


def _view(cells: npt.NDArray[Any], at: _Strided | Integers) -> npt.NDArray[Any]:
    """The cells, which may be written through where they are strided."""
    if not isinstance(at, _Strided):
        return np.asarray(cells[at])
    strides = [step * cells.itemsize for step in at.steps]
    return np.lib.stride_tricks.as_strided(cells[at.first :], at.sizes, strides)


def _put(cells: npt.NDArray[Any], at: _Strided | Integers, values: npt.NDArray[Any] | np.int32) -> None:
    if isinstance(at, _Strided):
        _view(cells, at)[...] = values.reshape(at.sizes) if values.ndim else values
    else:
        cells[at] = values


@dataclass
class DeviceMemory:
    """All spaces of a running program."""

    lx_bytes: int
    tensors: dict[str, Space] = field(default_factory=dict[str, Space])
    """Device memory, one space per kernel argument."""
    pool: Space = field(default_factory=lambda: Space("the pool", 0))
    scratchpads: dict[int, Space] = field(default_factory=dict[int, Space])
    owners: dict[str, int] = field(default_factory=dict[str, int])
    epoch: int = 0

    def owner(self, buffer: str) -> int:
        return self.owners.setdefault(buffer, len(self.owners) + 1)

    def next_epoch(self) -> int:
        self.epoch += 1
        return self.epoch

    def space(self, place: str, buffer: str, core: int) -> Space:
        if place == "hbm":
            return self.tensors[buffer]
        if place == "pool":
            return self.pool
        return self.scratchpads[core]

    def allocate(self, buffer: str, size: int, unit: int, exact: bool) -> None:
        """Bytes of device memory for a tensor, whose elements have `unit` bytes; `exact` for wide integers."""
        if buffer not in self.tensors:
            self.tensors[buffer] = Space(buffer, size, unit, exact)


@dataclass(frozen=True, slots=True)
class CoreTile:
    """The part of the iteration space that one core does: symbol -> [start, stop)."""

    core: int
    ranges: Mapping[str, tuple[int, int]]

    @property
    def empty(self) -> bool:
        return any(stop <= start for start, stop in self.ranges.values())
