"""Work division: published results, op by op."""

from __future__ import annotations

from math import prod

import pytest
import torch
import torch.nn.functional as F

from irwidget.spyre import TensorSpec, compile


def add(*shape, cores=32, dtype="float16"):
    return (lambda a, b: a + b, [TensorSpec(shape, dtype)] * 2, cores)


def mm(m, k, n, cores=32):
    return (lambda a, b: a @ b, [TensorSpec((m, k)), TensorSpec((k, n))], cores)


def of(function, *shapes, cores=32, dtype="float16", orders=None):
    orders = orders or [None] * len(shapes)
    return (function, [TensorSpec(s, dtype, o) for s, o in zip(shapes, orders, strict=True)], cores)


CASES = [
    ("add 4096", add(4096), {"out": 32}, {"out": 128}),
    ("add 150", add(150), {"out": 3}, {"out": 64}),
    ("add 64", add(64), {"out": 1}, {"out": 64}),
    ("add 67x256", add(67, 256), {"out": 4}, {"mb": 67, "out": 64}),
    ("add 100x150", add(100, 150), {"mb": 25}, {"mb": 4, "out": 192}),
    ("add 8x4096", add(8, 4096), {"out": 32}, {"mb": 8, "out": 128}),
    ("add 12x640 on 8", add(12, 640, cores=8), {"mb": 6}, {"mb": 2, "out": 640}),
    ("add 96x1024 on 24", add(96, 1024, cores=24), {"mb": 24}, {"mb": 4, "out": 1024}),
    ("add 33x2112", add(33, 2112), {"mb": 11}, {"mb": 3, "out": 2112}),
    ("add 7x4480", add(7, 4480), {"out": 14}, {"mb": 7, "out": 320}),
    ("add 5x100x150", add(5, 100, 150), {"x": 25}, {"mb": 5, "x": 4, "out": 192}),
    ("add 2x8x128x64", add(2, 8, 128, 64), {"y": 32}, {"mb": 2, "x": 8, "y": 4, "out": 64}),
    ("add 2x3x4x8x128", add(2, 3, 4, 8, 128), {"y": 4, "i": 8}, {"mb": 2, "x": 3, "y": 1, "i": 1, "out": 128}),
    ("sum rows", of(lambda a: a.sum(0), (256, 1024)), {"mb": 16, "out": 2}, {"mb": 64, "out": 128}),
    ("sum rows fp32", of(lambda a: a.sum(0), (256, 1024), dtype="float32"), {"mb": 32}, {"mb": 32, "out": 256}),
    ("sum middle", of(lambda a: a.sum(1), (8, 512, 256)), {"mb": 8, "x": 4}, {"mb": 1, "x": 64, "out": 512}),
    ("sum two dims", of(lambda a: a.sum((0, 1)), (4, 64, 256)), {"mb": 4, "out": 8}, {"mb": 64, "x": 4, "out": 8}),
    ("mm 512x1024x2048", mm(512, 1024, 2048), {"mb": 4, "out": 8}, {"mb": 128, "out": 256, "in": 1024}),
    ("mm on 16", mm(512, 1024, 2048, 16), {"mb": 2, "out": 8}, {"mb": 256, "out": 256, "in": 1024}),
    ("mm on 8", mm(512, 1024, 2048, 8), {"out": 8}, {"mb": 512, "out": 256, "in": 1024}),
    ("mm on 1", mm(512, 1024, 2048, 1), {}, {"mb": 512, "out": 2048, "in": 1024}),
    ("mm 128x256x512", mm(128, 256, 512), {"mb": 32}, {"mb": 4, "out": 512, "in": 256}),
    ("mm 8x1024x1024", mm(8, 1024, 1024), {"mb": 4, "out": 8}, {"mb": 2, "out": 128, "in": 1024}),
    ("mm 1x4096x4096", mm(1, 4096, 4096), {"out": 32}, {"out": 128, "in": 4096}),
    ("mm 64x64x64", mm(64, 64, 64), {"mb": 32}, {"mb": 2, "out": 64, "in": 64}),
    ("mm 32x4096x128", mm(32, 4096, 128), {"mb": 32}, {"mb": 1, "out": 128, "in": 4096}),
    ("mm 256x8192x256", mm(256, 8192, 256), {"mb": 4, "out": 4, "in": 2}, {"mb": 64, "out": 64, "in": 4096}),
    ("mm 4096 cubed", mm(4096, 4096, 4096), {"mb": 4, "out": 8}, {"mb": 1024, "out": 512, "in": 4096}),
    ("mm 1024x4096x12800", mm(1024, 4096, 12800), {"mb": 4, "out": 8}, {"mb": 256, "out": 1600, "in": 4096}),
    ("mm 128x4096x11008", mm(128, 4096, 11008), {"mb": 8, "out": 4}, {"mb": 16, "out": 2752, "in": 4096}),
    ("mm of a 512 MiB operand", mm(8192, 32768, 4096), {"mb": 16, "in": 2}, {"mb": 512, "out": 4096, "in": 16384}),
    ("mm 100x150x200", mm(100, 150, 200), {"mb": 25}, {"mb": 4, "out": 256, "in": 192}),
    ("bmm 8", of(torch.matmul, (8, 128, 64), (8, 64, 128)), {"mb": 32}, {"x": 8, "mb": 4, "out": 128, "in": 64}),
    (
        "bmm 32",
        of(torch.matmul, (32, 512, 128), (32, 128, 512)),
        {"mb": 4, "out": 8},
        {"x": 32, "mb": 128, "out": 64, "in": 128},
    ),
    (
        "shared weight",
        of(torch.matmul, (4, 128, 256), (256, 512)),
        {"mb": 32},
        {"x": 4, "mb": 4, "out": 512, "in": 256},
    ),
    (
        "lm head",
        of(F.linear, (1, 1, 4096), (49152, 4096), orders=[None, (1, 0)]),
        {"out": 2, "in": 16},
        {"out": 24576, "in": 256},
    ),
    ("add 2 GiB", add(65536, 16384), {"out": 8, "mb": 4}, {"mb": 16384, "out": 2048}),
    ("add 1 GiB", add(2**29), {"out": 4}, {"out": 2**27}),
    ("add 768 MiB", add(3, 262144, 512), {"x": 4, "out": 8}, {"mb": 3, "x": 65536, "out": 64}),
    ("transposed copy", of(lambda a: a.t().contiguous(), (256, 512)), {"mb": 8, "out": 4}, {"mb": 64, "out": 64}),
]


@pytest.mark.parametrize(("case", "splits", "tile"), [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_published_divisions(case, splits, tile):
    function, specs, cores = case
    program = compile(function, specs, cores=cores)
    facts = program.to_dict()["kernels"][-1]["ops"][-1]["sdsc"]
    assert {d: n for d, n in facts["splits"].items() if n > 1} == {d: n for d, n in splits.items() if n > 1}
    assert facts["per_core_tile"] == {f"{d}_": n for d, n in tile.items()}
    assert facts["cores_used"] == prod(splits.values())


def test_cores_that_share_a_result_are_neighbours():
    facts = compile(*mm(8192, 32768, 4096)[:2]).to_dict()["kernels"][0]["ops"][0]["sdsc"]
    first = [(s["in"], s["mb"]) for s in facts["coreIdToWkSlice_first4"].values()]
    assert first == [(0, 0), (1, 0), (0, 1), (1, 1)]
    plain = compile(*mm(8192, 32768, 4096)[:2], core_id_k_fast_emission=False).to_dict()["kernels"][0]["ops"][0]["sdsc"]
    assert [s["mb"] for s in plain["coreIdToWkSlice_first4"].values()] == [0, 1, 2, 3]


def test_decisions_are_kept_as_data():
    division = compile(*mm(512, 1024, 2048)[:2]).divisions[0]
    best = division.candidates[0]
    assert dict(best.splits) == dict(division.splits)
    terms = best.terms
    total = (terms.compute + terms.memory + terms.partial_sums + terms.tie) * terms.batch_factor
    assert best.cost == pytest.approx(total)
    assert all(a.cost <= b.cost for a, b in zip(division.candidates, division.candidates[1:], strict=False))
    assert "idle" in compile(*add(150)[:2]).divisions[0].idle


def test_large_tensors_are_cut_into_chunks_on_request():
    shape = (32, 8193, 1740)
    program = compile(*add(*shape)[:2], chunk_large_tensors=True)
    chunks = [dict(spec.iteration_space)["c1"] for kernel in program.kernels for spec in kernel.specs]
    assert [n for n, _ in chunks] == [8192, 1]
    assert program.divisions[0].cores == 32
