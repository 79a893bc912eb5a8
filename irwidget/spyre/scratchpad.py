"""Which intermediates lie in the cores' LX scratchpads, and where (docs/spyre-rules.md: Scratchpad)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import ceil, gcd

from irwidget.spyre.coordinates import stick_of
from irwidget.spyre.division import Division, largest_divisor, output_variables, tensors_of
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.ir import Graph, Op, blaming, users
from irwidget.spyre.normalize import normalize
from irwidget.spyre.opfuncs import LX_ATEN_OPS
from irwidget.spyre.opspec import accesses_of, opfunc
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.schedule import cores_used, slice_formulas

_IN_PLACE = frozenset({"exp", "sub", "add", "rsqrt"})
_MAX_VARIANTS = 6
_MAX_COMBINATIONS = 2048
"""Above this many combinations co-optimisation goes op by op instead."""


@dataclass(frozen=True, slots=True)
class LxBuffer:
    """A buffer that may lie in the scratchpad: its bytes per core and its life in op positions, end exclusive."""

    name: str
    size: int
    start: int
    end: int
    uses: int
    parents: tuple[str, ...] = ()
    """Operands whose slots it may take over."""


@dataclass(frozen=True)
class Scratchpad:
    """The plan and, for each other buffer, why it is not in it."""

    addresses: Mapping[str, int]
    blocks: Mapping[str, LxBuffer]
    reasons: Mapping[str, str]
    in_place: Mapping[str, str]
    """Buffer -> the operand whose slot it took."""


def plan_scratchpad(graph: Graph, options: SpyreSwitches) -> Scratchpad:
    """Decide what is placed; the same address on every core."""
    if not options.lx_planning:
        return Scratchpad({}, {}, {op.target: "LX planning is off" for op in graph.ops if op.computed}, {})
    blocks, reasons = _eligible(graph, options)
    addresses, in_place = solve(list(blocks.values()), options)
    for name, block in blocks.items():
        if name not in addresses:
            reasons[name] = f"no room for {block.size} bytes per core while it is live"
    return Scratchpad(addresses, blocks, reasons, in_place)


def _eligible(graph: Graph, options: SpyreSwitches) -> tuple[dict[str, LxBuffer], dict[str, str]]:
    consumers = users(graph)
    position = {op.name: i for i, op in enumerate(graph.ops)}
    aten = _origin_names(graph)
    mutated = {op.target for op in graph.ops if op.is_mutation} - {op.target for op in graph.ops if op.loops}
    blocks: dict[str, LxBuffer] = {}
    reasons: dict[str, str] = {}
    for i, op in enumerate(graph.ops):
        if not op.computed or op.is_mutation:
            continue
        name, readers = op.target, consumers.get(op.target, [])
        reason = _refusal(graph, op, readers, aten[op.target], mutated, options)
        if reason:
            reasons[name] = reason
            continue
        last = max(position[reader.name] for reader in readers)
        cores = max(cores_used(user) for user in (op, *readers))
        size = graph.buffers[name].device.bytes // cores
        blocks[name] = LxBuffer(name, size, i, last + 1, 1 + len(readers))
        if aten[name]:
            blocks[name] = replace(blocks[name], parents=_parents(graph, op, blocks, position, consumers))
    return blocks, reasons


def _origin_names(graph: Graph) -> dict[str, str]:
    """The ATen name that a buffer is taken to come from.

    A batched matmul goes through `expand`, which leaves its name on a buffer that it hands on whole, or to a copy.
    An op loses its own where a restickify is inserted before it.
    """
    moved = {op.target for op in graph.ops if _is_inserted(op)}
    names = {op.target: "" if moved.intersection(r.buffer for r in op.tensor_reads) else op.aten for op in graph.ops}
    for op in graph.ops:
        if op.kind == "matmul" or op.aten == "expand":
            for read in op.tensor_reads:
                if read.direct and read.buffer in names:
                    names[read.buffer] = "expand"
    return names


def _is_inserted(op: Op) -> bool:
    """Whether it is a restickify that the layouts asked for, and not the function."""
    return op.aten == "restickify" and not op.origins


def _refusal(
    graph: Graph,
    op: Op,
    readers: Sequence[Op],
    aten: str,
    mutated: set[str],
    options: SpyreSwitches,
) -> str:
    """Why a buffer cannot lie in the scratchpad; empty when it can."""
    name = op.target
    if not aten and not options.allow_all_ops_in_lx_planning:
        return f"made by {op.aten} of a restickified operand, which LX planning does not take for an op of its list"
    if aten not in LX_ATEN_OPS and not options.allow_all_ops_in_lx_planning:
        return f"made by {aten}, which is not in the list of ops that LX planning takes"
    if name in graph.output_buffers:
        return "a graph output lies in device memory"
    if name in mutated:
        return "written by several ops"
    if not readers:
        return "never read"
    if any(not reader.computed for reader in readers):
        return "read by a kernel on the host"
    if len({op.loop_scopes, *(reader.loop_scopes for reader in readers)}) > 1:
        return "read outside the loop that makes it"
    if any(dict(op.splits).get(v, 1) > 1 for v, _ in op.reduced):
        return "its reduction is split over cores, whose partial sums meet in device memory"
    if part := _part(graph, op, readers):
        return part
    if options.cores == 1:
        return ""
    return _mismatch(graph, op, readers, options)


def _part(graph: Graph, op: Op, readers: Sequence[Op]) -> str:
    """Who reads it from an offset, anew or in one piece: a SuperDSC starts in LX where the buffer does."""
    for reader in readers:
        if _undivided(graph, reader):
            return f"{reader.buffer} (ReStickifyOpHBM) takes its padded sticks in one piece"
        for read in reader.tensor_reads:
            if read.buffer != op.target:
                continue
            if read.index.wraps:
                return f"{reader.buffer} ({reader.func}) repeats it, and a core has its own part only"
            if any(c.offset for c in graph.read_coordinates(reader, read)):
                return f"{reader.buffer} ({reader.func}) reads it from an offset, and starts in LX have none"
    return ""


def _undivided(graph: Graph, op: Op) -> bool:
    """Whether it moves sticks that are divided although some are not full: SuperDSC keeps them on one core."""
    accesses = accesses_of(graph, op)
    if opfunc(op, accesses) != "ReStickifyOpHBM":
        return False
    splits = dict(op.splits)
    sticks = [(stick_of(a.coordinates, a.layout.elements_per_stick).variable, a.layout) for a in accesses]
    return any(v and splits.get(v, 1) > 1 and op.space[v] % a.elements_per_stick for v, a in sticks)


def _cut(graph: Graph, op: Op) -> frozenset[str]:
    """Divided variables that the op's tensors cut into parts, of which each core has some of several."""
    splits = {v: gcd(split, op.space[v]) for v, split in op.splits}
    if all(split == 1 for split in splits.values()):
        return frozenset()
    with blaming(op.node):
        made = normalize({v: (n, splits.get(v, 1)) for v, n in op.space.items()}, accesses_of(graph, op))
    return frozenset(v for v, parts in made.segments.items() if made.space[parts[-1]][1] != splits.get(v, 1))


def _mismatch(graph: Graph, op: Op, readers: Sequence[Op], options: SpyreSwitches) -> str:
    mine, cut = slicing(graph, op, op.target, options), _cut(graph, op)
    for reader in readers:
        for other in slicing_reads(graph, reader, op.target, options):
            if other != mine or _cut(graph, reader) != cut:
                return f"core division mismatch with {reader.buffer} ({reader.func})"
    return ""


Slicing = tuple[int, tuple[tuple[tuple[int, int, tuple[int, ...]], ...], ...]]
"""Cores used, and per device dim the divisor of the variables that divide it, its last position, where slices begin."""


def slicing(graph: Graph, op: Op, buffer: str, options: SpyreSwitches) -> Slicing:
    """How the producer divides the buffer over the cores."""
    return _slicing(op, graph.write_coordinates(op), _eps(graph, buffer), options)


def slicing_reads(graph: Graph, op: Op, buffer: str, options: SpyreSwitches) -> list[Slicing]:
    eps, reads = _eps(graph, buffer), [r for r in op.tensor_reads if r.buffer == buffer]
    return [_slicing(op, graph.read_coordinates(op, read), eps, options) for read in reads]


def _eps(graph: Graph, buffer: str) -> int:
    return graph.buffers[buffer].device.elements_per_stick


def _slicing(op: Op, coordinates: Sequence[Coordinate], eps: int, options: SpyreSwitches) -> Slicing:
    dims: list[list[tuple[int, int, tuple[int, ...]]]] = [[] for _ in coordinates[:-1]]
    for v, (divisor, split) in slice_formulas(op, options).items():
        unit = eps if v in coordinates[-1].variables else 1
        slices = [i * (ceil(op.space[v] / unit) * unit // split) for i in range(split)]
        for made, coordinate in zip(dims, coordinates[:-1], strict=True):
            if split > 1 and v in coordinate.variables:
                made.append((divisor, coordinate.bounds(op.space)[1], coordinate.of(v, slices)))
    return cores_used(op), tuple(tuple(sorted(made)) for made in dims)


def _parents(
    graph: Graph,
    op: Op,
    blocks: Mapping[str, LxBuffer],
    position: Mapping[str, int],
    consumers: Mapping[str, list[Op]],
) -> tuple[str, ...]:
    """Operands whose slots the result can take over."""
    if op.aten not in _IN_PLACE and not op.pointwise:
        return ()
    found: dict[str, None] = {}
    mine = graph.buffers[op.target].device
    for read in op.tensor_reads:
        block = blocks.get(read.buffer)
        if block is None or block.name == op.target:
            continue
        last = max(position[reader.name] for reader in consumers[read.buffer])
        other = graph.buffers[read.buffer].device
        same = (other.device_size, other.stride_map) == (mine.device_size, mine.stride_map)
        if last == position[op.name] and same and block.size == blocks[op.target].size:
            found[read.buffer] = None
    return tuple(found)


# -- solvers ---------------------------------------------------------------------------------------


def solve(blocks: list[LxBuffer], options: SpyreSwitches) -> tuple[dict[str, int], dict[str, str]]:
    """Addresses of what is placed, in bytes, and which of it took which operand's slot; by `options.layout_solver`."""
    return (_greedy if options.layout_solver == "greedy" else _fit)(blocks, options)


def _greedy(blocks: list[LxBuffer], options: SpyreSwitches) -> tuple[dict[str, int], dict[str, str]]:
    """Walk the time points: free what ends, then place what starts."""
    addresses: dict[str, int] = {}
    in_place: dict[str, str] = {}
    live: dict[str, tuple[int, int]] = {}
    for time in sorted({b.start for b in blocks} | {b.end for b in blocks}):
        for ended in [b.name for b in blocks if b.end == time]:
            live.pop(ended, None)
        for block in blocks:
            if block.start != time:
                continue
            parent = next((name for name in block.parents if name in live), "")
            if parent:
                address: int | None = addresses[parent]
                in_place[block.name] = parent
                live.pop(parent, None)
            else:
                address = _first_room(block.size, sorted(live.values()), options.lx_bytes)
            if address is not None:
                addresses[block.name] = address
                live[block.name] = (address, block.size)
    return addresses, in_place


def _first_room(size: int, live: list[tuple[int, int]], limit: int) -> int | None:
    if not live:
        return 0 if size <= limit else None
    if live[0][0] >= size:
        return 0
    top = max(address + length for address, length in live)
    top = -(-top // 128) * 128
    if top + size <= limit:
        return top
    for (a, length), (b, _) in pairwise(live):
        start = -(-(a + length) // 128) * 128
        if start + size <= b:
            return start
    return None


def _fit(blocks: list[LxBuffer], options: SpyreSwitches) -> tuple[dict[str, int], dict[str, str]]:
    """Sort by span per use, subtract what overlaps in time, take the first or the tightest gap."""
    parents = {name for b in blocks for name in b.parents}

    def key(block: LxBuffer) -> tuple[float, int]:
        span = block.end - block.start
        discount = 0.25 * bool(block.parents) + 0.25 * (block.name in parents)
        return (span - discount) / (block.uses + 0.5), span

    addresses: dict[str, int] = {}
    in_place: dict[str, str] = {}
    by_name = {b.name: b for b in blocks}

    def picked(gaps: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        tight = options.layout_solver != "firstfit"
        return min(gaps, key=lambda gap: gap[1] - gap[0] if tight else 0, default=None)

    for block in _parents_first(sorted(blocks, key=key)):
        gaps = [(0, options.lx_bytes)]
        homes: dict[str, int] = {}
        for other, address in addresses.items():
            that = by_name[other]
            if other in block.parents:  # its slot is free to what takes it over alone
                homes[other] = address
            elif that.start < block.end and block.start < that.end:
                gaps = _subtract(gaps, address, address + that.size)
        fitting = [gap for gap in gaps if gap[1] - gap[0] >= block.size]
        inside = {
            gap: parent
            for gap in fitting
            for parent in reversed(block.parents)
            if parent in homes and gap[0] <= homes[parent] and homes[parent] + block.size <= gap[1]
        }
        if (gap := picked(list(inside))) is not None:
            addresses[block.name], in_place[block.name] = homes[inside[gap]], inside[gap]
            continue
        for parent, home in homes.items():
            gaps = _subtract(gaps, home, home + by_name[parent].size)
        if (gap := picked([gap for gap in gaps if gap[1] - gap[0] >= block.size])) is not None:
            addresses[block.name] = gap[0]
    return addresses, in_place


def _parents_first(blocks: Sequence[LxBuffer]) -> list[LxBuffer]:
    """Of those whose operands are all placed, always the first."""
    names = {block.name for block in blocks}
    waiting, order, placed = list(blocks), list[LxBuffer](), set[str]()
    while waiting:
        ready = next(b for b in waiting if placed.issuperset(names.intersection(b.parents)))
        waiting.remove(ready)
        placed.add(ready.name)
        order.append(ready)
    return order


def _subtract(gaps: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    left: list[tuple[int, int]] = []
    for low, high in gaps:
        if end <= low or high <= start:
            left.append((low, high))
            continue
        if low < start:
            left.append((low, start // 128 * 128))
        aligned = -(-end // 128) * 128
        if aligned < high:
            left.append((aligned, high))
    return left


# -- co-optimisation -------------------------------------------------------------------------------


def co_optimize(graph: Graph, divisions: Sequence[Division], options: SpyreSwitches) -> Graph:
    """Move single splits of pointwise ops to other dims where more intermediates then fit the scratchpad."""
    by_op = {d.op: d for d in divisions}
    variants = {
        op.name: _variants(graph, op, by_op[op.name])
        for op in graph.ops
        if op.kind == "pointwise" and op.name in by_op and by_op[op.name].source == "default"
    }
    variants = {name: found for name, found in variants.items() if len(found) > 1}
    names = list(variants)
    combinations = 1
    for found in variants.values():
        combinations *= len(found)
    if combinations <= _MAX_COMBINATIONS:
        best = min(
            (_with_splits(graph, dict(zip(names, chosen, strict=True))) for chosen in product(*variants.values())),
            key=lambda g: _left_in_memory(g, options),
        )
        return best
    best = graph
    for name in names:
        best = min((_with_splits(best, {name: s}) for s in variants[name]), key=lambda g: _left_in_memory(g, options))
    return best


Splits = tuple[tuple[str, int], ...]


def _variants(graph: Graph, op: Op, division: Division) -> list[Splits]:
    split = [(v, n) for v, n in op.splits if n > 1]
    found = [op.splits]
    if len(split) != 1:
        return found
    outputs = output_variables(op.space, tensors_of(graph, op)[-1])
    v, n = split[0]
    for other in outputs:
        if other != v and largest_divisor(division.units[other], n) == n and len(found) < _MAX_VARIANTS:
            found.append(tuple((w, n if w == other else 1) for w, _ in op.splits))
    return found


def _with_splits(graph: Graph, chosen: Mapping[str, Splits]) -> Graph:
    return graph.map_ops(lambda op: replace(op, splits=chosen[op.name]) if op.name in chosen else op)


def _left_in_memory(graph: Graph, options: SpyreSwitches) -> int:
    plan = plan_scratchpad(graph, options)
    made = {op.target for op in graph.ops if op.computed and not op.is_mutation} - graph.output_buffers
    return sum(graph.buffers[name].device.bytes for name in made if name not in plan.addresses)
