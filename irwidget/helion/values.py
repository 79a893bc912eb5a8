"""What stands for Helion's loops, tensors and numbers in the module, and the module itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from irwidget.helion.bindings import ir
from irwidget.helion.builder import Size
from irwidget.trace import Diagnostic, Node


@dataclass
class TileLoop:
    """A tile loop around the current place."""

    block_id: int
    index: ir.Value
    """The induction variable: where the tile begins."""
    begin: Size
    end: Size
    step: Size
    """The tile size: where the next tile begins."""
    valid: Size
    """How many lanes of the tile exist: those before `end`, at most `step`; `lanes` itself where all do."""
    lanes: int
    """The lanes of the tile's type: the tile size, or where that is an argument, the largest that it may be."""
    parent: ir.Value | None = None
    """For a jagged tile: the length of each parent lane."""
    parent_blocks: tuple[int, ...] = ()

    @property
    def open(self) -> bool:
        """Whether the tile size is an argument of the function."""
        return not isinstance(self.step, int)

    @property
    def ragged(self) -> bool:
        """Whether some lanes may lie past the end."""
        return not isinstance(self.valid, int) or self.parent is not None


@dataclass
class HostTensor:
    """A tensor of the host function: an argument of the module's function."""

    name: str
    expression: str
    """How the host function names it."""
    dtype: torch.dtype
    shape: tuple[int, ...]
    """Sizes; negative where they are known only at run time."""
    strides: tuple[int, ...] | None
    """In elements, negative where they are known only at run time; None for a contiguous tensor."""
    value: ir.Value
    written: bool
    """Whether the kernel writes to this memory, by this name or another."""
    memory: bool = False
    """Whether it is no tensor but all of memory, from address 0, as elements of its dtype."""
    reach: int = 0
    """Of memory, the bytes that an address in it stands for: those of the tensors that are read and written so."""

    @property
    def bytes(self) -> int:
        """From its first element to the end of its last, where its sizes and strides are known."""
        strides = self.strides or [math.prod(self.shape[dim + 1 :]) for dim in range(len(self.shape))]
        last = sum((size - 1) * stride for size, stride in zip(self.shape, strides, strict=True))
        return 0 if self.empty else (last + 1) * self.dtype.itemsize

    @property
    def empty(self) -> bool:
        """Whether it is known to have no elements."""
        return 0 in self.shape


@dataclass
class HostScalar:
    """A number of the host function that the kernel needs at run time."""

    name: str
    expression: str
    value: ir.Value


@dataclass
class Emission:
    """What the emitter made: the raw module, its arguments, and how each node was normalised."""

    module: ir.Module
    tensors: list[HostTensor]
    scalars: list[HostScalar]
    normalised: list[str]
    nodes: dict[str, Node]
    """Every emitted node by name, in the order of emission."""
    seconds: float = 0.0
    aten_nodes: int = 0
    remarks: tuple[Diagnostic, ...] = ()
    ops: frozenset[str] = frozenset()
    """The ops of the torch dialect in the module."""
    fused: bool = False
    """Whether nodes are ops of one `linalg.generic`."""
    unproven: bool = False
    """Whether some accesses of memory are not known to lie inside their tensors before they run."""
    pointed: Mapping[str, str] = field(default_factory=dict[str, str])
    """The nodes whose positions the module itself keeps inside, with what they do at one that is not."""
