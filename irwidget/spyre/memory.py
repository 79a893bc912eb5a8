"""The reference executor's memory: byte-addressed device tensors, the pool and the scratchpads, with owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from irwidget.errors import IRWidgetError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class TileError(IRWidgetError):
    """A tile broke a rule of the memory: what a card would do silently wrong."""


class Space:
    """A stretch of memory. Each element lies at its byte address and knows which buffer wrote it, and when."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.values: Floats = np.zeros(size, np.float64)
        self.owner: npt.NDArray[np.int32] = np.zeros(size, np.int32)
        self.epoch: npt.NDArray[np.int32] = np.zeros(size, np.int32)

    def grow(self, size: int) -> None:
        if size > len(self.values):
            extra = size - len(self.values)
            self.values = np.concatenate([self.values, np.zeros(extra)])
            self.owner = np.concatenate([self.owner, np.zeros(extra, np.int32)])
            self.epoch = np.concatenate([self.epoch, np.zeros(extra, np.int32)])

    def read(self, at: Integers, owner: int, what: str) -> Floats:
        """Elements that `owner` must have written last."""
        self._inside(at, what)
        seen = np.asarray(self.owner[at])
        if not (seen == owner).all():
            bad = int(seen[seen != owner].flat[0])
            why = "nobody wrote" if bad == 0 else "another buffer has overwritten while it was live"
            raise TileError(f"{what} reads an element of {self.name} that {why}")
        return np.asarray(self.values[at])

    def write(self, at: Integers, values: Floats, owner: int, epoch: int, what: str) -> None:
        """Store elements, each at most once per epoch."""
        self._inside(at, what)
        if (self.epoch[at] == epoch).any():
            raise TileError(f"{what}: two cores write the same element of {self.name}")
        self.values[at] = values
        self.owner[at] = owner
        self.epoch[at] = epoch

    def _inside(self, at: Integers, what: str) -> None:
        if at.size and (int(at.min()) < 0 or int(at.max()) >= len(self.values)):
            raise TileError(f"{what}: a tile leaves {self.name} ({len(self.values)} bytes)")


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

    def allocate(self, buffer: str, size: int) -> None:
        if buffer not in self.tensors:
            self.tensors[buffer] = Space(buffer, size)


@dataclass(frozen=True, slots=True)
class CoreTile:
    """The part of the iteration space that one core does: symbol -> [start, stop)."""

    core: int
    ranges: Mapping[str, tuple[int, int]]

    @property
    def empty(self) -> bool:
        return any(stop <= start for start, stop in self.ranges.values())
