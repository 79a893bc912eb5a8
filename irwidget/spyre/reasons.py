"""Why a program is what it is, op by op: the answers of "ask why" as short sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from irwidget.spyre.coordinates import stick_of
from irwidget.spyre.division import Division, idle_text
from irwidget.spyre.ir import Graph, Op, users
from irwidget.spyre.opfuncs import LX_ATEN_OPS
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
    tiled = {made.op.name: made for _, made in program.tiled}
    labels = {name: _labels(made) for name, made in tiled.items()}
    divisions = {d.op: d for d in program.divisions}
    readers = users(program.graph)
    return {
        op.name: [
            {"about": one["about"], "text": in_words(one["text"], labels.get(op.name, {}))}
            for one in _of(program, op, tiled.get(op.name), divisions.get(op.name), readers)
        ]
        for op in program.graph.ops
        if op.computed
    }


def idle_cores(program: SpyreProgram) -> Mapping[str, str]:
    """Op name -> why some of its cores have nothing to do, for the ops that leave some idle."""
    tiled = {made.op.name: made for _, made in program.tiled}
    said = {d.op: _idle(program, d, tiled.get(d.op)) for d in program.divisions}
    return {op: in_words(text, _labels(tiled[op]) if op in tiled else {}) for op, text in said.items() if text}


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
    made: TiledOp | None,
    division: Division | None,
    readers: Mapping[str, list[Op]],
) -> Iterator[Reason]:
    if division is not None:
        yield _split(op, division, made)
        idle = _idle(program, division, made)
        if idle:
            yield {"about": "cores", "text": idle}
        for warning in division.warnings:
            yield {"about": "cores", "text": warning}
    yield {"about": "placement", "text": _placement(program, op)}
    if made is not None and made.spec.op == "ReStickifyOpHBM" and not program.recorded:
        yield {"about": "restickify", "text": _restickify(program, op, readers.get(op.target, []))}


def kept_splits(op: Op, made: TiledOp | None) -> dict[str, int]:
    """Loop variable -> into how many parts the emitted op divides it; as planned where no op is emitted."""
    planned = dict(op.splits)
    if made is None:
        return planned
    plan = made.plan
    parts = {v: [plan.splits[plan.labels[s]] for s in symbols] for v, symbols in made.spec.segments.items()}
    return {v: prod(parts[v]) if v in parts else n for v, n in planned.items()}


def _idle(program: SpyreProgram, division: Division, made: TiledOp | None) -> str:
    """By the splits that the emitted op has; empty when all cores are busy."""
    if made is None or division.source == "none":
        return division.idle
    splits = kept_splits(made.op, made)
    return idle_text(division.units, splits, division.committed, made.plan.cores, program.options.cores)


def _split(op: Op, division: Division, made: TiledOp | None) -> Reason:
    planned = {v: n for v, n in op.splits if n > 1}
    kept = kept_splits(op, made)
    how = " x ".join(f"{v} over {kept[v]}" for v in planned if kept[v] > 1) or "nothing is split"
    text = f"{how}: {_SOURCES.get(division.source, division.source)}"
    for v, n in planned.items():
        if kept[v] != n:
            text += f"; of {v}, planned over {n}, code generation keeps {kept[v]}"
            text += f", as {op.space[v]} elements do not divide by {n}" if op.space[v] % n else ""
    first = {v: n for v, n in division.splits.items() if n > 1}
    if first and first != planned:
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
    before, after = (_stick_dim(graph, op, written) for written in (False, True))
    cost = sum(
        e.cost
        for e in program.layouts.edges
        if e.restickified and e.buffer == read.buffer and any(e.op == consumer.name for consumer in consumers)
    )
    made = graph.buffers[op.target].device
    elements = f"{int(cost or made.elements)} device elements"
    who = ", ".join(f"{c.target} = {c.func}" for c in consumers) or "an output"
    who = f"{who} needs them" if op.aten == "restickify" else f"the {op.aten} writes them"
    given = any(i.name == read.buffer for i in graph.inputs)
    return (
        f"{read.buffer} has its sticks along {before}, and {who} along {after}: a copy of {elements}"
        f" ({made.bytes} bytes) moves them"
        + (f". Another dim order of {read.buffer} may avoid it, if nothing else needs this one" if given else "")
    )


def _stick_dim(graph: Graph, op: Op, written: bool) -> str:
    """Along which dim of the tensor that is read its sticks run, or those of the result."""
    read = op.tensor_reads[0]
    source = graph.buffers[read.buffer]
    coordinates = graph.write_coordinates(op) if written else graph.read_coordinates(op, read)
    variable = stick_of(coordinates, source.device.elements_per_stick).variable
    if variable is None:
        return "no dim"
    step = read.index.step(variable)
    dims = enumerate(zip(source.size, source.stride, strict=True))
    found = next((d for d, (n, s) in dims if n > 1 and s == step), -1)
    return f"dim {found}" if found >= 0 else variable
