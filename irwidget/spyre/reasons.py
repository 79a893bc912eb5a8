"""Why a program is what it is, op by op: the answers of "ask why" as short sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from irwidget.spyre.coordinates import stick_of
from irwidget.spyre.division import Division
from irwidget.spyre.ir import Graph, Op, users
from irwidget.spyre.opfuncs import LX_ATEN_OPS
from irwidget.spyre.opspec import OpSpec
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.tiles import TiledOp

Reason = dict[str, str]
"""`about`: split, cores, placement or restickify; `text`: the sentence."""

_SOURCES = {
    "cost model": "the cheapest candidate of the cost model",
    "default": "the largest output dims first, each by its largest divisor that fits the cores, then one reduction dim",
    "span": "no core may reach over more than 256 MiB of a tensor, which forces this split",
    "hint": "a work_div hint asks for it",
    "none": "this op is not divided",
}


def reasons(program: SpyreProgram) -> Mapping[str, list[Reason]]:
    """Op name -> why it is split so, why cores are idle, where its result lies, and what it restickifies."""
    specs = {spec.source: spec for kernel in program.kernels for spec in kernel.specs}
    labels = {made.op.name: _labels(made) for _, made in program.tiled}
    divisions = {d.op: d for d in program.divisions}
    readers = users(program.graph)
    return {
        op.name: [
            {"about": one["about"], "text": in_words(one["text"], labels.get(op.name, {}))}
            for one in _of(program, op, specs.get(op.name), divisions.get(op.name), readers)
        ]
        for op in program.graph.ops
        if op.computed
    }


def _labels(made: TiledOp) -> dict[str, str]:
    """Loop variable -> the dims of it as the SuperDSC and the view label them, or the user's name."""
    labels = made.plan.labels
    found = {v: "/".join(labels[s] for s in parts) for v, parts in made.spec.segments.items()}
    return {**found, **dict(made.op.dims)}


def in_words(text: str, labels: Mapping[str, str] | None = None) -> str:
    """A sentence without the compiler's own words: loop variables as the view labels them, and what a rule means."""

    def label(found: re.Match[str]) -> str:
        return (labels or {}).get(found[0], found[0])

    text = re.sub(r"(\w+): (\d+) units, split (\d+)", r"\1: \2 to divide, over \3", text)
    text = re.sub(r"\bd\d+\b", label, text)
    text = _NOT_LISTED.sub(rf"it comes from \1; only {_LISTED} may, unless allow_all_ops_in_lx_planning is on", text)
    return _MISMATCH.sub(r"\2, which makes \1, divides it over the cores in another way", text)


_LISTED = ", ".join(sorted(LX_ATEN_OPS))
_NOT_LISTED = re.compile(r"made by (\w+), which is not in the list of ops that LX planning takes")
_MISMATCH = re.compile(r"core division mismatch with (\w+) \((\w+)\)")


def _of(
    program: SpyreProgram,
    op: Op,
    spec: OpSpec | None,
    division: Division | None,
    readers: Mapping[str, list[Op]],
) -> Iterator[Reason]:
    if division is not None:
        yield _split(op, division)
        if division.idle:
            yield {"about": "cores", "text": division.idle}
        for warning in division.warnings:
            yield {"about": "cores", "text": warning}
    yield {"about": "placement", "text": _placement(program, op)}
    if spec is not None and spec.op == "ReStickifyOpHBM" and not program.recorded:
        yield {"about": "restickify", "text": _restickify(program, op, readers.get(op.target, []))}


def _split(op: Op, division: Division) -> Reason:
    splits = {v: n for v, n in op.splits if n > 1}
    how = " x ".join(f"{v} over {n}" for v, n in splits.items()) or "nothing is split"
    text = f"{how}: {_SOURCES.get(division.source, division.source)}"
    planned = {v: n for v, n in division.splits.items() if n > 1}
    if planned and planned != splits:
        text += "; LX planning then moved the split to another dim, so that more intermediates fit the scratchpad"
    return {"about": "split", "text": text}


def _placement(program: SpyreProgram, op: Op) -> str:
    pad, name = program.scratchpad, op.target
    if name in pad.addresses:
        block = pad.blocks[name]
        parent = pad.in_place.get(name)
        slot = f", in the slot of {parent}, which dies here" if parent else ""
        return (
            f"{name} lies in LX at {pad.addresses[name]}: {block.size} bytes per core, live from step {block.start}"
            f" to {block.end - 1}{slot}"
        )
    where = f"in the pool at {program.pool.offsets[name]}" if name in program.pool.offsets else "in device memory"
    why = pad.reasons.get(name) or ("several ops write it, a piece each" if op.is_mutation else "")
    return f"{name} lies {where}" + (f", not in LX: {why}" if why else "")


def _restickify(program: SpyreProgram, op: Op, consumers: list[Op]) -> str:
    graph = program.graph
    read = op.tensor_reads[0]
    before, after = (_stick_dim(graph, op, side) for side in ("read", "write"))
    cost = sum(
        e.cost
        for e in program.layouts.edges
        if e.restickified and e.buffer == read.buffer and any(e.op == consumer.name for consumer in consumers)
    )
    made = graph.buffers[op.target].device
    elements = f"{int(cost or made.elements)} device elements"
    who = ", ".join(f"{c.target} = {c.func}" for c in consumers) or "an output"
    return (
        f"{read.buffer} has its sticks along {before}, and {who} needs them along {after}: a copy of {elements}"
        f" ({made.bytes} bytes) moves them. Another dim order of {read.buffer} avoids it"
    )


def _stick_dim(graph: Graph, op: Op, side: str) -> str:
    """Which host dim runs inside the sticks."""
    read = op.tensor_reads[0]
    buffer = graph.buffers[read.buffer if side == "read" else op.target]
    coordinates = graph.read_coordinates(op, read) if side == "read" else graph.write_coordinates(op)
    variable = stick_of(coordinates, buffer.device.elements_per_stick).variable
    if variable is None:
        return "no dim"
    step = (read.index if side == "read" else op.write).step(variable)
    dims = enumerate(zip(buffer.size, buffer.stride, strict=True))
    found = next((d for d, (n, s) in dims if n > 1 and s == step), -1)
    return f"dim {found}" if found >= 0 else variable
