"""What host code reads without a GPU: values, computed when it does, by executing launches that gave them.

Never another value than a GPU's program would give to the CPU: what is in doubt is refused, with the reason.
"""

import copy
import ctypes
import random

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.memory import LIMIT
from irwidget.frontends.triton.reading import SECONDS
from irwidget.frontends.triton.tensors import fake_mode
from irwidget.frontends.triton.writes import reaches_anything, written
from tests.triton.kernels import add, add_kernel, recording

CAN_READ = "sm_90"


@triton.jit
def put(p, i, q):
    tl.store(q + i, tl.load(p + i))


@triton.jit
def ahead(p):
    return p + 1


@triton.jit
def many(called, loaded, looped, chosen, passed, returned, front, back, n, N: tl.constexpr):
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
        tl.store(front, i)
        front, back = back, front
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
def by_libdevice(x, out):
    tl.store(out, tl.extra.cuda.libdevice.rcp64h(tl.load(x).to(tl.float64)))


@triton.jit
def address_of(x, out):
    tl.store(out, x.to(tl.int64, bitcast=True))


@triton.jit
def reverse(x, N: tl.constexpr):
    o = tl.arange(0, N)
    v = tl.load(x + o)
    tl.atomic_add(x + o, v)


@triton.jit
def unmasked(x, out):
    tl.extra.cuda.gdc_wait()  # for a launch that was executed already
    o = tl.arange(0, 64)
    tl.store(out + o, tl.load(x + o))


@triton.jit
def copies(pairs, by, out, N: tl.constexpr):
    o = tl.arange(0, N)
    for i in tl.static_range(len(pairs)):
        tl.store(pairs[i][1] + o, tl.load(pairs[i][0] + o) * by[i])
    tl.store(out + o, tl.load(pairs[0][1] + o))


@triton.jit
def bfloat16s(x, y, out, N: tl.constexpr):
    o = tl.arange(0, N)
    a, b = tl.load(x + o), tl.load(y + o)
    tl.store(out + o, a + b)
    tl.store(out + N + o, tl.where(a < b, a * b, -a))
    tl.store(out + 2 * N + o, (a.to(tl.float32) / 3).to(tl.bfloat16))


def ttir(cell):
    (launch,) = frontend.capture(cell, CAN_READ)
    return launch.compiled()[1].data


def test_what_a_kernel_writes_through_is_read_off_its_ir():
    i32, f32 = torch.empty(64, dtype=torch.int32), torch.empty(64)
    text = ttir(lambda: many[(1,)](i32, f32, f32, *[i32] * 5, 100, 64))
    assert written(text) == {"looped", "chosen", "passed", "returned", "front", "back"}
    assert written(ttir(lambda: reading[(1,)](i32, i32, i32, 64))) == {"out"}
    assert written(ttir(lambda: reverse[(1,)](i32, 64))) == {"x"}
    assert reaches_anything(ttir(lambda: through_address[(1,)](torch.empty(1, dtype=torch.int64))))
    assert written("module {}") is None
    assert written(ttir(lambda: copies[(1,)](((i32, f32),), (2,), i32, 64))) == {"pairs", "out"}
    kind = "!tt.ptr<f32> {tt.divisibility = 16 : i32}"
    first, second = (f'{name}: {kind} loc("pairs"(#loc))' for name in ("%pairs", "%pairs_0"))
    before_3_8 = f"""module {{
  tt.func public @f({first}, {second}, %x: f32 loc("x"(#loc))) {{
    tt.store %pairs_0, %x : !tt.ptr<f32> loc(#loc)
    tt.return loc(#loc)
  }} loc(#loc)
}}
"""
    assert written(before_3_8) == {"pairs"}


def test_what_is_written_through_tuples_is_read():
    def cell():
        x, out = torch.arange(8, device="cuda"), torch.zeros(8, dtype=torch.int64, device="cuda")
        y, z = torch.zeros(8, device="cuda"), torch.zeros(8, dtype=torch.int16, device="cuda")
        copies[(1,)](((x, y), (x, z)), (2, 3), out, 8)
        assert [one.tolist()[5:] for one in (y, z, out)] == [[10.0, 12.0, 14.0], [15, 18, 21], [10, 12, 14]]

    with recording(CAN_READ) as launches:
        cell()
    assert launches.reading.launches == 1


def test_lengths_and_offsets_are_read():
    found = []

    def cell():
        jagged = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(4, 3)], layout=torch.jagged, device="cuda")
        assert (jagged.sum(dim=1).shape, jagged.offsets().tolist()) == ((2, 3), [0, 2, 6])
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
    assert launch.notes == ()  # integers, and no launch was executed for them


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


def refused(cell, **options):
    """Why the last line of a cell, which launches something before, reads nothing."""
    with frontend.recording(CAN_READ, **options) as launches:
        put[(1,)](torch.ones(2, device="cuda"), 0, torch.zeros(2, device="cuda"))
        cell()
        raise AssertionError("not reached")
    return next(one.message for one in launches.diagnostics if "needs the value" in one.message)


def _half_written():
    x, y = _empty(4), torch.zeros(4, device="cuda")
    x.view(torch.int16)[::2] = 1
    put[(1,)](x, 3, y)
    y.sum().item()


def _measured():
    x = torch.zeros(64, device="cuda")
    triton.testing.do_bench(lambda: unmasked[(1,)](torch.ones(64, device="cuda"), x))
    x.sum().item()


def _captured():
    x = torch.zeros(64, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x += 1
    x.sum().item()


class _Moves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        made = dy * 1  # of which nobody has said where it is
        host = made.cpu()
        made.zero_()
        assert host.sum().item() == 8


def _moved():
    (_Moves.apply(torch.zeros(4, requires_grad=True, device="cuda")) * 2).sum().backward()


def _changed():
    array = np.zeros(4)
    x = torch.from_numpy(array)
    y = x * 2
    array[0] = 1
    (x + y).sum().item()


def _restored():
    state = torch.get_rng_state()
    torch.rand(4, device="cuda")
    torch.set_rng_state(state)
    torch.rand(4, device="cuda").tolist()


def _places_into():
    places = torch.full((4, 1), 7, device="cuda")
    torch.nonzero(torch.ones(4, device="cuda"), out=places)
    assert places.tolist() == [[0], [1], [2], [3]]


def _tuned_in_place(number=1, **hooks):
    """What an autotuner without and with hooks leaves of numbers that its kernel doubles."""
    configs = [triton.Config({}, num_warps=n) for n in (1, 2)]
    x = torch.full((64,), number, device="cuda", dtype=torch.int32)
    triton.autotune(configs, key=[], **hooks)(reverse)[(1,)](x, N=64)
    return x


def _empty(n):
    return torch.empty(n, device="cuda")


def test_of_a_kernel_that_is_given_addresses_nobody_knows_what_is_outside():
    with frontend.recording("sm_90", values=True) as launches:
        through_address[(1,)](torch.zeros(1, device="cuda", dtype=torch.int64))
    assert "through_address writes outside of its tensors" in launches.diagnostics[0].message
    assert launches[0].outside == []


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        (lambda: torch.zeros(LIMIT // 4 + 1, device="cuda").sum().item(), "a tensor of 64 MiB goes into it"),
        (lambda: torch.nn.Linear(1 << 13, 1 << 12).cuda().weight.sum().item(), "a tensor of 128 MiB"),
        (lambda: _empty(1 << 38).sum().item(), "a tensor of 1048576 MiB goes into it"),  # of which nothing is allocated
        (lambda: _empty(4).sum().item(), "sum: nothing has written all of the tensor that is read"),
        (lambda: f"{_empty(4).sum():.2f}", "sum: nothing has written all of the tensor that is read"),
        (lambda: _empty(4)[:2].copy_(torch.zeros(2, device="cuda")).new_empty(3).tolist(), "nothing has written"),
        (_places_into, "nonzero needs values"),
        (lambda: torch.zeros(4, device="cuda").copy_(_empty(4)).tolist(), "copy_: nothing has written"),
        (lambda: unmasked[(1,)](_empty(64), x := _empty(64)) and x.tolist(), "unmasked reads memory that nothing"),
        (
            lambda: unmasked[(1,)](torch.ones(63, device="cuda"), x := _empty(64)) and x.tolist(),
            "unmasked reads outside of its tensors",
        ),
        (
            lambda: through_address[(1,)](x := torch.zeros(1, device="cuda", dtype=torch.int64)) and x.tolist(),
            "through_address writes outside of its tensors",
        ),
        (
            lambda: address_of[(1,)](_empty(1), x := torch.zeros(1, device="cuda", dtype=torch.int64)) and x.tolist(),
            "address_of computes with addresses, which are others on a GPU",
        ),
        (
            lambda: by_libdevice[(1,)](x := torch.zeros(1, device="cuda"), x) and x.tolist(),
            "nv_rcp64h is not executed: a library's for a GPU",
        ),
        (_half_written, "put reads memory that nothing has written"),
        (_measured, "a launch that a benchmark measures"),
        (_captured, "a CUDA graph"),
        (lambda: _tuned_in_place().sum().item(), "reverse reads what an autotuner's measuring"),
        (
            lambda: _tuned_in_place(pre_hook=lambda named, reset_only=False: named["x"].add_(1)).sum().item(),
            "a hook reads what an autotuner's measuring",
        ),
        (_moved, "moved between CPU and GPU before it was written"),
        (_changed, "a tensor on the CPU, or an array, was changed after the cell had used it"),
        (_restored, "the random state was set"),
        (lambda: torch.rand(4, generator=torch.Generator("cuda")).sum().item(), "rand takes a Generator"),
        (
            lambda: (torch.zeros(4, device="cuda").to(torch.float8_e5m2) * 2).float().tolist(),
            'mul has no values: "mul_cpu',
        ),
    ],
)
def test_what_is_in_doubt_has_no_value_and_a_reason(cell, reason):
    assert reason in refused(cell)


def test_launches_are_not_executed_where_that_is_not_wanted_or_takes_too_long():
    def cell(seconds=20.0, interpret=True):
        x = torch.ones(64, device="cuda")
        assert x.tolist() == [1.0] * 64
        fake_mode().reader.reading.left = seconds
        unmasked[(1,)](x, y := torch.empty_like(x))
        assert interpret or f"{y}" == "FakeTensor(..., device='cuda:0', size=(64,))"
        y.tolist()

    assert "launches are not executed (--no-interpret)" in refused(lambda: cell(interpret=False), interpret=False)
    assert "takes more than 1e-06 s" in refused(lambda: cell(1e-6))
    assert "the time for computing what the cell reads is spent" in refused(lambda: cell(0))


def test_what_a_launch_has_written_is_computed_once_when_it_is_read():
    def cell():
        x = torch.arange(64, device="cuda", dtype=torch.int32)
        y = torch.empty_like(x)
        unmasked[(1,)](x, y)
        x.zero_()
        unmasked[(1,)](x, torch.empty_like(x))  # which nobody reads
        assert y.sum().item() == 2016
        assert y.tolist() == list(range(64))
        assert launches.reading.launches == 1
        assert np.asarray(y[y > 60]).tolist() == [61, 62, 63]
        reverse[(int(y[3]),)](y, 64)  # whose grid depends on values
        assert f"{y[:4]}" == "tensor([ 0,  8, 16, 24], dtype=torch.int32)"

    with recording(CAN_READ) as launches:
        cell()
    assert [one.grid for one in launches] == [(1,), (3,)]
    assert 0 < launches.reading.left < SECONDS
    (note,) = launches.diagnostics
    assert note.message.startswith("2 launches were executed on the CPU in ")
    assert f"because {note.location} and 1 more read results" in note.message
    assert note.location.line == cell.__code__.co_firstlineno + 6


def test_autotuned_kernels_and_compiled_ones_are_executed_as_they_end():
    def zero(named):
        named["x"].zero_()

    configs = [triton.Config({}, num_warps=n, pre_hook=zero) for n in (1, 2)]
    tuned = triton.autotune(configs, key=[])(reverse)

    def cell():
        x = torch.ones(64, device="cuda", dtype=torch.int32)
        tuned[(1,)](x, N=64)
        assert x.tolist() == [0] * 64
        y = torch.ones(64, device="cuda", dtype=torch.int32)
        compiled = reverse.warmup(y, N=64, grid=(1,))
        assert y.sum().item() == 64
        compiled[(1, 1, 1)](y, 64)
        assert y.sum().item() == 128

    for values in (False, True):
        with recording(CAN_READ, values=values) as launches:
            cell()
        assert len(launches) == 3


def test_an_autotuner_resets_what_it_measured_once_and_before_the_configurations_hook():
    plain = [triton.Config({}, num_warps=n) for n in (1, 2)]
    filled = [triton.Config({}, num_warps=n, pre_hook=lambda named: named["x"].fill_(1)) for n in (1, 2)]

    def reset(configs, key=(), prune=None):
        return triton.autotune(
            configs,
            key=[*key],
            reset_to_zero=["x"],
            prune_configs_by={"early_config_prune": prune or (lambda all, *_, **__: all)},
        )(reverse)

    def sums(kernel, dtype=torch.int32):
        """After each of two launches on ones, which it doubles where they are not reset to zero."""
        x = torch.ones(64, device="cuda", dtype=dtype)
        return [(kernel[(1,)](x.fill_(1), N=64), x.sum())[1] for _ in range(2)]

    kept = []
    by_hand = {
        "pre_hook": lambda named, reset_only=False: reset_only or kept.append(named["x"].clone()),
        "post_hook": lambda named, exception: named["x"].copy_(kept.pop()),
    }
    with recording(CAN_READ):
        each = [*sums(several := reset(plain, ["N"])), *sums(several, torch.int64), *sums(reset(filled))]
        each += [*sums(reset(plain[:1])), *sums(reset(plain, prune=lambda all, *_, **__: all[:1]))]
        each += [_tuned_in_place(0).sum(), _tuned_in_place(**by_hand).sum()]
        each += [_tuned_in_place(restore_value=["x"]).sum(), *sums(several)]
        assert torch.stack(each).tolist() == [0, 128, 0, 128, *[128] * 6, 0, *[128] * 4]
    with recording(CAN_READ) as launches:  # a later cell
        assert torch.stack(sums(several)).tolist() == [128, 128]
    assert [launch.config for launch in launches] == [f"num_warps={n}, num_ctas=1, num_stages=3" for n in (1, 2)]
    assert frontend.launch_of(several, "*i32:16", N=64, arch="sm_80").config == launches[0].config
    with recording("gfx942", values=True) as launches:  # another machine
        assert torch.stack(sums(several)).tolist() == [0, 128]
        assert _tuned_in_place(restore_value=["x"]).sum() == 128
        reverse[(1,)](_tuned_in_place(0).add_(1), N=64)
        assert not launches.diagnostics
        assert _tuned_in_place().sum() == 128
        (note,) = launches.diagnostics
        assert "reverse reads what an autotuner's measuring" in note.message


@triton.jit
def cast(x, out):
    o = tl.arange(0, 64)
    tl.store(out + o, tl.load(x + o, mask=o < 60, other=0.0).to(out.dtype.element_ty))


@pytest.mark.parametrize(("kind", "most"), [(torch.float8_e5m2, 57344.0), (torch.float8_e4m3fn, 448.0)])
def test_floats_of_8_bits_are_rounded(kind, most):
    def cell(scale):
        x, narrow, wide = torch.randn(64, device="cuda") * scale, torch.empty(64, dtype=kind, device="cuda"), _empty(64)
        cast[(1,)](x, narrow)
        cast[(1,)](narrow, wide)
        assert wide[:60].tolist() == x[:60].clamp(-most, most).to(kind).float().tolist()
        assert wide[60:].tolist() == [0.0] * 4

    for scale in (1, 1e9):
        assert len(frontend.capture(lambda scale=scale: cell(scale), CAN_READ)) == 2


@pytest.mark.parametrize("values", [False, True])
def test_bfloat16_is_computed_and_rounded_as_on_a_gpu(values):
    def cell():
        torch.manual_seed(0)
        x, y = (torch.randn(64, device="cuda").bfloat16() for _ in range(2))
        out = torch.empty(3, 64, device="cuda", dtype=torch.bfloat16)
        bfloat16s[(1,)](x, y, out, 64)
        wanted = torch.stack([x + y, torch.where(x < y, x * y, -x), (x.float() / 3).bfloat16()])
        assert out.tolist() == wanted.tolist()

    with recording(CAN_READ, values=values) as launches:
        cell()
    assert len(launches) == 1


@triton.jit
def scalars(half, byte, out, scale, one, many: tl.int64, brain: tl.bfloat16, pair, tenth=0.1, N: tl.constexpr = 4):
    o = tl.arange(0, N)
    x, y = tl.load(half + o), tl.load(byte + o)
    tl.store(out + o, x * scale)
    tl.store(out + N + o, x * tenth)
    tl.store(out + 2 * N + o, (y + one) * pair[1])
    tl.store(out + 3 * N + o, many * 2147483647)
    tl.store(out + 4 * N + o, brain * x.to(tl.bfloat16) * pair[0])


def test_scalars_of_a_launch_have_the_types_that_triton_gives_them():
    def cell():
        half = torch.full((4,), 2049.0, device="cuda").half()  # 2048 in 16 bits
        byte = torch.full((4,), 127, device="cuda", dtype=torch.int8)
        out = torch.empty(5, 4, device="cuda", dtype=torch.float64)
        scalars[(1,)](half, byte, out, 1.0001, 1, 3, 1.01, (1.0001, 1))
        single = np.float32
        rows = [single(2048) * single(1.0001), single(2048) * single(0.1), -128, 3 * 2147483647]
        rows.append(single(1.0078125) * 2048 * single(1.0001))
        assert out.tolist() == [[float(row)] * 4 for row in rows]

    with recording(CAN_READ):
        cell()


@pytest.mark.parametrize("values", [False, True])
def test_what_a_gpu_computes_in_32_bits_is_rounded_once(values):
    def computed(x, mean, spread, gradient):
        x.requires_grad_()
        y = torch.nn.functional.batch_norm(x, mean, spread, training=True)
        y.backward(gradient)
        return y, mean, spread, x.grad, torch.log_softmax(x * 8, -1)

    def cell():
        torch.manual_seed(0)
        given = [torch.rand(*shape, device="cuda").half() for shape in ((8, 16, 9), (16,), (16,), (8, 16, 9))]
        wide = [one.float() for one in given]
        for found, wanted in zip(computed(*given), computed(*wide), strict=True):
            assert found.dtype == torch.float16
            assert found.tolist() == wanted.half().tolist()

    with recording(CAN_READ, values=values):
        cell()


@pytest.mark.parametrize("values", [False, True])
def test_what_is_moved_between_cpu_and_gpu_is_copied(values):
    older = torch.zeros(64, dtype=torch.int32)  # than the cell, and the CPU's

    def cell():
        moved = older.cuda()
        moved += 1
        assert (moved.sum().item(), older.sum().item()) == (64, 0)
        half = torch.empty(128, dtype=torch.int32, device="cuda")
        half[:64].zero_()
        unmasked[(1,)](half, torch.empty_like(half))  # reads what is written, and no more
        if values:  # of what is written by an address nothing is known, so that nothing is in doubt
            ctypes.memset(half[64:].data_ptr(), 0, 256)
            unmasked[(1,)](half[64:], half)
        host = torch.zeros(64, dtype=torch.int32)
        pinned = host.pin_memory()
        x = host.to(0)
        before = x.cpu()
        same = torch.as_tensor(x, device="cuda").to(torch.device(torch.cuda.current_device()))
        unmasked[(1,)](torch.ones_like(x), x)
        host[0] = 7
        assert [one.sum().item() for one in (before, x, same, host, pinned)] == [0, 64, 64, 7, 0]
        array = np.zeros(4)
        from_array = torch.as_tensor(array, device="cuda")
        array[0] = 1
        assert not values or from_array.sum().item() == 0
        layer = torch.nn.Linear(2, 2).to("cpu")
        copied = copy.deepcopy(x)
        x.zero_()
        assert copied.sum().item() == 64
        weight = layer.weight.tolist()
        torch.nn.init.zeros_(copy.copy(layer).to(0).weight if not values else copy.deepcopy(layer).to(0).weight)
        assert weight != [[0.0] * 2] * 2
        if values:
            assert layer.weight.tolist() == weight
            _moved()

    with recording(CAN_READ, values=values) as launches:
        cell()
    assert len(launches) == 1
    said = [one.message for one in launches.diagnostics if "run up to here" in one.message or "chance" in one.message]
    assert said == []


def test_draws_begin_anew_with_each_seed():
    assert refused(_restored)  # a state that is not known, of the cell before

    def cell():
        assert len(torch.rand(8, device="cuda").tolist()) == 8
        for seed in (torch.manual_seed, torch.cuda.manual_seed):
            drawn = []
            for _ in range(2):
                seed(5)
                drawn.append((torch.rand(8, device="cuda"), torch.nn.functional.dropout(torch.ones(64, device="cuda"))))
            assert drawn[0][0].tolist() == drawn[1][0].tolist()
            assert drawn[0][1].tolist() == drawn[1][1].tolist()
            assert torch.rand(8, device="cuda").tolist() != drawn[0][0].tolist()
        unmasked[(1,)](torch.ones(64, device="cuda"), _empty(64))

    assert len(frontend.capture(cell, CAN_READ)) == 1


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return add(x, x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return add(dy, dy * x.sign())


_STEPS = [
    lambda pool, one, other: pool.append(one + other * 0.5),
    lambda pool, one, other: pool.append(one.view(4, 16).t().reshape(-1).cumsum(0)),
    lambda pool, one, other: one.add_(other, alpha=0.25),
    lambda pool, one, other: one[::2].mul_(2),
    lambda pool, one, other: one[3:9].copy_(other[9:15].clone()),
    lambda pool, one, other: one.view(8, 8)[2].fill_(0.5),
    lambda pool, one, other: pool.append(one.view(8, 8).sort(-1).values.flatten()),
    lambda pool, one, other: pool.append(torch.empty_like(one).copy_(other)),
    lambda pool, one, other: pool.append(torch.randn_like(one)),
    lambda pool, one, other: one.uniform_(),
    lambda pool, one, other: pool.append(one.detach()),
    lambda pool, one, other: pool.append(torch.where(one > other, one, other)),
    lambda pool, one, other: pool.append(add(one, other)),
    lambda pool, one, other: add_kernel[(2,)](one, other, one, 60, BLOCK=32),
    lambda pool, one, other: add_kernel[(1,)](one, other[4:], one[4:], 32, BLOCK=32),
    lambda pool, one, other: pool.append(_gradient(one, other)),
]


def _gradient(one, other):
    x = one.detach().clone().requires_grad_()
    (Doubled.apply(x) * other.detach()).sum().backward()
    return x.grad


@pytest.mark.parametrize("number", range(3))
def test_a_program_reads_what_it_would_read_where_everything_is_executed(number):
    def cell():
        choose = random.Random(number)
        torch.manual_seed(number)
        pool = [torch.rand(64, device="cuda") for _ in range(3)]
        for _ in range(8):
            choose.choice(_STEPS)(pool, choose.choice(pool), choose.choice(pool))
            if choose.random() < 0.1:
                seen.append(choose.choice(pool).tolist())
        add(pool[0], pool[1])
        seen.extend(choose.sample([one.tolist() for one in pool], len(pool)))

    seen: list[list[float]] = []
    found: list[list[list[float]]] = []
    for values in (False, True):
        with recording(CAN_READ, values=values):
            cell()
        found.append([*seen])
        seen.clear()
    assert found[0] == found[1]
    assert len(found[0]) >= 3


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
            given = torch.zeros(2, device="cuda", dtype=torch.float16)
            torch.exp(torch.zeros_like(given), out=given)
            seen.append(given.tolist())
            Doubled.apply(y).sum().backward()
        seen.append((x @ x).dtype)
        left.__enter__()

    half, single = torch.float16, torch.float32
    at_first = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    with recording(CAN_READ, values=values) as launches:
        cell()
    try:  # a block that the cell does not leave is its own, and the CPU is as it was
        assert seen == [half, single, single, half, half, torch.float64, single, [1.0, 1.0], single]
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

    def beside_others():
        drawn, given = torch.randint(0, 9, (4,), device="cuda"), torch.arange(4, device="cuda")
        seen.append(torch.equal(given, drawn))
        reading[(1,)](given, given, given, 4)

    launches = frontend.capture(beside_others, CAN_READ)
    assert [one.message.partition(" that")[0] for one in launches.diagnostics] == ["random numbers"]


@pytest.mark.parametrize("values", [True, False])
def test_tensors_are_made_of_lists_of_elements(values):
    with recording(CAN_READ, values=values):
        x = torch.tensor([0, 1, 2], dtype=torch.uint8, device="cuda")
        y = add(x.float(), x.float())
        made = [
            torch.tensor([y[1], y[2] * 2, 3]),
            torch.tensor(list(x)),
            torch.tensor([[x[0], True], (x[1], False)], device="cuda"),
            torch.tensor([x[1], 2]),
            torch.as_tensor((y.half()[1], y[2].item())),
            torch.asarray([y[1:2], y[2:]], dtype=torch.float64),
        ]
        found = [(one.tolist(), one.dtype) for one in made]
    assert found == [
        ([2.0, 8.0, 3.0], torch.float32),
        ([0, 1, 2], torch.uint8),
        ([[0, 1], [1, 0]], torch.uint8),
        ([1, 2], torch.int64),
        ([2.0, 4.0], torch.float32),
        ([2.0, 4.0], torch.float64),
    ]
