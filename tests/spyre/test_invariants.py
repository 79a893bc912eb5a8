"""Whatever is said of one program says the same everywhere: estimate, picture, words, tiles, scratchpad."""

from __future__ import annotations

import itertools
import json
import re
from math import prod

import pytest
import torch
import torch.nn.functional as F

from irwidget.spyre import TensorSpec, compile, spyre_hint
from irwidget.spyre.bundlemlir import bundle_mlir
from irwidget.spyre.card import PARTS
from irwidget.spyre.hardware import MAX_CORES
from irwidget.spyre.picture import picture
from irwidget.spyre.reasons import idle_cores


def looped(a, b):
    with spyre_hint(slices={"M": 4}):
        return a @ b


def T(*size, dtype=torch.float16, dims=None):
    return TensorSpec(size, dtype, dims=dims)


PROGRAMS = {
    "add": (torch.add, [T(512, 1024), T(512, 1024)]),
    "one stick": (torch.exp, [T(64)]),
    "in LX": (lambda x: torch.exp(x + x) - x, [T(2048, 1024)]),
    "broadcast": (torch.mul, [T(512, 256), T(256)]),
    "softmax": (lambda a: a.softmax(-1), [T(256, 512)]),
    "sum of rows": (lambda a: a.sum(0), [T(256, 512)]),
    "padded max": (lambda a: a.amax(-1), [T(100, 100)]),
    "columns that do not divide": (lambda a: a + 1, [T(5, 99)]),
    "matmul": (torch.matmul, [T(512, 256), T(256, 512)]),
    "few rows": (torch.matmul, [T(8, 4096), T(4096, 256)]),
    "K that does not divide": (torch.matmul, [T(67, 255), T(255, 128)]),
    "batches": (torch.matmul, [T(8, 128, 64), T(8, 64, 128)]),
    "split K": (torch.matmul, [T(64, 4096), T(4096, 64)]),
    "norm": (lambda x, w, b: F.layer_norm(x, (512,), w, b), [T(64, 512), T(512), T(512)]),
    "differences": (lambda a: a[1:] - a[:-1], [T(65, 128)]),
    "parts that meet": (lambda a: a[:48] + a[32:80], [T(96, 128)]),
    "windows": (lambda a: a.unfold(0, 3, 2).sum(-1), [T(9, 64)]),
    "both orders": (lambda a: a.t() + a, [T(256, 256)]),
    "rows of part sticks": (lambda a: a.t().contiguous() + 1, [T(99, 100)]),
    "cat": (lambda a, b: torch.cat([a, b], 0), [T(64, 128), T(64, 128)]),
    "cast": (lambda a: a.float() * 2, [T(256, 512)]),
    "host": (lambda x: torch.cumsum(x, 0) * 2, [T(64, 64)]),
    "launched again": (lambda x: torch.exp(torch.sin(torch.exp(torch.sin(torch.exp(x)))[:32])), [T(64, 128)]),
    "attention": (F.scaled_dot_product_attention, [T(1, 4, 128, 64)] * 3),
    "gather": (lambda w, i: w[i] + 1, [T(1000, 256), T(128, dtype=torch.int64)]),
    "loop": (looped, [T(512, 256, dims=["M", "K"]), T(256, 512, dims=["K", "N"])]),
    "write": (lambda a, b: a.copy_(b * 2), [T(128, 128), T(128, 128)]),
    "one core": (lambda a: torch.topk(a, 4)[0], [T(64, 512)]),
}


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request):
    function, inputs = PROGRAMS[request.param]
    return compile(function, inputs, cores=25 if request.param == "norm" else MAX_CORES)


def test_times_add_up(program):
    found, made = program.estimate(), picture(program)
    device = [op for op in made["ops"] if op["time"] is not None]
    sums = [
        sum(op.us for op in found.ops),
        sum(kernel.us for kernel in found.kernels),
        sum(found.bound().values()),
        *(made["estimate"]["us"], sum(kernel["us"] for kernel in made["kernels"])),
        *(sum(op["time"]["us"] for op in device), sum(made["estimate"]["bound"].values())),
    ]
    assert sums == pytest.approx([found.us] * len(sums), abs=1e-3 * len(device))
    assert [op["op"] for op in device] == [op.op for op in found.ops]
    assert len(made["ops"]) - len(device) == found.host_calls == made["estimate"]["host_calls"]
    for op in found.ops:
        parts = [getattr(op, part) for part in PARTS]
        assert max(parts) == getattr(op, op.binds)
        assert max(parts) - 1e-9 <= op.us <= sum(sorted(parts)[-2:]) + 1e-9
        assert op.idle + op.cores == MAX_CORES
    assert found.idle * MAX_CORES * found.us == pytest.approx(sum(op.us * op.idle for op in found.ops))


def test_bytes_are_the_same_wherever_they_are_counted(program):
    made = picture(program)
    for (_, tiled), op in zip(program.tiled, program.estimate().ops, strict=True):
        drawn = next(one for one in made["ops"] if one["op"] == op.op)
        bytes_of, time = op.traffic, drawn["time"]
        assert (bytes_of.read, bytes_of.written) == touched(tiled) == (time["read"], time["written"])
        assert bytes_of.unique <= bytes_of.taken
        assert drawn["moved"] == {"unique": bytes_of.unique, "device": bytes_of.taken, "lx": bytes_of.lx}
        cores = dict.fromkeys(range(op.cores), 0)
        for tile in (tile for t in drawn["tensors"] if t["place"] != "lx" for tile in t["tiles"]):
            for core in tile["cores"]:
                cores[core] += tile["bytes"] * prod(loop["count"] for loop in drawn["loops"])
        assert sum(cores.values()) == bytes_of.taken
    for place, total in made["moved"].items():
        assert total == sum(op["moved"][place] for op in made["ops"])


def touched(tiled):
    """Bytes of device memory that are read and written, each once: the union of all runs of all tiles."""
    runs: dict[tuple[bool, str], list[tuple[int, int]]] = {}
    for tensor in tiled.tensors:
        if tensor.arg.allocation[0] == "lx":
            continue
        found = runs.setdefault((tensor.arg.is_input, tensor.arg.name), [])
        for at in itertools.product(*map(range, tiled.spec.loops)):
            moved = sum(i * step for i, step in zip(at, tensor.advances, strict=True))
            for tile in tensor.tiles:
                for repeat in itertools.product(*(range(count) for count, _ in tile.repeats)):
                    begin = tile.address + moved + sum(i * d for i, (_, d) in zip(repeat, tile.repeats, strict=True))
                    found.append((begin, begin + tile.run))
    return tuple(sum(union(found) for (read, _), found in runs.items() if read is side) for side in (True, False))


def union(runs):
    total, end = 0, 0
    for begin, stop in sorted(runs):
        total += max(0, stop - max(begin, end))
        end = max(end, stop)
    return total


def test_cores_that_are_busy_are_those_that_the_words_say(program):
    made, idle = picture(program), idle_cores(program)
    for op in (op for op in made["ops"] if op["time"] is not None):
        busy = {core for tensor in op["tensors"] for tile in tensor["tiles"] for core in tile["cores"]}
        assert len(busy) == op["cores"] == prod(dim["split"] for dim in op["dims"])
        split = next(one["text"] for one in op["why"] if one["about"] == "split")
        assert prod(int(n) for n in re.findall(r" over (\d+)", split.partition(":")[0])) == op["cores"], split
        why = [one["text"] for one in op["why"] if one["about"] == "cores"]
        assert op["division"]["idle"] == idle.get(op["op"], "") == "".join(why)
        if program.options.cores != op["cores"] and op["division"]["source"] != "none":
            assert why[0].startswith(f"{program.options.cores - op['cores']} of {program.options.cores} cores idle: ")
            parts = [int(n) for n in re.findall(r"to divide, over (\d+)", why[0])]
            assert prod(parts) == op["cores"], why


def test_what_lies_in_lx_is_as_large_as_the_tiles_that_use_it(program):
    made = picture(program)
    blocks = {block["name"]: block for block in made["lx"]["blocks"]}
    used = {}
    for tensor in (t for op in made["ops"] for t in op["tensors"] if t["place"] == "lx"):
        for tile in tensor["tiles"]:
            assert tile["address"] == blocks[tensor["name"]]["address"]
            used[tensor["name"]] = max(used.get(tensor["name"], 0), tile["bytes"])
    assert used == {name: block["bytes"] for name, block in blocks.items()}
    assert made["lx"]["peak"] == max((b["address"] + b["bytes"] for b in blocks.values()), default=0)
    assert made["lx"]["peak"] <= made["lx"]["capacity"]


def test_kernels_of_one_name_are_one(program):
    written = {(kernel.name, bundle_mlir(kernel), json.dumps(dict(kernel.files()))) for kernel in program.kernels}
    assert len(written) == len({name for name, *_ in written}) == program.host.count(" = async_compile.sdsc(")


def test_a_split_that_code_generation_does_not_keep_is_said():
    def said(name):
        op = picture(compile(*PROGRAMS[name]))["ops"][-1]
        return [one["text"] for one in op["why"] if one["about"] in ("split", "cores")]

    split, idle = said("K that does not divide")
    assert split.startswith("out over 2: ")
    assert split.endswith("of in, planned over 4, code generation keeps 1, as 255 elements do not divide by 4")
    assert idle.startswith("30 of 32 cores idle: ")
    assert "in: 4 to divide, over 1" in idle


def test_a_copy_of_sticks_says_along_which_dims_and_when_another_order_may_avoid_it():
    def copies(function, *inputs):
        ops = picture(compile(function, list(inputs)))["ops"]
        return [one["text"] for op in ops for one in op["why"] if one["about"] == "restickify"]

    may = " moves them. Another dim order of arg0_1 may avoid it, if nothing else needs this one"
    assert copies(lambda a: a.t() + a, T(256, 256)) == [
        "arg0_1 has its sticks along dim 1, and buf0 = add needs them along dim 0: a copy of 65536 device elements"
        " (131072 bytes)" + may
    ]
    assert copies(lambda a: a.t().contiguous() + 1, T(99, 100)) == [
        "arg0_1 has its sticks along dim 1, and the clone writes them along dim 0: a copy of 12800 device elements"
        " (25600 bytes)" + may
    ]
    (made,) = copies(lambda a, b: torch.matmul(torch.tanh(a).t(), b), T(256, 128), T(256, 64))
    assert made.endswith(" bytes) moves them")


def test_kernels_are_named_after_what_their_ops_are_of():
    def names(function, *inputs):
        return [kernel.name for kernel in compile(function, list(inputs)).kernels]

    assert names(lambda x: x.split(2)[1] + 1, T(4, 128)) == ["sdsc_fused_add_split_0"]
    assert names(torch.matmul, T(2, 3, 64, 128), T(3, 128, 64)) == ["sdsc_fused_clone_expand_0"]
    for images, last in ((1, "sdsc_fused_convolution_0"), (2, "sdsc_fused_1")):
        found = names(lambda x, w: F.conv2d(x, w, groups=64), T(images, 64, 16, 16), T(64, 1, 3, 3))
        assert found[-1] == last
