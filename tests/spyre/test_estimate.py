"""The estimate of time: what its bytes are, what binds, and that it orders published measurements."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks import spyre_time
from irwidget import UsageError
from irwidget.spyre import TensorSpec, card, compile
from irwidget.spyre.card import PARTS
from irwidget.spyre.layers import Repeat, repeats
from irwidget.spyre.picture import picture
from tests.spyre.models import LlamaBlock, rope

KIB = 1 << 10


def matmul(a, b):
    return a @ b


def matmul_estimate(m: int, k: int, n: int, split: tuple[int, int, int]):
    divisions = {"buf0": {f"d{i}": s for i, s in enumerate(split)}}
    return compile(matmul, [TensorSpec((m, k)), TensorSpec((k, n))], divisions=divisions).estimate().ops[0]


def test_unique_bytes_those_read_again_and_those_that_cores_take_are_three_numbers():
    op = matmul_estimate(512, 1024, 2048, (32, 1, 1))
    a, b, c = 512 * 1024 * 2, 1024 * 2048 * 2, 512 * 2048 * 2
    assert (op.traffic.read, op.traffic.written) == (a + b, c)
    assert op.traffic.taken == a + 32 * b + c  # every core takes all of b
    assert op.traffic.again == 3 * b  # one read serves eight cores
    assert op.traffic.shared == 4 * b
    balanced = matmul_estimate(512, 1024, 2048, (4, 8, 1))
    assert balanced.traffic.unique == op.traffic.unique
    assert balanced.traffic.taken == 8 * a + 4 * b + c
    assert balanced.us < op.us


def test_an_elementwise_op_is_bound_by_bytes_and_free_in_lx():
    program = compile(lambda x: torch.exp(x + x) - x, [TensorSpec((2048, 1024))])
    add, exp, sub = program.estimate().ops
    size = 2048 * 1024 * 2
    assert add.traffic.read == size  # both operands are one tensor
    assert [op.traffic.written for op in (add, exp, sub)] == [0, 0, size]
    assert exp.binds in ("sfp", "lx")
    assert exp.memory == 0 < exp.us < add.us
    assert add.memory == pytest.approx(size / 150e3)
    assert sub.memory == pytest.approx(2 * size / 150e3 + 5.74e-6 * size)


def test_the_parts_of_an_op_give_its_time():
    op = matmul_estimate(2048, 2048, 2048, (4, 2, 4))
    ring = 4.5e-5 * 2048 * 2048 * 2
    assert op.pe == pytest.approx(2048**3 / 32 / 1.14e6)
    assert op.us == pytest.approx(max(op.pe, op.memory) + ring)
    assert op.ring >= ring
    assert op.operations == 2 * 2048**3
    few = matmul_estimate(8, 4096, 4096, (1, 32, 1))
    assert few.pe == pytest.approx(8 * 4096 * 4096 / 32 / (1.14e6 * (8 / 64) ** 0.35))
    assert few.binds == "memory"


def test_idle_cores_and_a_core_alone_are_slower():
    whole, one = (compile(torch.neg, [TensorSpec((1024, 1024))], cores=n).estimate() for n in (32, 1))
    assert one.ops[0].idle == 31
    assert one.idle == pytest.approx(31 / 32)
    assert (whole.idle, whole.ops[0].idle) == (0, 0)
    assert one.us > 1.5 * whole.us


def test_loops_read_what_does_not_move_again():
    from irwidget.spyre import spyre_hint

    def looped(a, b):
        with spyre_hint(slices={"M": 4}):
            return a @ b

    shapes = [TensorSpec((512, 256), dims=["M", "K"]), TensorSpec((256, 512), dims=["K", "N"])]
    op = compile(looped, shapes).estimate().ops[0]
    assert op.traffic.read == 2 * 512 * 256 * 2
    assert op.traffic.written == 512 * 512 * 2
    again = 256 * 512 * 2 * 3
    assert op.traffic.again >= again  # b, in three more iterations


def test_a_host_call_is_counted_and_not_timed():
    made = compile(lambda x: torch.cumsum(x, 0) * 2, [TensorSpec((64, 64))])
    found = made.estimate()
    assert found.host_calls == 1
    assert found.host_bytes == 2 * 64 * 64 * 2
    assert [op["time"] is None for op in picture(made)["ops"]].count(True) == 1
    assert "1 host calls are not in it" in str(found)


def test_sorting_and_searching():
    found = compile(LlamaBlock().half(), [torch.zeros(1, 64, 128, dtype=torch.float16), *rope(64, 64)]).estimate()
    us = [op.us for op in found.sorted()]
    assert us == sorted(us, reverse=True)
    assert {op.func for op in found.sorted("again", "batchmatmul")} == {"batchmatmul"}
    assert sum(found.bound().values()) == pytest.approx(found.us) == sum(k.us for k in found.kernels)
    with pytest.raises(UsageError, match="cannot be sorted by 'cost'"):
        found.sorted("cost")
    assert "an estimate" in str(found)


def test_equal_stretches_are_found():
    assert list(repeats("ab" * 9)) == [Repeat(0, 2, 9)]
    layers = [*"xyz", *("abcdefghijklmno" * 4), *"z"]
    assert list(repeats(layers)) == [Repeat(3, 15, 4)]
    assert list(repeats("abcabd")) == []
    assert [list(repeats("abcdefghijkl"[:n] * 2)) for n in (11, 12)] == [[], [Repeat(0, 12, 2)]]


def test_every_figure_says_where_it_is_from():
    from pathlib import Path

    page = Path(__file__, "../../../docs/spyre-time.md").resolve().read_text()
    for constant in card.CONSTANTS:
        assert constant.kind in ("measured", "published", "fitted", "assumption")
        assert f"| {constant.name} |" in page
        row = next(line for line in page.splitlines() if line.startswith(f"| {constant.name} |"))
        assert f"{constant.value:g}" in row
        assert constant.kind in row
    assert [card.stream("pointwise", n) for n in (1, 24, 32)] == [0.58, 0.97, 1.0]
    assert card.stream("matmul", 4) == 0.8


def test_the_picture_has_the_estimate():
    program = compile(matmul, [TensorSpec((256, 512)), TensorSpec((512, 1024))])
    made, found = picture(program), program.estimate()
    assert made["estimate"]["us"] == round(found.us, 3) == made["kernels"][0]["us"]
    assert set(made["ops"][0]["time"]["parts"]) == set(PARTS)
    assert json.dumps(made)


def test_it_orders_published_measurements():
    points = spyre_time.POINTS[::3]
    pairs = {point: spyre_time.estimated(point) for point in points}
    assert spyre_time.spearman([(point.us, us) for point, us in pairs.items()]) > 0.93
    assert spyre_time.spearman([(1, 1), (2, 3), (3, 2)]) == pytest.approx(0.5)
