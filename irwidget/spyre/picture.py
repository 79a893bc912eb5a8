"""A program as plain JSON-able data: everything that the view of it shows. The meaning of each key is said here."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any

from irwidget.garbage import uncollected
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.division import Division
from irwidget.spyre.estimate_data import Traffic
from irwidget.spyre.estimate_view import drawn, time_of
from irwidget.spyre.hardware import LX_BYTES, MAX_CORES, SEGMENT_BYTES, STICK_BYTES
from irwidget.spyre.ir import Buffer, Op
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.options import LAYOUT_SOLVERS, RESTICKIFY_SOLVERS
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.reasons import idle_cores, in_words, reasons
from irwidget.spyre.tiles import TensorTile, TiledOp, TiledTensor

CANDIDATES = 8
"""How many candidates of the cost model are shown."""

SWITCHES = (
    "lx_planning",
    "co_optimizing_lx_planning",
    "allow_all_ops_in_lx_planning",
    "chunk_large_tensors",
    "core_id_k_fast_emission",
    "ignore_hints",
    "linear_weights",
)
"""Options that are on or off."""


@uncollected()
def picture(program: SpyreProgram) -> dict[str, Any]:
    """The program for the view.

    `ops` are in launch order, host calls among them. An op's `tensors` hold its tiles: `box` is first and last of
    each host dim, `address` and `bytes` where it lies, `run` and `repeats` how its bytes repeat from there (count,
    distance), `cores` who touches it. `shifts` and `advances` are what one iteration of each loop adds to boxes and
    addresses. `step` is the op's position in the loop IR, the time axis of `lx` and `pool`. `moved` has the bytes of
    device memory that an op touches, each once (`unique`), and what the cores take and give, each for itself (`device`,
    `lx`). `time` is an estimate.
    """
    positions = {op.name: i for i, op in enumerate(program.graph.ops)}
    files: dict[str, int] = {}
    tiled = {id(t.spec): t for _, t in program.tiled}
    timed = program.estimate()
    times = {op.op: op for op in timed.ops}
    divisions = {d.op: d for d in program.divisions}
    why, idle = reasons(program), idle_cores(program)
    ops: list[dict[str, Any]] = []
    cut: _Cut = {}
    kernels: list[dict[str, Any]] = []
    for step in program.steps:
        if isinstance(step, HostCall):
            ops.append(_host(program, step, positions, files))
            continue
        number = len(kernels)
        kernels.append(_kernel(step) | {"us": round(timed.kernels[number].us, 3)})
        for spec in step.specs:
            made = tiled[id(spec)]
            ops.append(
                _op(
                    program,
                    made,
                    number,
                    positions,
                    files,
                    divisions.get(spec.source),
                    cut,
                    times[spec.source].traffic,
                    idle.get(spec.source, ""),
                )
                | {"why": why.get(spec.source, []), "time": time_of(times[spec.source])}
            )
    for i, op in enumerate(ops):
        op["number"] = i
    return {
        "version": 2,
        "name": program.name,
        "semantics": program.options.semantics,
        "cores": program.options.cores,
        "max_cores": MAX_CORES,
        "stick": STICK_BYTES,
        "steps": len(program.graph.ops),
        "kernels": kernels,
        "ops": ops,
        "buffers": {name: _buffer(program, b) for name, b in program.graph.buffers.items() if b.layout is not None},
        "lx": _lx(program, positions),
        "pool": _pool(program),
        "options": options_of(program),
        "named_dims": dict(program.shared_dims),
        "restickify_cost": program.layouts.cost,
        "moved": {place: sum(op["moved"][place] for op in ops) for place in ("unique", "device", "lx")},
        "estimate": drawn(timed, ops),
        "diagnostics": [d.message for d in program.trace.diagnostics],
        "sources": [{"name": name, "text": "".join(linecache.getlines(name))} for name in files],
    }


def _kernel(kernel: SpyreKernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "pool": kernel.has_pool,
        "arguments": [{"name": n, "base": kernel.bases[n]} for n in kernel.arguments],
    }


def _place(op: Op, files: dict[str, int]) -> list[int]:
    """File and line of the user's source; line 0 when it is not known."""
    file, line = op.line
    return [files.setdefault(file, len(files)), line] if file else [-1, 0]


def _bare(op: Op, positions: Mapping[str, int], files: dict[str, int], kernel: int, mark: str) -> dict[str, Any]:
    return {
        "op": op.name,
        "buffer": op.target,
        "func": op.func,
        "kernel": kernel,
        "unit": "host" if kernel < 0 else "",
        "mark": mark,
        "step": positions.get(op.name, 0),
        "line": _place(op, files),
        "aten": op.aten,
        "dims": [],
        "cores": 0,
        "slices": [],
        "loops": [],
        "tensors": [],
        "moved": {"unique": 0, "device": 0, "lx": 0},
        "division": None,
        "why": [],
        "time": None,
        "module": op.module,
    }


def _host(program: SpyreProgram, step: HostCall, positions: Mapping[str, int], files: dict[str, int]) -> dict[str, Any]:
    made = _bare(step.op, positions, files, -1, "substitute" if step.op.host_reason else "fallback")
    reads = [{"name": r.buffer, "role": "in", "tiles": []} for r in step.op.tensor_reads]
    sent, back = step.transfers(program.graph)
    why = step.op.host_reason or "the device has no OpFunc for it"
    text = f"{step.op.func} runs on the host: {why}. {sent:,} bytes are copied to the host, {back:,} back"
    buffer = step.results[0].target if step.results else step.op.target
    return made | {"buffer": buffer, "reads": reads, "why": [{"about": "fallback", "text": text}]}


def _op(
    program: SpyreProgram,
    made: TiledOp,
    kernel: int,
    positions: Mapping[str, int],
    files: dict[str, int],
    division: Division | None,
    cut: _Cut,
    bytes_of: Traffic,
    idle: str,
) -> dict[str, Any]:
    op, spec, plan = made.op, made.spec, made.plan
    mark = "restickify" if spec.op == "ReStickifyOpHBM" else ""
    symbols = {s: v for v, parts in spec.segments.items() for s in parts}
    names = dict(op.dims)
    tiled_by = {loop.variable: loop.count for loop in op.loops if loop.variable}
    dims: list[dict[str, Any]] = []
    for symbol, (size, _) in spec.iteration_space.items():
        label, v = plan.labels[symbol], symbols.get(symbol, "")
        split = plan.splits[label]  # a restickify's padded dim loses what the OpSpec says
        dims.append(
            {
                "symbol": symbol,
                "variable": v,
                "name": names.get(v, ""),
                "label": label,
                "size": size,
                "padded": plan.sizes[label],
                "tile": plan.sizes[label] // split,
                "split": split,
                "loop": tiled_by.get(v, 1),
                "reduced": symbol in spec.reduced,
                "units": division.units.get(v, size) if division is not None else size,
            }
        )
    bare = _bare(op, positions, files, kernel, mark)
    return bare | {
        "func": spec.op,
        "unit": "pt" if spec.kind == "matmul" else "sfp",
        "dims": dims,
        "cores": plan.cores,
        "slices": _slices(made, cut),
        "loops": [{"dim": loop.dim, "count": loop.count} for loop in op.loops],
        "tensors": [_tensor(tensor, cut) for tensor in made.tensors],
        "moved": {
            "unique": bytes_of.unique,
            "device": bytes_of.taken,
            "lx": bytes_of.lx,
        },
        "division": _division(division, idle) if division is not None else None,
    }


_Cut = dict[object, list[Any]]
"""Tiles and slices that are drawn already: equal ones are one object, which `shared` sends once."""


def _slices(made: TiledOp, cut: _Cut) -> list[list[int]]:
    """For each core, which slice of each dim it has."""
    plan = made.plan
    labels = [plan.labels[symbol] for symbol in made.spec.iteration_space]
    key = (*labels, *plan.splits.items(), *plan.core_order)
    if key not in cut:
        cut[key] = [[plan.slices[core][label] for label in labels] for core in range(plan.cores)]
    return cut[key]


def _tensor(tensor: TiledTensor, cut: _Cut) -> dict[str, Any]:
    arg = tensor.arg
    if id(tensor.tiles) not in cut:
        cut[id(tensor.tiles)] = [_tile(tile) for tile in tensor.tiles]
    return {
        "name": arg.name,
        "role": "index" if arg.is_index else "in" if arg.is_input else "out",
        "place": arg.allocation[0],
        "base": arg.allocation[1],
        "argument": arg.arg_index,
        "coordinates": [str(c) for c in arg.device_coordinates],
        "advances": list(tensor.advances),
        "shifts": [list(shift) for shift in tensor.shifts],
        "tiles": cut[id(tensor.tiles)],
    }


def _tile(tile: TensorTile) -> dict[str, Any]:
    return {
        "box": [list(span) for span in tile.box],
        "address": tile.address,
        "bytes": tile.bytes,
        "run": tile.run,
        "repeats": [list(repeat) for repeat in tile.repeats],
        "cores": list(tile.cores),
    }


def _division(made: Division, idle: str) -> dict[str, Any]:
    candidates = [
        {
            "splits": dict(c.splits),
            "cores": c.cores,
            "cost": round(c.cost, 3),
            "compute": round(c.terms.compute, 3),
            "memory": round(c.terms.memory, 3),
            "partial_sums": round(c.terms.partial_sums, 3),
            "tie": round(c.terms.tie, 3),
            "batch": round(c.terms.batch_factor, 3),
        }
        for c in made.candidates[:CANDIDATES]
    ]
    return {
        "source": made.source,
        "idle": idle,
        "candidates": candidates,
        "count": len(made.candidates),
        "units": dict(made.units),
    }


def _buffer(program: SpyreProgram, buffer: Buffer) -> dict[str, Any]:
    layout = buffer.device
    given = next((i for i in program.graph.inputs if i.name == buffer.name), None)
    name, place = buffer.name, "device memory"
    if name in program.scratchpad.addresses:
        place = f"lx {program.scratchpad.addresses[name]}"
    elif name in program.pool.offsets:
        place = f"pool {program.pool.offsets[name]}"
    return {
        "size": list(buffer.size),
        "stride": list(buffer.stride),
        "dtype": buffer.dtype,
        "kind": buffer.kind,
        "parameter": given.parameter if given else "",
        "dims": list(given.dims) if given else [],
        "order": list(given.dim_order) if given and given.dim_order else None,
        "device_size": list(layout.device_size),
        "stride_map": list(layout.stride_map),
        "format": layout.format.name,
        "item": layout.format.bytes,
        "tag": layout.tag,
        "bytes": layout.bytes,
        "place": place,
    }


def _lx(program: SpyreProgram, positions: Mapping[str, int]) -> dict[str, Any]:
    """What lies in every core's scratchpad, and what does not and why."""
    pad = program.scratchpad
    blocks: list[dict[str, Any]] = [
        {
            "name": name,
            "address": address,
            "bytes": pad.blocks[name].size,
            "first": pad.blocks[name].start,
            "last": pad.blocks[name].end - 1,
            "in_place": pad.in_place.get(name, ""),
        }
        for name, address in pad.addresses.items()
    ]
    peak = max((b["address"] + b["bytes"] for b in blocks), default=0)
    wanted = {n: pad.blocks[n].size for n in pad.blocks if n not in pad.addresses}
    return {
        "capacity": program.options.lx_bytes,
        "whole": max(LX_BYTES, program.options.lx_bytes),
        "peak": peak,
        "blocks": blocks,
        "missed": [{"name": n, "why": in_words(why), "bytes": wanted.get(n, 0)} for n, why in pad.reasons.items()],
    }


def _pool(program: SpyreProgram) -> dict[str, Any]:
    pool, buffers = program.pool, program.graph.buffers
    return {
        "bytes": pool.bytes,
        "segment": SEGMENT_BYTES,
        "blocks": [
            {
                "name": n,
                "offset": o,
                "bytes": buffers[n].device.bytes,
                "first": pool.lives[n][0],
                "last": pool.lives[n][1],
            }
            for n, o in pool.offsets.items()
        ],
    }


def options_of(program: SpyreProgram) -> dict[str, Any]:
    """The options that the view can change, with their values."""
    options = program.options
    return {
        "cores": options.cores,
        "layout_solver": options.layout_solver,
        "restickify_solver": options.restickify_solver,
        "choices": {"layout_solver": list(LAYOUT_SOLVERS), "restickify_solver": list(RESTICKIFY_SOLVERS)},
        "switches": {name: getattr(options, name) for name in SWITCHES},
        "orders": {
            i.parameter or i.name: list(i.dim_order) if i.dim_order else list(range(len(i.size)))
            for i in program.graph.inputs
            if len(i.size) > 1
        },
        "divisions": {buffer: dict(split) for buffer, split in options.divisions.items()},
    }


@uncollected()
def texts(program: SpyreProgram) -> dict[str, Any]:
    """OpSpecs by op, bundle.mlir by kernel, and the SuperDSC files of every execution."""
    import json

    from irwidget.spyre.bundlemlir import bundle_mlir

    made = program.kernels
    return {
        "opspec": {spec.source: str(spec) for kernel in made for spec in kernel.specs},
        "bundle": {kernel.name: bundle_mlir(kernel) for kernel in made},
        "files": [
            {
                "kernel": kernel.name,
                "op": execution.spec.source,
                "iteration": list(execution.iteration),
                "name": execution.filename,
                "text": json.dumps(kernel.superdsc(execution)),
            }
            for kernel in made
            for execution in kernel.executions[:FILES]
        ],
    }


FILES = 1024
"""SuperDSC files of one kernel that are shown; loops with more iterations repeat themselves but for addresses."""
