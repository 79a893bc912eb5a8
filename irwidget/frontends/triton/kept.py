"""What a tensor says of a result and its reference."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from enum import Enum, auto

import torch

from irwidget import private_torch
from irwidget.frontends.triton.launch import LaunchComparison

Compared = list[LaunchComparison]


@dataclass(eq=False)
class Run:
    """A launch, executed once."""

    name: str
    compared: Compared
    """What is compared with its results, and with those of other runs of the same launch."""
    given: tuple[Run, ...]
    """The runs whose results it was given."""
    through: frozenset[int]
    """By the `id` of what is compared with them, its launch and those that it has to do with by `given`."""

    @functools.cached_property
    def earlier(self) -> dict[int, Run]:
        """The runs that it has to do with by `given`, by `id`."""
        found: dict[int, Run] = {}
        left = [*self.given]
        while left:
            if id(run := left.pop()) not in found:
                found[id(run)] = run
                left += run.given
        return found


Found = list[tuple[Run, bool]]
"""The runs that a comparison has to do with, and whether each has a side of it as it was written."""


class Says(Enum):
    """What the elements of a tensor are."""

    AGREES = auto()
    """Whether each agrees."""
    DIFFERS = auto()
    """Whether each does not."""
    HOW_FAR = auto()
    """How far each is off, 0 where it is not."""
    HOW_NEAR = auto()
    """How near each is, as a similarity says it: the more, the nearer."""
    PRODUCT = auto()
    """What a result and its reference give, multiplied."""
    SQUARES = auto()
    """Their squares, or those of one of them."""
    LENGTHS = auto()
    """Their lengths, multiplied, or that of one of them."""


@dataclass(frozen=True)
class Side:
    """A tensor as a place in memory, as long as there is this."""

    storage: int
    offset: int
    numel: int
    weak: private_torch.StorageWeakRef = field(compare=False)


def side(tensor: torch.Tensor) -> Side:
    """The place of a tensor's elements."""
    storage = tensor.untyped_storage()
    weak = private_torch.StorageWeakRef(storage)
    return Side(weak.cdata, int(tensor.storage_offset()), tensor.numel(), weak)


@dataclass(frozen=True)
class Kept:
    """What a tensor says of a result and its reference."""

    found: Found
    says: Says
    by: str = ""
    """How they were compared: `==`."""
    bits: bool = False
    """Whether floats were compared bit by bit."""
    signed: bool = False
    """Whether what is far less than 0 is far off, too."""
    blind: bool = False
    """Whether what does not differ may be another all the same, as what is twice as large has the same direction."""
    most: float | None = None
    """How near results are where each element is right, as far as this is known."""
    nan: bool = False
    """Whether a difference that was compared is NaN, which is neither less nor more than a bound."""
    number: bool = False
    """Whether it is a number that a result was compared with."""
    sides: frozenset[Side] = frozenset()
    """What was multiplied, or squared."""
    factor: float = 1
    """By which a product is multiplied, too."""

    def inexact(self) -> Kept:
        """The same of what shows nothing of the results as they are."""
        return replace(self, found=[(run, False) for run, _ in self.found])


@dataclass(frozen=True)
class Answer:
    """What a comparison says of all elements."""

    found: Found
    equal: bool
    said: str = ""
    wanted: bool = True
    """What the cell is told where they agree: `x > 0.1` is False then."""
    bits: bool = False
    number: bool = False
    """Whether results were compared with a number: a reference only where the cell ends by it."""
