"""The estimate beside one that is made again from docs/spyre-time.md: every element of every core is walked over."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from math import ceil, log2, prod
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from irwidget.spyre import TensorSpec, compile, spyre_hint
from irwidget.spyre.estimate_data import Traffic
from irwidget.spyre.opspec import OpSpec, TensorArg

SHARE = {
    "other": ([1, 2, 4, 8, 16, 32], [0.58, 0.86, 0.84, 0.9, 0.94, 1]),
    "reduction": ([1, 2, 4, 8, 16, 32], [0.11, 0.22, 0.43, 0.54, 0.54, 1]),
    "matmul": ([16, 25, 32], [0.8, 0.8, 1]),
}


def looped(a, b):
    with spyre_hint(slices={"A": 4}):
        return torch.exp(a) * b


def deep(a, b):
    with spyre_hint(slices={"K": 2}):
        return a @ b


PROGRAMS = {
    "columns beside rows": (lambda a, b: a * b + b, [(32, 192), (32, 1)], {}),
    "ragged": (lambda a: torch.relu(a) - 1, [(37, 100)], {"cores": 8}),
    "sums of rows": (lambda a: a.sum(1) * 2, [(32, 320)], {}),
    "sums of columns": (lambda a: a.sum(0), [(200, 128)], {"cores": 4}),
    "softmax": (lambda a: torch.softmax(a, -1), [(32, 128)], {"cores": 16}),
    "mean of three dims": (lambda a: a.mean((1, 2)), [(8, 16, 128)], {}),
    "few rows": (lambda a, b: a @ b, [(8, 64), (64, 256)], {}),
    "split in depth": (
        lambda a, b: a @ b,
        [(16, 256), (256, 128)],
        {"divisions": {"buf0": {"d0": 2, "d1": 2, "d2": 4}}},
    ),
    "one row to all": (lambda a, b: a @ b, [(64, 64), (64, 64)], {"divisions": {"buf0": {"d0": 32}}}),
    "batches": (lambda a, b: a @ b, [(8, 16, 64), (8, 64, 64)], {}),
    "heads": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), [(1, 4, 32, 64)] * 3, {}),
    "moved sticks": (lambda a, b: a.t() + b, [(128, 64), (64, 128)], {"cores": 4}),
    "joined": (lambda a, b: torch.cat([a, b], 1) * 2, [(16, 64), (16, 128)], {"cores": 8}),
    "norm": (lambda a, w: F.rms_norm(a, (128,), w, 1e-6), [(40, 128), (128,)], {}),
    "a row by all": (lambda a: a * a[:1], [(32, 128)], {}),
    "scores of itself": (lambda k: k @ k.mT, [(1, 2, 64, 64)], {}),
    "a pad": (lambda a: F.pad(a, (0, 28, 3, 2)), [(9, 100)], {"cores": 4}),
    "fewer heads": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [(1, 4, 32, 64), (1, 2, 32, 64), (1, 2, 32, 64)],
        {},
    ),
    "windows of rows": (lambda a: torch.as_strided(a, (8, 4, 64), (64, 64, 1)) * 2, [(16, 64)], {}),
    "windows of two cores": (lambda a: torch.as_strided(a, (8, 4, 64), (64, 64, 1)) * 2, [(16, 64)], {"cores": 2}),
    "without LX": (lambda a: torch.exp(a + a) - a, [(64, 128)], {"lx_planning": False}),
    "one core": (lambda a, b: torch.maximum(a, b) * a, [(16, 128)] * 2, {"cores": 1}),
    "loop over rows": (looped, [((64, 128), "A", "B")] * 2, {"cores": 8}),
    "loop in depth": (deep, [((16, 256), "M", "K"), ((256, 64), "K", "N")], {"cores": 8}),
}


def points(spec: OpSpec) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """The loop variables over all of the iteration space, and the core of each point."""
    space = spec.iteration_space
    axes = np.meshgrid(*(np.arange(int(n)) for n, _ in space.values()), indexing="ij") if space else []
    at = {v: axis.ravel() for v, axis in zip(space, axes, strict=True)} if space else {}
    core = np.zeros(prod(int(n) for n, _ in space.values()), np.int64)
    for v, (n, split) in space.items():
        sticks = [arg.eps for arg in spec.args if v in str(arg.device_coordinates[-1])]
        slice_of = ceil(int(n) / split)
        if sticks:
            slice_of = ceil(slice_of / max(sticks)) * max(sticks)
        core = core * split + at[v] // slice_of
    return at, core


def sticks_of(arg: TensorArg, at: dict[str, Any], count: int) -> np.ndarray[Any, Any]:
    """The number of the stick that each point touches, from the begin of the tensor's memory."""
    names = {"floor": lambda x: np.floor(x).astype(np.int64), "Mod": np.mod, **at}
    found = np.full(count, arg.allocation[1] // 128, np.int64)
    outer = arg.device_size[:-1]
    for i, coordinate in enumerate(arg.device_coordinates[:-1]):
        found = found + eval(str(coordinate), {}, names) * prod(outer[i + 1 :])
    return found


def iterations(spec: OpSpec, arg: TensorArg) -> Iterator[int]:
    """How many sticks each iteration of the loops moves a tensor."""
    advances = arg.advances or (0,) * len(spec.loops)
    for at in itertools.product(*map(range, spec.loops)):
        yield sum(i * step for i, step in zip(at, advances, strict=True)) // 128


def counted(spec: OpSpec) -> Traffic:
    at, core = points(spec)
    sharers = 8 if spec.kind == "matmul" else 32
    read, written = dict[str, set[int]](), dict[str, set[int]]()
    again = shared = taken = lx = 0
    seen: set[Any] = set()
    for arg in spec.args:
        where = sticks_of(arg, at, len(core))
        tiles = [frozenset(where[core == c].tolist()) for c in np.unique(core)]
        moves = list(iterations(spec, arg))
        each = 128 * sum(map(len, tiles)) * len(moves)
        if arg.allocation[0] == "lx":
            lx += each
            continue
        key = (arg.name, arg.is_input, tuple(tiles))
        taken += each
        if key in seen:
            continue
        seen.add(key)
        whole = {stick + move for tile in tiles for stick in tile for move in set(moves)}
        (read if arg.is_input else written).setdefault(arg.name, set()).update(whole)
        if not arg.is_input:
            continue
        for tile, cores in Counter(tiles).items():
            loads = ceil(cores / sharers)
            again += 128 * len(tile) * (loads * len(moves) - len(set(moves)))
            shared += 128 * len(tile) * loads * len(moves) if cores > loads else 0
    for name, union in read.items():
        apart = [found for of, is_input, tiles in seen if is_input and of == name for found in [set().union(*tiles)]]
        again += 128 * (sum(map(len, apart)) - len(union)) if len(apart) > 1 else 0
    once = [128 * sum(map(len, found.values())) for found in (read, written)]
    return Traffic(*once, again, shared, taken, lx)


def cases() -> list[Any]:
    return [pytest.param(*made, id=name) for name, made in PROGRAMS.items()]


def ops_of(function: Any, inputs: Any, options: Any) -> Iterator[tuple[OpSpec, Any]]:
    specs = [TensorSpec(i[0], dims=i[1:]) if isinstance(i[0], tuple) else TensorSpec(i) for i in inputs]
    program = compile(function, specs, **options)
    made = [spec for kernel in program.kernels for spec in kernel.specs]
    estimated = program.estimate().ops
    assert [spec.source for spec in made] == [op.op for op in estimated]
    yield from zip(made, estimated, strict=True)


def computed(spec: OpSpec, cores: int) -> tuple[float, float]:
    """Microseconds of a core's PE array and of its SFP, sticks being whole, also of ops on one element of each."""
    sizes = {v: int(n) for v, (n, _) in spec.iteration_space.items()}
    along = [(v, arg.eps) for arg in spec.args for v in sizes if v in str(arg.device_coordinates[-1])]
    for v, eps in along or [("", max(arg.eps for arg in spec.args))]:
        sizes[v] = ceil(sizes.get(v, 1) / eps) * eps
    steps = prod(spec.loops) * prod(sizes.values()) / cores
    if spec.kind != "matmul":
        widest = max(128 // arg.eps for arg in spec.args)
        return 0, steps * widest / (128 * 1500)
    left, right, out = ({v for v in sizes if v in str(arg.device_coordinates)} for arg in spec.args)
    batches = prod(sizes[v] for v in left & right & out)
    rows = prod(sizes[v] / spec.iteration_space[v][1] for v in out - right)
    rate = 160_000 if batches >= 4 and cores >= 8 else 1.14e6
    return steps / (rate * min(1, rows / 64) ** 0.35), 0


@pytest.mark.parametrize(("function", "inputs", "options"), cases())
def test_bytes_and_microseconds_are_those_of_a_walk_over_all_elements(function, inputs, options):
    for spec, op in ops_of(function, inputs, options):
        bytes_of, cores = counted(spec), prod(split for _, split in spec.iteration_space.values())
        assert op.traffic == bytes_of, spec.op
        kind = "matmul" if spec.kind == "matmul" else "reduction" if spec.is_reduction else "other"
        moved = bytes_of.read + bytes_of.written + bytes_of.again
        turned = 5.74e-6 * min(bytes_of.read + bytes_of.again, bytes_of.written)
        memory = (moved / 150_000 + turned) / float(np.interp(cores, *SHARE[kind]))
        around = bytes_of.shared / (2 * 128 * 1500)
        reduced = prod(spec.iteration_space[v][1] for v in spec.reduced)
        results = prod(int(n) for v, (n, _) in spec.iteration_space.items() if v not in spec.reduced)
        sums = prod(spec.loops) * 4.5e-5 * results * log2(reduced)
        pe, sfp = computed(spec, cores)
        parts = {
            "pe": pe,
            "sfp": sfp,
            "memory": memory,
            "lx": bytes_of.lx / cores / (128 * 1500),
            "ring": around + sums,
        }
        assert {part: getattr(op, part) for part in parts} == pytest.approx(parts), spec.op
        assert op.us == pytest.approx(max(parts["pe"], sfp, memory, parts["lx"], around) + sums)
        assert parts[op.binds] == max(parts.values())
        assert op.cores == cores


def test_the_program_is_the_sum_of_its_ops_in_every_view():
    program = compile(PROGRAMS["heads"][0], [TensorSpec(i) for i in PROGRAMS["heads"][1]])
    found = program.estimate()
    assert found.us == pytest.approx(sum(op.us for op in found.ops))
    assert sum(found.bound().values()) == pytest.approx(found.us)
    assert found.idle == pytest.approx(sum(op.us * (32 - op.cores) for op in found.ops) / (32 * found.us))
