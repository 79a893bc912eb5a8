"""The tiles that the view shows are those that the executor touches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from irwidget.spyre import TensorSpec, compile, spyre_hint
from irwidget.spyre import execute as executor
from irwidget.spyre.memory import Region
from irwidget.spyre.superdsc import start_address
from irwidget.spyre.tiles import tiled_ops
from tests.spyre import models


def looped(a, b):
    with spyre_hint(slices={"M": 4}):
        return torch.exp(a) * b


def hinted(a, b):
    with spyre_hint(work_div={"K": 2, "M": 2}):
        return a @ b


S = TensorSpec
PROGRAMS = {
    "add": (torch.add, [S((256, 128)), S((256, 128))], {}),
    "broadcast": (torch.add, [S((256, 192)), S((192,))], {"cores": 8}),
    "padding": (torch.add, [S((5, 100)), S((5, 100))], {"cores": 4}),
    "matmul": (torch.matmul, [S((96, 256)), S((256, 512))], {}),
    "partial sums": (hinted, [S((64, 256), dims=["M", "K"]), S((256, 128), dims=["K", "N"])], {}),
    "softmax": (lambda a: torch.softmax(a, -1), [S((64, 512))], {}),
    "softmax over rows": (lambda a: torch.softmax(a, 0), [S((128, 256))], {}),
    "restickify": (F.linear, [S((64, 128)), S((256, 128))], {}),
    "views": (lambda a: (a.view(4, 32, 128) + 1).transpose(0, 1).contiguous(), [S((128, 128))], {"cores": 8}),
    "slice": (lambda a: a[16:48] + a[:32], [S((64, 128))], {"cores": 8}),
    "batched": (torch.bmm, [S((4, 64, 128)), S((4, 128, 64))], {}),
    "shared weight": (torch.matmul, [S((4, 64, 128)), S((128, 256))], {}),
    "loop": (looped, [S((64, 256), dims=["M", "N"]), S((64, 256), dims=["M", "N"])], {"cores": 4}),
    "gather": (lambda w, i: w[i], [S((64, 128)), S((32,), "int64")], {"cores": 4}),
    "fallback": (lambda a: torch.exp(torch.cumsum(a, 1)), [S((16, 128))], {"cores": 4}),
}


def executions(program):
    """Every execution with its tiled op, and a run of the executor to ask where it reads and writes."""
    run = executor._Run(program, False)
    for buffer in program.graph.buffers.values():
        if buffer.layout is not None:
            run._allocate(buffer)
    tiled = {t.spec.source: t for _, t in tiled_ops(program.graph, program.kernels)}
    for kernel in program.kernels:
        for execution in kernel.executions:
            yield run, kernel, execution, tiled[execution.spec.source]


@pytest.mark.parametrize("name", PROGRAMS)
def test_boxes_and_bytes_are_what_the_executor_touches(name):
    function, specs, options = PROGRAMS[name]
    program = compile(function, specs, **options)
    compared = 0
    for run, kernel, execution, tiled in executions(program):
        running = executor._OpRun(run, kernel, execution.spec, execution.iteration)
        for tensor in tiled.tensors:
            arg, buffer = tensor.arg, program.graph.buffers[tensor.arg.name]
            if arg.allocation[0] == "lx" or any(c.indirect for c in arg.device_coordinates):
                continue
            moved = sum(i * n for i, n in zip(execution.iteration, tensor.advances, strict=True))
            base = arg.allocation[1] if arg.allocation[0] == "hbm" else 0
            own = 0 if base else arg.allocation[1]
            elements = run._region(buffer).addresses().reshape(buffer.size) + own
            for core in range(tiled.plan.cores):
                ranges = running._tile(core)
                tile = tensor.tile_of(core)
                if ranges.empty:
                    assert tile is None
                    continue
                at = running._place(arg, ranges).at
                touched = at.addresses() if isinstance(at, Region) else at
                where = np.argwhere(np.isin(elements, touched))
                shift = np.array(
                    [
                        sum(i * s[d] for i, s in zip(execution.iteration, tensor.shifts, strict=True))
                        for d in range(len(buffer.size))
                    ]
                )
                box = [(low + d, high + d) for (low, high), d in zip(tile.box, shift, strict=True)]
                assert box == list(zip(where.min(0), where.max(0), strict=True)), (name, arg.name, core)
                assert tile.address + moved == start_address(
                    tiled.plan, next(t for t in tiled.plan.tensors if t.arg is arg), core, execution.iteration
                )
                sticks = {int(at) // 128 * 128 for at in touched.flat}
                assert pieces(tile, tile.address - base + moved) >= sticks
                if arg.memory is None:
                    assert tile.bytes == 128 * len(sticks)
                    assert len(pieces(tile, 0)) == len(sticks)
                compared += 1
    assert compared


def pieces(tile, start):
    """The sticks of a tile, spelled out."""
    starts = [start]
    for count, distance in tile.repeats:
        starts = [at + i * distance for at in starts for i in range(count)]
    return {at + i for at in starts for i in range(0, tile.run, 128)}


@pytest.mark.parametrize("name", ["loop", "views", "partial sums"])
def test_every_core_has_one_tile_of_each_tensor(name):
    function, specs, options = PROGRAMS[name]
    program = compile(function, specs, **options)
    for _, tiled in tiled_ops(program.graph, program.kernels):
        for tensor in tiled.tensors:
            owners = [core for tile in tensor.tiles for core in tile.cores]
            assert sorted(owners) == list(range(tiled.plan.cores))


def test_a_llama_block_has_a_tile_for_every_operand():
    block = models.LlamaBlock().half()
    x, turn = TensorSpec((1, 64, 128)), TensorSpec((1, 1, 64, 64))
    program = compile(block, (x, turn, turn))
    for _, tiled in tiled_ops(program.graph, program.kernels):
        assert all(tensor.tiles for tensor in tiled.tensors)
        for tensor in tiled.tensors:
            size = program.graph.buffers[tensor.arg.name].size
            assert all(0 <= a <= b < n for t in tensor.tiles for (a, b), n in zip(t.box, size, strict=True))


def test_a_core_may_read_any_row_of_what_it_gathers_from_and_nothing_beside_it():
    """The rows' start that upstream gives each core, by its share of the index, is not where it reads."""
    table, index = torch.randn(1000, 256).half(), torch.randint(0, 1000, (128,))
    program = compile(lambda t, i: t[i], [table, index], cores=32)
    ((_, tiled),) = program.tiled
    (tensor,) = (one for one in tiled.tensors if one.arg.device_size == (4, 1000, 64))
    base = tensor.arg.allocation[1]
    found = [(tile.box, tile.cores, pieces(tile, tile.address - base)) for tile in tensor.tiles]
    assert found == [
        (((0, 999), (64 * i, 64 * i + 63)), tuple(range(4 * i, 4 * i + 4)), {*range(128000 * i, 128000 * (i + 1), 128)})
        for i in range(4)
    ]
    starts = [start_address(tiled.plan, tiled.plan.tensors[tiled.tensors.index(tensor)], core) for core in range(2)]
    assert starts == [base, base + 32000]
