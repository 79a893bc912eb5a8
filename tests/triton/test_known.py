"""What host code can read without a GPU: values that the cell's own numbers give, until a kernel may write to them."""

import copy

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from irwidget.errors import UnsupportedError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.known import FLOATS, LIMIT
from irwidget.frontends.triton.writes import reaches_anything, written

CAN_READ = "sm_80"


@triton.jit
def put(p, i, q):
    tl.store(q + i, tl.load(p + i))


@triton.jit
def ahead(p):
    return p + 1


@triton.jit
def many(called, loaded, looped, chosen, passed, returned, n, N: tl.constexpr):
    o = tl.arange(0, N)
    s = tl.load(called + tl.program_id(0))
    pointers = loaded + o
    into = looped + o
    total = tl.zeros((N,), tl.float32)
    for i in range(n):
        total += tl.load(pointers)
        pointers += N
        if i > 3:
            into = into + 1
        tl.store(into, total)
    while s < 10:
        s += 1
    tl.store(tl.where(s > n, chosen, chosen + 1), s)
    put(called, s, passed)
    tl.store(ahead(returned), s)


@triton.jit
def reading(table, x, out, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(out + o, tl.load(x + o) + tl.load(table))


@triton.jit
def through_address(addresses):
    tl.store(tl.load(addresses).to(tl.pointer_type(tl.int32)), 1)


@triton.jit
def reverse(x, N: tl.constexpr):
    o = tl.arange(0, N)
    v = tl.load(x + o)
    tl.atomic_add(x + o, v)


def ttir(cell):
    (launch,) = frontend.capture(cell, CAN_READ)
    return launch.compiled()[1].data


def test_what_a_kernel_writes_through_is_read_off_its_ir():
    i32, f32 = torch.empty(64, dtype=torch.int32), torch.empty(64)
    text = ttir(lambda: many[(1,)](i32, f32, f32, i32, i32, i32, 100, 64))
    assert written(text) == {"looped", "chosen", "passed", "returned"}
    assert written(ttir(lambda: reading[(1,)](i32, i32, i32, 64))) == {"out"}
    assert written(ttir(lambda: reverse[(1,)](i32, 64))) == {"x"}
    assert reaches_anything(ttir(lambda: through_address[(1,)](torch.empty(1, dtype=torch.int64))))
    assert written("module {}") is None


def test_lengths_and_offsets_are_read():
    found = []

    def cell():
        offsets = torch.tensor([0, 256, 500, 1000], dtype=torch.int32, device="cuda")
        lengths = offsets[1:] - offsets[:-1]
        blocks = triton.cdiv(lengths, 64).tolist()
        table = torch.cat([torch.arange(n, device="cuda") for n in blocks])
        running = torch.zeros(4, dtype=torch.int64, device="cuda")
        running[1:] = lengths.cumsum(0)
        x = torch.empty(64, dtype=torch.int32, device="cuda")
        reading[(len(table),)](offsets, x, x, 64)
        found.extend([blocks, running.tolist(), lengths.max().item(), torch.nonzero(lengths > 250).flatten().tolist()])
        found.extend([offsets.cpu().numpy().tolist(), np.asarray(offsets).dtype, offsets.device.type])

    (launch,) = frontend.capture(cell, CAN_READ)
    assert found == [[4, 4, 8], [0, 256, 500, 1000], 500, [0, 2], [0, 256, 500, 1000], np.dtype("int32"), "cuda"]
    assert launch.grid == (16,)
    assert launch.notes == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda x, other: reading[(1,)](other, other, x, 64),
        lambda x, other: reading[(1,)](other, other, x[2:], 64),
        lambda x, other: through_address[(1,)](torch.empty(1, dtype=torch.int64, device="cuda")),
        lambda x, other: x.copy_(torch.empty(LIMIT + 1, dtype=torch.int32, device="cuda")[:64]),
    ],
)
def test_what_a_kernel_may_have_written_is_not_known_any_more(change):
    def cell():
        x = torch.zeros(64, dtype=torch.int32, device="cuda")
        y = x[1:]
        z = torch.ones(64, dtype=torch.int32, device="cuda")
        reading[(1,)](z, z, torch.empty_like(z), 64)
        assert x.sum().item() == 0
        change(x, z)
        y.sum().item()
        raise AssertionError("not reached")

    launches = frontend.capture(cell, CAN_READ)
    assert "needs the value of a tensor" in launches.diagnostics[-1].message


def test_random_numbers_are_drawn_and_said_to_be():
    kept = []

    def cell(read):
        torch.manual_seed(1)
        target = torch.randint(0, 100, (64,), device="cuda")
        target[3:7] = -100
        x = torch.zeros(64, dtype=torch.int64, device="cuda")
        kept.append((target != -100).sum().item() if read else x.sum().item())
        reading[(1,)](target, x, x, 64)

    before = torch.get_rng_state()
    with torch.random.fork_rng(devices=[]):
        seeded = torch.manual_seed(1).get_state()
        (said,) = frontend.capture(lambda: cell(True), CAN_READ)
        assert torch.equal(torch.get_rng_state(), seeded)  # what is drawn does not move torch's own generator
        (silent,) = frontend.capture(lambda: cell(False), CAN_READ)
    assert torch.equal(torch.get_rng_state(), before)
    assert kept == [60, 0]
    assert "those of the CPU's generator" in said.notes[0].message
    assert silent.notes == ()


def test_a_deep_copy_has_no_values_and_leaves_those_of_its_original():
    def cell():
        x = torch.arange(4, device="cuda")
        state = copy.deepcopy({"x": x, "w": torch.tensor(1.0, device="cuda", requires_grad=True)})
        assert state["w"].requires_grad
        assert state["x"].fake_mode is x.fake_mode
        assert state["x"].shape == x.shape
        assert x.tolist() == [0, 1, 2, 3]
        reading[(1,)](x, x, x, 4)
        state["x"].tolist()

    launches = frontend.capture(cell, CAN_READ)
    assert "needs the value of a tensor" in launches.diagnostics[-1].message


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(LIMIT + 1, dtype=torch.int32, device="cuda"),
        lambda: torch.zeros(FLOATS + 1, device="cuda"),
        lambda: torch.empty(4, device="cuda"),
        lambda: torch.nn.Linear(2, 2).cuda().weight.detach(),
    ],
)
def test_large_tensors_and_those_that_nobody_filled_have_no_values(make):
    with pytest.raises(UnsupportedError, match="needs the value"):
        frontend.capture(lambda: make().sum().item(), CAN_READ)


def test_what_the_cpu_cannot_compute_goes_on_without_values():
    def cell():
        x = torch.zeros(64, dtype=torch.int32, device="cuda")
        assert (torch.zeros(4, dtype=torch.uint32, device="cuda") * 2).shape == (4,)
        reading[(1,)](x, x, x, 64)

    assert len(frontend.capture(cell, CAN_READ)) == 1


@pytest.mark.parametrize("values", [False, True])
def test_autocast_computes_in_the_dtypes_of_a_gpu(values):
    seen = []
    left = torch.autocast("cuda", dtype=torch.bfloat16)

    class Doubled(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda")
        def forward(ctx, x):
            reading[(1,)](x, x, torch.empty_like(x), 64)
            return x.clone()

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, gradient):
            return gradient

    def cell():
        x = torch.randn(64, 64, device="cuda", requires_grad=True)
        with torch.autocast("cuda", dtype=torch.float16):
            y = torch.nn.functional.linear(x, x)
            seen.extend([y.dtype, torch.softmax(y, -1).dtype, torch.nn.functional.layer_norm(y, (64,)).dtype])
            seen.extend([y.mv(y[0]).dtype, y.sum(dtype=torch.float16).dtype, y.double().exp().dtype])
            with torch.autocast("cuda", enabled=False):
                seen.append((x @ x).dtype)
            Doubled.apply(y).sum().backward()
        seen.append((x @ x).dtype)
        left.__enter__()

    half, single = torch.float16, torch.float32
    at_first = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    with frontend.recording(CAN_READ, values=values) as launches:
        cell()
    try:  # a block that the cell does not leave is its own, and the CPU is as it was
        assert seen == [half, single, single, half, half, torch.float64, single, single]
        assert launches[0].compiled()[0].signature["x"] == "*fp16"
        assert (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")) == at_first
    finally:
        left.__exit__(None, None, None)


def test_random_floats_are_read_and_said_to_be_the_cpus():
    seen = []

    def cell():
        x = torch.zeros(64, device="cuda", dtype=torch.int32)
        torch.manual_seed(3)
        seen.append((torch.rand(4, device="cuda") * 2).tolist())
        reading[(1,)](x, x, x, 64)

    launches = frontend.capture(cell, CAN_READ)
    torch.manual_seed(3)
    assert seen == [(torch.rand(4) * 2).tolist()]
    assert [one.message.partition(" that")[0] for one in launches.diagnostics] == ["floats", "random numbers"]
