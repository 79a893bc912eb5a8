"""Top-level tile loops: which program computes which tiles, as the configuration says.

A flat grid is one `scf.forall` over the tiles, its dims in the loop order of
the configuration, of which Helion runs the first fastest. A persistent one is
an `scf.forall` over the multiprocessors with an `scf.for` over the tiles of
each, whose numbers are taken apart as Helion does, in groups for the L2 cache.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from irwidget.helion import configuration, private
from irwidget.helion.bindings import arith, ir, scf
from irwidget.helion.bound import LoopRange
from irwidget.helion.builder import Size
from irwidget.helion.scalars import SymbolScope, as_index
from irwidget.helion.values import TileLoop


class LoopScope(SymbolScope, Protocol):
    """Where loops are made: the emitter, as far as they need it."""

    loops: dict[int, TileLoop]

    def value(self, operand: Any) -> Any:
        """What a bound stands for."""
        ...

    def remark(self, message: str) -> None:
        """Say something of what is being emitted."""
        ...

    def tile_step(self, block_id: int) -> Size:
        """The tile size of a block."""
        ...

    def enter_loop(self, block_id: int, index: ir.Value, begin: Size, end: Size, step: Size) -> None:
        """Note that a tile loop is around what follows."""
        ...


@dataclass(frozen=True)
class _Grid:
    """The dims of a top-level loop, the one that runs fastest first."""

    blocks: list[int]
    begins: list[Size]
    ends: list[Size]
    steps: list[Size]


@contextlib.contextmanager
def tile_loop(emitter: LoopScope, blocks: Sequence[int], ranges: Sequence[LoopRange]) -> Generator[None]:
    """A top-level loop over the tiles of blocks; what is emitted meanwhile is its body."""
    binding, outer = emitter.binding, dict(emitter.loops)
    order = configuration.grid_order(binding.env, binding.config, blocks)
    grid = _Grid(
        [blocks[i] for i in order],
        [as_index(emitter, emitter.value(ranges[i].begin), ranges[i].begin) for i in order],
        [as_index(emitter, emitter.value(ranges[i].end), ranges[i].end) for i in order],
        [emitter.tile_step(blocks[i]) for i in order],
    )
    yield from _persistent(emitter, grid) if configuration.persistent(binding.config) else _flat(emitter, grid)
    emitter.loops = outer


def _flat(emitter: LoopScope, grid: _Grid) -> Generator[None]:
    """A program for each tile."""
    dims = [_bounds(emitter, *dim) for dim in zip(grid.begins, grid.ends, grid.steps, strict=True)]
    made = scf.ForallOp(*map(list, zip(*dims, strict=True)))
    with ir.InsertionPoint(made.body):
        found = zip(made.body.arguments, grid.begins, grid.steps, strict=True)
        _enter(emitter, grid, [_place(emitter, *one) if _down(one[2]) else one[0] for one in found])
        yield
        scf.InParallelOp()


def _persistent(emitter: LoopScope, grid: _Grid) -> Generator[None]:
    """A program for each multiprocessor, which takes every so many-th tile, or as many that follow one another."""
    builder, config = emitter.builder, emitter.binding.config
    programs = private.PROCESSORS * int(config.config.get("num_sm_multiplier") or 1)
    counts = [count(emitter, *dim) for dim in zip(grid.begins, grid.ends, grid.steps, strict=True)]
    total = functools.reduce(builder.multiply, counts)
    made = scf.ForallOp([0], [programs], [1])
    with ir.InsertionPoint(made.body):
        begin, end, step = made.body.arguments[0], builder.size(total), builder.size(programs)
        if configuration.persistent(config) == "blocked":
            share = arith.ceildivsi(end, step)
            begin = arith.muli(begin, share)
            end, step = arith.minsi(end, arith.addi(begin, share)), builder.size(1)
        loop = scf.ForOp(begin, end, step)
        if len(emitter.binding.device_ir.root_ids) == 1:  # of several, one loop of Triton's has them all
            tell(emitter, loop, grid.blocks[0])
        with ir.InsertionPoint(loop.body):
            _enter(emitter, grid, _origins(emitter, grid, loop.induction_variable, counts))
            yield
            scf.yield_([])
        scf.InParallelOp()


def tell(emitter: LoopScope, loop: Any, block_id: int) -> None:
    """Give a loop the attributes that say what Helion's Triton tells it."""
    found, lost = configuration.loop_attributes(emitter.binding.env, emitter.binding.config, block_id)
    for name, value in found.items():
        loop.operation.attributes[name] = emitter.builder.attribute(value)
    for message in lost:
        emitter.remark(message)


def _enter(emitter: LoopScope, grid: _Grid, origins: Sequence[ir.Value]) -> None:
    steps = [1 if _down(step) else step for step in grid.steps]
    for loop in zip(grid.blocks, origins, grid.begins, grid.ends, steps, strict=True):
        emitter.enter_loop(*loop)


def _down(step: Size) -> bool:
    """Whether a dim counts down, in `hl.grid`, and so has indices and no tiles."""
    return isinstance(step, int) and step < 0


def _bounds(emitter: LoopScope, begin: Size, end: Size, step: Size) -> tuple[Size, Size, Size]:
    """What `scf.forall`, which does not count down, is given for a dim."""
    return (0, count(emitter, begin, end, step), 1) if _down(step) else (begin, end, step)


def _place(emitter: LoopScope, number: Any, begin: Size, step: Size) -> ir.Value:
    """Where the tile of a number begins in its dim."""
    builder = emitter.builder
    return builder.size(builder.add(builder.multiply(number, step), begin))


def count(emitter: LoopScope, begin: Size, end: Size, step: Size) -> Size:
    """How many tiles a dim has, or indices in steps; steps may be negative."""
    extent = emitter.builder.subtract(end, begin)
    if isinstance(extent, int) and isinstance(step, int):
        return max(0, -(-extent // step))
    zero = emitter.builder.size(0)
    return arith.maxsi(zero, arith.ceildivsi(emitter.builder.size(extent), emitter.builder.size(step)))


def _origins(emitter: LoopScope, grid: _Grid, number: ir.Value, counts: list[Size]) -> list[ir.Value]:
    """Where the tile of a number begins, dim by dim."""
    builder = emitter.builder
    places: list[Any] = []
    rest = number
    for count in counts[:-1]:
        places.append(arith.remsi(rest, builder.size(count)))
        rest = arith.divsi(rest, builder.size(count))
    places.append(rest)
    group = configuration.l2_grouping(emitter.binding.env, emitter.binding.config, sorted(grid.blocks))
    if group > 1:
        inner = number if len(counts) == 2 else arith.remsi(number, builder.size(builder.multiply(*counts[:2])))
        places[:2] = _grouped(emitter, inner, counts, group)
    return [_place(emitter, *one) for one in zip(places, grid.begins, grid.steps, strict=True)]


def _grouped(emitter: LoopScope, number: ir.Value, counts: list[Size], group: int) -> list[ir.Value]:
    """The place of a tile along the first two dims, when `group` tiles along the first follow one another."""
    builder = emitter.builder
    in_group = builder.size(builder.multiply(counts[1], group))
    first = arith.muli(arith.divsi(number, in_group), builder.size(group))
    size = arith.minsi(arith.subi(builder.size(counts[0]), first), builder.size(group))
    within = arith.remsi(number, in_group)
    return [arith.addi(first, arith.remsi(within, size)), arith.divsi(within, size)]
