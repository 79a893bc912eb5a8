"""A layout as Triton has it: a linear map over bits, from registers, lanes, warps ... to a tensor's elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Bases = Mapping[str, tuple[tuple[int, ...], ...]]
"""By the name of an input, the element that each of its bits, the lowest first, leads to; bits are combined by xor."""
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Linear:
    """Which element each place of the hardware holds. What Triton's `LinearLayout` is, as plain data."""

    bases: Bases
    shape: tuple[int, ...]
    """Of the tensor, in elements."""

    @property
    def sizes(self) -> dict[str, int]:
        """How many registers, lanes, warps ... there are, by name; in the order of the bases."""
        return {name: 1 << len(vectors) for name, vectors in self.bases.items()}

    def elements(self, **places: Any) -> tuple[Numbers, ...]:
        """The coordinates of the elements at places by name, numbers or arrays of one shape; 0 where not given."""
        shape = np.broadcast_shapes(*(np.shape(place) for place in places.values()))
        found = [np.zeros(shape, np.int64) for _ in self.shape]
        for name, vectors in self.bases.items():
            place = np.asarray(places.get(name, 0), np.int64)
            for bit, vector in enumerate(vectors):
                for axis, basis in enumerate(vector):
                    found[axis] = found[axis] ^ (((place >> bit) & 1) * basis)
        return tuple(found)

    @cached_property
    def flat(self) -> Numbers:
        """The number of the element (row-major) at each place: an array with an axis for each input, in their order."""
        grid = np.indices(tuple(self.sizes.values()))
        found = self.elements(**dict(zip(self.bases, grid, strict=True)))
        return np.ravel_multi_index(found, self.shape) if self.shape else found[0]

    @cached_property
    def _order(self) -> tuple[Numbers, Numbers]:
        flat = self.flat.reshape(-1)
        order = np.argsort(flat, kind="stable")
        return order, np.searchsorted(flat[order], np.arange(int(np.prod(self.shape)) + 1))

    def owners(self, *element: int) -> list[dict[str, int]]:
        """Every place that holds an element, given by its coordinates. Raises IndexError outside of the tensor."""
        inside = all(0 <= at < size for at, size in zip(element, self.shape, strict=False))
        if len(element) != len(self.shape) or not inside:
            raise IndexError(f"element {element} of a tensor of shape {self.shape}")
        number = int(np.ravel_multi_index(element, self.shape))
        order, starts = self._order
        places = np.unravel_index(order[starts[number] : starts[number + 1]], tuple(self.sizes.values()))
        return [dict(zip(self.bases, map(int, place), strict=True)) for place in zip(*places, strict=True)]

    def first(self) -> dict[str, Numbers]:
        """For each element the first place that holds it: by the name of an input, an array of the tensor's shape.

        The first is that of the lowest block, then warp, lane, register (the last input counts most).
        """
        sizes = tuple(self.sizes.values())
        backwards = self.flat.transpose().reshape(-1)
        found = np.full(int(np.prod(self.shape)), -1, np.int64)
        found[backwards[::-1]] = np.arange(backwards.size - 1, -1, -1)
        places = np.unravel_index(np.maximum(found, 0), sizes[::-1])
        return {
            name: np.where(found < 0, -1, place).reshape(self.shape)
            for name, place in zip(list(self.bases)[::-1], places, strict=True)
        }

    @property
    def copies(self) -> int:
        """How many places hold each element: 1, or more where the tensor is broadcast over lanes, warps ..."""
        return self.flat.size // max(1, int(np.prod(self.shape)))


def linear(bases: Mapping[str, Sequence[Sequence[int]]], shape: Sequence[int]) -> Linear:
    """A layout from lists, as Triton's bindings and JSON have it."""
    return Linear({name: tuple(tuple(one) for one in vectors) for name, vectors in bases.items()}, tuple(shape))
