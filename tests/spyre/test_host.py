"""What the device cannot do: calls on the host, inputs that are written into, and what Dynamo hands over."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

import irwidget.spyre as spyre
from irwidget.errors import UnsupportedError
from irwidget.spyre import compile, lowering
from irwidget.spyre.bundling import HostCall


def half(*size: int) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(0)).half()


def on_host(program) -> list[str]:
    return [step.op.func for step in program.steps if isinstance(step, HostCall)]


def equal_to_eager(function, *inputs: torch.Tensor, **options) -> spyre.SpyreProgram:
    """Run it compiled and eagerly, and compare the results and what it leaves in its inputs."""
    mine, eager = [t.clone() for t in inputs], [t.clone() for t in inputs]
    program = compile(function, mine, **options)
    got, want = program.run(*mine), function(*eager)
    for a, b in zip([*_flat(got), *mine], [*_flat(want), *eager], strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        torch.testing.assert_close(a.double(), b.double(), rtol=2e-3, atol=2e-3, equal_nan=True)
    return program


def _flat(value) -> list[torch.Tensor]:
    return [v for v in torch.utils._pytree.tree_leaves(value) if isinstance(v, torch.Tensor)]


# -- ops without a lowering ------------------------------------------------------------------------


def test_an_op_without_opfunc_runs_on_the_host_and_is_marked():
    program = equal_to_eager(lambda a: torch.erf(a) + 1, half(64, 128))
    assert on_host(program) == ["erf"]
    (call,) = [s for s in program.steps if isinstance(s, HostCall)]
    assert call.transfers(program.graph) == (64 * 128 * 2, 64 * 128 * 2)
    assert "erf runs on the host: no OpFunc" in "\n".join(d.message for d in program.trace.diagnostics)
    compile_source = program.host
    assert "torch.ops.aten.erf.default(" in compile_source


def test_a_number_of_zero_is_divided_by_through_its_reciprocal():
    program = equal_to_eager(lambda a: a / -0.0, half(4, 64).abs() + 0.5)
    assert [spec.op for kernel in program.kernels for spec in kernel.specs] == ["mul"]


@pytest.mark.parametrize(("exponent", "where"), [(-0.5, ["pow"]), (32, ["pow"]), (31, [])])
def test_powers_that_upstream_does_not_take_apart_run_on_the_host(exponent, where):
    assert on_host(equal_to_eager(lambda a: a**exponent, half(4, 64).abs() + 0.5)) == where


def test_a_batched_addmm_is_left_to_the_host_as_the_real_front_end_leaves_it():
    assert on_host(equal_to_eager(torch.baddbmm, half(2, 8, 64), half(2, 8, 64), half(2, 64, 64) / 8)) == ["baddbmm"]


def test_rms_norm_without_eps_takes_that_of_eager():
    equal_to_eager(lambda x: torch.nn.functional.rms_norm(x, (64,)), half(4, 64) / 1000)


def test_several_results_of_a_host_op_and_only_those_that_are_read():
    def median(a):
        return a.median(1).values * 2

    assert on_host(equal_to_eager(median, half(8, 65))) == ["median"]
    program = equal_to_eager(lambda a: torch.mode(a, 1), half(3, 4))
    (call,) = [s for s in program.steps if isinstance(s, HostCall)]
    assert [result.part for result in call.results] == [0, 1]
    assert f"= {call.op.buffer}[1]" in program.host


@pytest.mark.parametrize(
    "function",
    [
        lambda a, i: a[i[:2], i[2:4]],
        lambda a, i: torch.gather(a, 0, i.view(1, 4).expand(1, 4)),
        lambda a, i: torch.bitwise_xor(i, 3),
        lambda a, i: i.max(0).values,
        lambda a, i: ~i,
        lambda a, i: (a[:4, 0] > 0) & i,
    ],
    ids=["two indices", "gather", "integers", "extremes of integers", "not", "bool and integers"],
)
def test_what_only_the_host_can_do_is_right(function):
    equal_to_eager(function, half(8, 64), torch.tensor([1, 0, 3, 2]))


def test_what_is_refused_runs_on_the_host_where_that_is_asked_for():
    def variance(a):
        return torch.var(a, -1) + a.sum(-1)

    with pytest.raises(UnsupportedError, match="variance"):
        compile(variance, [half(4, 64)])
    program = equal_to_eager(variance, half(4, 64), host_for_refused=True)
    assert "var" in on_host(program)

    def wide(a, b):
        return (a @ b) * 2

    with pytest.raises(UnsupportedError, match="batchmatmul on DataFormats.IEEE_FP32"):
        compile(wide, [half(4, 64).float(), half(64, 64).float()])
    program = equal_to_eager(wide, half(4, 64).float(), half(64, 64).float(), host_for_refused=True)
    assert on_host(program) == ["matmul"]
    (note,) = [d for d in program.trace.diagnostics if "host" in d.message]
    assert "the front end refuses it" in note.message
    assert note.location is not None
    assert note.location.file == __file__


def test_what_is_refused_in_several_places_is_found_in_one_attempt(monkeypatch):
    def layers(a, b, w):
        for _ in range(2):
            b = (b @ w) * 2
        return a[1:, 28:92] + 1, a[2:, 28:92].sum(1), b

    attempts = []
    lower = lowering.lower_graph
    monkeypatch.setattr(lowering, "lower_graph", lambda *given: attempts.append(dict(given[3])) or lower(*given))
    program = equal_to_eager(layers, half(5, 100), half(4, 64).float(), half(64, 64).float() / 8, host_for_refused=True)
    assert on_host(program) == ["add", "sum", "matmul", "matmul"]
    assert [len(attempt) for attempt in attempts] == [0, 4]


def two_dims(x, y):
    x[1:3, 64:128] = y[1:3, :64] * 2


def former_value_is_kept(x, y):
    former = x * 1
    z = x + 1
    x[1:3] = y[1:3]
    return former + z, x[2:] * 2


def from_itself(x, y):
    x[4:] = x[:4]
    return y + x


def several_parts(x, y):
    x[:2] = y[:2]
    x[4:6] = x[:2] * 2
    x[:, :64].mul_(2)
    return y + x


def filled(x, y):
    x[:3] = torch.ones_like(x[:3])


@pytest.mark.parametrize(
    ("function", "ops"),
    [
        (filled, ["identity", "identity"]),
        (two_dims, ["mul", "identity", "identity"]),
        (former_value_is_kept, ["mul", "add", "add", "identity", "mul"]),
        (from_itself, ["identity", "identity", "add", "identity"]),
        (several_parts, ["identity", "mul", "identity", "mul", "identity", "add"]),
    ],
)
def test_a_part_of_an_input_is_written_where_it_lies(function, ops):
    program = equal_to_eager(function, half(8, 128), half(8, 128) * 3)
    assert [spec.op for kernel in program.kernels for spec in kernel.specs] == ops
    written = [spec.args[-1] for kernel in program.kernels for spec in kernel.specs if spec.op == "identity"]
    assert {arg.name for arg in written[-1:]} <= set(program.call_inputs)


def test_an_input_that_is_read_and_written_is_an_argument_in_both_places():
    def add(x, y):
        x.add_(y)
        return x * 2

    program = equal_to_eager(add, half(8, 128), half(8, 128))
    (kernel,) = program.kernels
    x, y = program.call_inputs
    assert [kernel.arguments.index(name) for name in kernel.arguments] == [0, 1, 2, 3, 0]
    assert (kernel.arguments[0], kernel.arguments[1]) == (x, y)
    assert [spec.args[-1].allocation for spec in kernel.specs] == [("lx", 0), ("hbm", 3 << 34), ("hbm", 0)]


def assigned(a, b):
    a = a.clone()
    a[1:3, 28:60] = b
    return a


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda a: a[1:, 28:60] + 1, [(4, 100)]),
        (lambda a: a[1:, 28:92].sum(1), [(5, 100)]),
        (lambda a, b: a[1:, 28:92] @ b, [(5, 100), (64, 64)]),
        (lambda a, b: torch.cat([a[1:, 28:92], b]), [(4, 100), (2, 64)]),
        (lambda a: nn.functional.pad(a, (28, 5, 1, 0)), [(3, 67)]),
    ],
    ids=["add", "sum", "matmul", "cat of a slice", "pad"],
)
def test_what_begins_inside_a_stick_is_refused_or_right_on_the_host(function, sizes):
    """Of ragged rows, a start that is whole sticks into the tensor (128 of rows of 100) may be inside a stick."""
    with pytest.raises(UnsupportedError, match="no supported output layout|cannot be restickified"):
        compile(function, [half(*size) for size in sizes])
    assert on_host(equal_to_eager(function, *(half(*size) for size in sizes), host_for_refused=True))


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda a: a[:, 1:, 28:60] + 1, [(64, 8, 100)]),
        (lambda a: a[:, 1:, 28:60].sum(-1), [(64, 8, 100)]),
        (lambda a, b: torch.cat([a[1:, 28:60], b]), [(4, 100), (2, 32)]),
        (lambda a, b: torch.cat([a, b], 1), [(3, 32), (3, 16)]),
        (lambda a: nn.functional.pad(a, (3, 1)), [(4, 60)]),
        (lambda a, b: torch.cat([a, b]), [(3, 65), (5, 65)]),
        (lambda a: nn.functional.pad(a, (0, 95, 2, 0)), [(3, 5)]),
        (assigned, [(4, 100), (2, 32)]),
    ],
    ids=[
        *["add", "sum", "cat of a slice", "cat inside a stick", "pad inside a stick"],
        *["cat of ragged rows", "pad to ragged rows", "assigned to ragged rows"],
    ],
)
def test_what_begins_inside_a_stick_and_can_be_moved_runs_on_the_device(function, sizes):
    assert on_host(equal_to_eager(function, *(half(*size) for size in sizes))) == []


def test_what_a_view_is_of_is_known():
    def of_an_input(a):
        part = a[:, 1:2]
        part.fill_(2.0)
        return part._base

    def of_a_result(a):
        made = a * 2
        part = made[:, 1:2].T
        part.fill_(3.0)
        assert made._base is None is part._base._base
        return part._base, made + 1

    for function in (of_an_input, of_a_result):
        program = equal_to_eager(function, half(4, 64))
        assert len(_flat(program.run(half(4, 64)))) == len(_flat(function(half(4, 64))))


@pytest.mark.parametrize("dim", [0, 1])
def test_a_decomposition_that_writes_in_place_keeps_what_it_wrote(dim):
    x = half(8, 64)
    x[::3, ::5] = torch.nan
    program = equal_to_eager(lambda a: torch.nanmean(a, dim), x, host_for_refused=True)
    assert not [n for n in program.captured.graph.graph.nodes if str(n.target).endswith("_.default")]


@pytest.mark.parametrize(
    "function", [torch.nonzero, lambda a: a[a > 0], lambda a: a * a.sum().item(), lambda a: a + 1 if a.sum() > 0 else a]
)
def test_what_depends_on_values_is_refused_at_the_users_line(function):
    with pytest.raises(UnsupportedError, match=rf"depends on values[^\n]*\n  at {__file__}:\d+"):
        compile(function if function is not torch.nonzero else lambda a: torch.nonzero(a), [half(8)])


# -- repeats, empty tensors, casts -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "times"),
    [
        ((2, 64), (3, 2)),
        ((3, 5), (2, 1)),
        ((3, 1), (2, 3, 70)),
        ((4, 128), (1, 3)),
        ((2, 3, 64), (2, 1, 1)),
        ((), (3,)),
    ],
)
def test_a_repeat_is_a_copy_on_the_device(size, times):
    assert on_host(equal_to_eager(lambda a: a.repeat(times), half(*size))) == []


def test_a_repeat_that_cuts_sticks_is_made_on_the_host():
    assert on_host(equal_to_eager(lambda a: a.repeat(2, 3), half(3, 5))) == ["repeat"]


def test_an_empty_piece_of_a_cat_is_no_piece():
    equal_to_eager(lambda a: torch.cat([torch.tensor([], dtype=a.dtype), a], -2), half(1, 8, 64))
    for empty in (torch.empty(0).half(), torch.empty(0)):
        equal_to_eager(lambda a, b: torch.cat([a, b], -2), empty, half(1, 8, 64))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a[:0] * 2,
        lambda a: a.split([3, 0, 5])[1].softmax(-1).t(),
        lambda a: (torch.zeros(0, 2), a + 1),
        lambda a: a[:0].add_(1),
        lambda a: (a[:0].sum(0), a[:, :0] @ a[:0]),
    ],
    ids=["computed", "a part", "made", "written", "read"],
)
def test_what_is_empty_needs_no_kernel(function):
    equal_to_eager(function, half(8, 64), host_for_refused=True)


def test_what_is_empty_may_be_written_but_not_read():
    equal_to_eager(lambda a: a.add_(1), torch.empty(0, 64).half())
    with pytest.raises(UnsupportedError, match="is empty"):
        compile(lambda a: a.sum(), [torch.empty(0).half()])


def test_short_rows_that_are_cast_start_a_stick_each():
    program = equal_to_eager(lambda a: (a.float() + 1).half(), half(4, 16))
    assert program.kernels[0].specs[0].args[-1].device_size == (1, 8, 32)


# -- inputs that are written into ------------------------------------------------------------------


def swap(x, y):
    t = x.clone()
    x.copy_(y)
    y.copy_(t)


def cache(x, y):
    x[:, 2:4] = y
    return x.sum(-1)


def transposed(x, y):
    x.t().copy_(y)
    return x.t().contiguous()


def part(x, y):
    torch.ops.spyre.overwrite(y, x, [1, 2], [2, 0])
    return x + 1


def before(x, y):
    c = x.clone()
    x.add_(1.0)
    return c + y


def at(x, y):
    return x.index_copy_(1, torch.tensor([3, 5]), y) * 2


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (swap, [(4, 64), (4, 64)]),
        (cache, [(2, 8, 64), (2, 2, 64)]),
        (transposed, [(64, 128), (128, 64)]),
        (part, [(2, 8, 64), (2, 2, 64)]),
        (before, [(4, 64), (4, 64)]),
        (at, [(2, 8, 64), (2, 2, 64)]),
    ],
)
def test_an_input_that_is_written_into_has_its_new_value(function, sizes):
    equal_to_eager(function, *(half(*size) * (i + 1) for i, size in enumerate(sizes)))


def test_a_buffer_of_a_module_that_is_written_into_has_its_new_value():
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("sums", torch.zeros(64).half())

        def forward(self, x):
            self.sums += x.sum(0)
            return x + self.sums

    mine, eager, x = Running(), Running(), half(4, 64)
    torch.testing.assert_close(compile(mine, [x]).run(x), eager(x), rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(mine.sums, eager.sums, rtol=2e-3, atol=2e-3)


# -- upstream's own operators ----------------------------------------------------------------------

ONE, ZERO = torch.ones(128).half(), torch.zeros(128).half()


def norm_in_parts(x, one, zero):
    moments = torch.ops.spyre.exx2(x, 1 / 128, False)
    return torch.ops.spyre.layernormnorm(x, moments, torch.ops.spyre.layernormscale(moments, 1e-5), one, zero)


@pytest.mark.parametrize(
    ("function", "ops"),
    [
        (lambda x, *_: torch.ops.spyre.softplus(x), ["softplus"]),
        (lambda x, *_: torch.ops.spyre.clamp(x, -1, 1), ["clip"]),
        (lambda x, *w: torch.ops.spyre.layer_norm(x, [128], *w), ["exx2", "layernormscale", "layernormnorm"]),
        (norm_in_parts, ["exx2", "layernormscale", "layernormnorm"]),
        (lambda x, *_: torch.ops.spyre.topkvalue(x, 2, 0), ["topkvalue"]),
        (lambda x, *_: torch.ops.spyre.overwrite_f(x[:2], x, [0], [1]), ["identity", "identity"]),
    ],
    ids=["softplus", "clamp", "layer_norm", "layernormnorm", "topkvalue", "overwrite_f"],
)
def test_an_operator_of_upstream_has_a_lowering_and_a_value(function, ops):
    spyre.compile(lambda x: x + 1, [half(4, 64)])  # registers them
    program = equal_to_eager(function, half(4, 128), ONE, ZERO)
    assert [spec.op for kernel in program.kernels for spec in kernel.specs] == ops


def test_a_scaled_matmul_of_float8():
    def scaled(a, b, s, t):
        return torch._scaled_mm(a, b, scale_a=s, scale_b=t, out_dtype=torch.float16)

    a, b = half(32, 128).to(torch.float8_e4m3fn), half(64, 128).to(torch.float8_e4m3fn).t()
    scales = torch.tensor(0.5), torch.tensor(0.25)
    program = compile(scaled, [a, b, *scales])
    assert program.kernels[0].specs[0].op == "batchmatmulfp8"
    want = (a.float() @ b.float()) * 0.125
    torch.testing.assert_close(program.run(a, b, *scales).float(), want, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("out", [None, torch.float16, torch.bfloat16, torch.float32])
def test_the_dtype_of_a_scaled_matmul(out):
    a, b = half(8, 64).to(torch.float8_e4m3fn), half(64, 64).to(torch.float8_e4m3fn).t()
    one = torch.tensor(1.0)

    def scaled(a, b, s, t):
        return torch._scaled_mm(a, b, scale_a=s, scale_b=t, out_dtype=out).float()

    got, want = compile(scaled, [a, b, one, one]).run(a, b, one, one), scaled(a, b, one, one)
    torch.testing.assert_close(got, want, rtol=0.13 if out is None else 1e-2, atol=2e-2)


def test_what_is_quantized_is_rounded():
    equal_to_eager(lambda a: a.to(torch.float8_e4m3fn).half() * 2, half(4, 128))


def test_a_constant_that_is_cast():
    equal_to_eager(lambda a: a * torch.tensor(1.5).half(), half(4, 64))


# -- Dynamo ----------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(64, 128), nn.LayerNorm(128), nn.Linear(128, 64)

    def forward(self, x):
        return self.last(torch.erf(self.norm(self.first(x)))).softmax(-1)


class Trained(Net):
    """With what training changes beside its weights: running means, a counter, a mask that is written."""

    def __init__(self):
        super().__init__()
        self.batch = nn.BatchNorm1d(64)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mask", torch.ones(8, 64))

    def forward(self, x):
        self.steps += 1
        self.mask[2:4] = 0.0  # a constant of the graph
        return super().forward(self.batch(x) * self.mask)


def batch_normed():
    return nn.Sequential(nn.BatchNorm1d(64), nn.Linear(64, 64))


@pytest.mark.parametrize(("make", "dtype", "off"), [(Trained, None, 1e-4), (batch_normed, torch.bfloat16, 2e-2)])
def test_training_gives_the_gradients_and_buffers_of_eager(make, dtype, off):
    torch.manual_seed(0)
    mine, eager = make(), make()
    eager.load_state_dict(mine.state_dict())
    x = half(8, 64).float()
    before = len(spyre.programs())
    for net in (torch.compile(mine, backend="irwidget_spyre"), eager):
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            made = net(x)
        (made * torch.arange(512.0).sin().view(8, 64)).sum().backward()
    assert len(spyre.programs()) - before == 2
    pairs = [(a.grad, b.grad) for a, b in zip(mine.parameters(), eager.parameters(), strict=True)]
    for a, b in pairs + list(zip(mine.buffers(), eager.buffers(), strict=True)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        torch.testing.assert_close(a, b, rtol=1e-4, atol=off * b.abs().max().item())


def test_a_model_without_values_is_compiled_and_gives_none():
    def shifted(x):
        return x + torch.arange(x.shape[-1], device=x.device)

    net = nn.Sequential(nn.Embedding(100, 64), nn.Linear(64, 128), nn.GELU()).half().to("meta").requires_grad_(False)
    before = len(spyre.programs())

    def counted(i):  # of integers, which the host alone cannot do
        return shifted(net(i)), torch.histc(i, 4, 0, 3)

    made, counts = torch.compile(counted, backend="irwidget_spyre")(torch.zeros(2, 4, device="meta").long())
    assert made.is_meta
    assert (counts.is_meta, counts.shape, counts.dtype) == (True, (4,), torch.int64)
    assert (made.shape, made.dtype) == ((2, 4, 128), torch.float16)
    (program,) = spyre.programs()[before:]
    assert [spec.op for kernel in program.kernels for spec in kernel.specs].count("batchmatmul") == 1
    assert "embedding" in on_host(program)


def test_ops_know_the_users_line_and_module_through_dynamo_and_without():
    net = Net().half().requires_grad_(False)
    x = half(8, 64)
    torch.compile(net, backend="irwidget_spyre")(x)
    both = (spyre.programs()[-1], compile(net, [x]))
    first, second = ([spec.op for kernel in program.kernels for spec in kernel.specs] for program in both)
    assert first == second  # also the layouts of the weights of linear layers, which cost a restickify each
    for program in both:
        matmuls = [op for op in program.graph.ops if op.kind == "matmul"]
        assert [op.module for op in matmuls] == ["first", "last"]
        (erf,) = [op for op in program.graph.ops if op.func == "erf" and op.kind == "fallback"]
        assert erf.line[0] == __file__


def test_a_result_of_a_call_on_the_host_gives_a_kernel_no_name():
    program = compile(lambda x: torch.sort(x * 2)[0] + 1, [spyre.TensorSpec((8, 64))])
    assert [kernel.name for kernel in program.kernels] == ["sdsc_fused_mul_0", "sdsc_fused_add_1"]
    (call,) = (line for line in program.host.splitlines() if "aten.sort" in line)
    assert call.split("(", 1)[0].endswith("torch.ops.aten.sort.stable")
    assert "stable=False, dim=1, descending=False)" in call


@pytest.mark.parametrize(
    ("function", "on_cpu"),
    [(lambda x, y: x.t() + y, "add"), (lambda x, y: x.t().contiguous() * 2 + y, "clone")],
)
def test_sticks_of_float32_are_not_moved_as_upstream_refuses_it(function, on_cpu):
    given = half(64, 128).float(), half(128, 64).float()
    with pytest.raises(UnsupportedError, match=r"ReStickifyOpHBM on DataFormats\.IEEE_FP32\n  at .*test_host\.py"):
        compile(function, given)
    (call,) = on_host(equal_to_eager(function, *given, host_for_refused=True))
    assert call == on_cpu


@pytest.mark.parametrize("size", [(2, 64), (3, 128), (2, 2, 64)])
def test_a_weight_gradient_of_batches_has_its_sticks_along_the_rows_of_all(size):
    def gradient(x, made):
        return made.reshape(-1, 64).t() @ x.reshape(-1, 128)

    program = equal_to_eager(gradient, half(*size, 128), half(*size, 64) / 8)
    assert [spec.op for kernel in program.kernels for spec in kernel.specs] == ["ReStickifyOpHBM", "batchmatmul"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cat([x * 2, x + 1, x - 1, x * 3]).sum(0),
        lambda x: torch.cat([torch.relu(x)[3:5], x[:1] + 1, x[2:3] * 3]) * 1.5,  # upstream's pieces lie in their source
        lambda x: torch.nn.functional.pad(x + 1, (0, 64, 1, 2), value=2.0) * 2,
    ],
)
def test_pieces_in_the_pool_are_whole(function):
    program = equal_to_eager(function, half(8, 64) / 8)
    offsets, lives = program.pool.offsets, program.pool.lives
    assert offsets
    for a, b in itertools.combinations(offsets, 2):
        if lives[a][0] <= lives[b][1] and lives[b][0] <= lives[a][1]:
            ends = {n: offsets[n] + program.graph.buffers[n].device.bytes for n in (a, b)}
            assert ends[a] <= offsets[b] or ends[b] <= offsets[a]
