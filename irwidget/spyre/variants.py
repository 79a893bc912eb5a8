"""What a joint search chooses from: the divisions that each op may take, and their costs (docs/spyre-time.md).

Costs are those of the estimate, with each operand in device memory or in LX.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from math import prod

from irwidget.spyre.division import Division, divisors
from irwidget.spyre.estimate import estimate_op
from irwidget.spyre.ir import Graph, Op, users
from irwidget.spyre.opspec import make_opspec
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.scratchpad import Slicing, slicing, slicing_reads
from irwidget.spyre.superdsc import plan
from irwidget.spyre.tiles import tiled_op

TRIED = 48
"""Divisions of an op that are estimated at most, those on the most cores first."""
KEPT = 10
"""Of these, how many the search chooses from."""
_FREE = ("core division mismatch", "its reduction is split", "no room for")
"""What another division can change about a buffer that is not in LX."""


@dataclass(frozen=True)
class Variant:
    """One division of an op: what it costs by which of its buffers lie in LX, in us."""

    splits: Mapping[str, int]
    costs: Mapping[frozenset[str], float]
    slices: Mapping[str, tuple[Slicing, ...]]
    """Buffer -> how the op divides it over the cores; several where it reads it in several ways."""
    partial: bool
    """Whether a reduction is split: its result meets in device memory."""


@dataclass(frozen=True)
class Choices:
    """All that is chosen from: variants by op, the one of today first; the buffers that may lie in LX."""

    ops: Mapping[str, tuple[Variant, ...]]
    makers: Mapping[str, str]
    """Buffer that may lie in LX -> the op that makes it."""
    readers: Mapping[str, tuple[str, ...]]
    lives: Mapping[str, tuple[int, int]]
    """First and last position among the ops."""
    sizes: Mapping[str, int]
    """Device bytes: a core has its share."""


def choices(program: SpyreProgram) -> Choices:
    """The choices that a program leaves: which buffers another division could bring into LX, and the divisions."""
    graph, pad = program.graph, program.scratchpad
    free = {n for n, why in pad.reasons.items() if why.startswith(_FREE)} | set(pad.addresses)
    position = {op.name: i for i, op in enumerate(graph.ops)}
    consumers = users(graph)
    free = {n for n in free if consumers.get(n) and all(reader.computed for reader in consumers[n])}
    makers = {op.target: op.name for op in graph.ops if op.target in free and not op.is_mutation}
    readers = {n: tuple(dict.fromkeys(r.name for r in consumers[n])) for n in makers}
    lives = {n: (position[makers[n]], max(position[r] for r in readers[n])) for n in makers}
    divisions = {d.op: d for d in program.divisions}
    found = {
        op.name: tuple(_variants(graph, op, divisions[op.name], program.options, frozenset(makers)))
        for op in graph.ops
        if op.computed
    }
    return Choices(found, makers, readers, lives, {n: graph.buffers[n].device.bytes for n in makers})


def _variants(
    graph: Graph, op: Op, division: Division, options: SpyreSwitches, free: frozenset[str]
) -> Iterator[Variant]:
    today = _Divided(graph, op, dict(op.splits), options, free)
    others = (_Divided(graph, op, splits, options, free) for splits in divisions_of(op, division, options.cores))
    ranked = sorted((one for one in others if one.splits != today.splits), key=lambda one: one.least)
    for one in [today, *ranked[: KEPT - 1]]:
        yield one.variant()


def divisions_of(op: Op, division: Division, cores: int) -> list[dict[str, int]]:
    """The even divisions of an op within the cores, at most one reduction split; none but today's where a span or a
    coarse loop has decided.
    """
    if division.committed or op.kind == "topk" or op.loops:
        return []
    inside = [[d for d in divisors(n) if d <= cores] for n in division.units.values()]
    found: list[tuple[int, ...]] = []
    for parts in product(*inside):
        splits = dict(zip(division.units, parts, strict=True))
        reduced = [v for v, n in splits.items() if n > 1 and v not in division.outputs]
        if prod(parts) <= cores and len(reduced) <= 1:
            found.append(parts)
    found.sort(key=lambda parts: -prod(parts))
    return [dict(zip(division.units, parts, strict=True)) for parts in found[:TRIED]]


class _Divided:
    """An op as it would be with other splits."""

    def __init__(
        self, graph: Graph, op: Op, splits: Mapping[str, int], options: SpyreSwitches, free: frozenset[str]
    ) -> None:
        self.splits = {v: splits.get(v, 1) for v in op.space}
        self.op = replace(op, splits=tuple(self.splits.items()))
        self.graph, self.options = graph, options
        self.mine = [n for n in dict.fromkeys((*(r.buffer for r in op.tensor_reads), op.target)) if n in free]
        self.least = self.cost(frozenset())

    def cost(self, resident: frozenset[str]) -> float:
        places = dict.fromkeys(resident, ("lx", 0))
        spec = make_opspec(self.graph, self.op, self.options, places, ())
        return estimate_op(tiled_op(self.graph, self.op, spec, plan(spec))).us

    def variant(self) -> Variant:
        graph, op, options = self.graph, self.op, self.options
        subsets = chain.from_iterable(combinations(self.mine, n) for n in range(len(self.mine) + 1))
        slices = {n: tuple(slicing_reads(graph, op, n, options)) for n in self.mine}
        if op.target in slices:
            slices[op.target] = (slicing(graph, op, op.target, options),)
        partial = any(self.splits[v] > 1 for v, _ in op.reduced)
        return Variant(self.splits, {frozenset(s): self.cost(frozenset(s)) for s in subsets}, slices, partial)
