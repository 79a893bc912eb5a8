"""Values as PyTorch has them where the device has others: bytes, bounds, numbers, complex ones, strides, checks."""

from __future__ import annotations

import ast
from math import inf, nan

import pytest
import torch
import torch.nn.functional as F

import irwidget.spyre as spyre
from irwidget.errors import UnsupportedError
from irwidget.spyre import compile
from tests.spyre.test_host import equal_to_eager, half, on_host


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.view(torch.int16),
        lambda a: (a.float() * 2).view(torch.uint8),
        lambda a: (a > 0).view(torch.int16),
        lambda a: (a.view(torch.int16) & 0x7FFF).view(torch.float16),
    ],
)
def test_a_view_as_another_dtype_has_the_bytes_of_pytorch(function):
    given = half(4, 64)
    program = compile(function, [given])
    assert torch.equal(program.run(given), function(given))
    assert "torch.ops.aten.view.dtype(" in program.host


@pytest.mark.parametrize("function", [torch.round, torch.sin, torch.frac])
def test_the_host_is_given_what_the_dtype_holds(function):
    given = torch.linspace(-30, 30, 4096).half().view(64, 64)
    assert torch.equal(compile(lambda a: function(a * 37.7), [given]).run(given), function(given * 37.7))


@pytest.mark.parametrize("function", [lambda a: a[:, [-2]] * 2, lambda a: a[:, torch.tensor([1, -1, -3])] + 1])
def test_indices_from_the_end_are_taken_on_the_host(function):
    given = half(2, 5, 64)
    assert torch.equal(compile(function, [given]).run(given), function(given))


@pytest.mark.parametrize("function", [lambda x: x, lambda x: x * 2])
def test_a_norm_whose_moments_the_host_takes_has_both_of_them(function):
    def normed(x):
        return F.layer_norm(function(x).flatten(2).transpose(1, 2), (24,))

    given = half(1, 24, 16, 16)
    program = compile(normed, [given], host_for_refused=True)
    assert on_host(program)
    assert [spec.op for kernel in program.kernels for spec in kernel.specs if spec.op.startswith("layernorm")]
    torch.testing.assert_close(program.run(given), normed(given), rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("function", [lambda a: (-a)[:, None].expand(8, 3, 64), lambda a: (a + a).expand(2, 8, 64).mT])
def test_an_expanded_result_is_expanded(function):
    given = half(8, 64)
    made, wanted = compile(function, [given]).run(given), function(given)
    assert torch.equal(made, wanted)
    assert made.stride() == wanted.stride()


def test_what_is_written_through_a_view_that_no_stick_fits_comes_by_the_host():
    def reversed_planes(x):
        rows = x.flatten(1)
        rows.copy_(rows.flip(0))

    given, wanted = half(4, 16, 5), half(4, 16, 5)
    program = compile(reversed_planes, [given], host_for_refused=True)
    reversed_planes(wanted)
    program.run(given)
    assert torch.equal(given, wanted)
    assert "reshape_via_cpu" in on_host(program)


aten = torch.ops.aten
FLOATS = torch.tensor([[-1e6, 1e6, inf, -inf, nan, 5.0, 0.0, -3.5]])
HALVES = torch.tensor([[0.1, 0.9, -0.1, 1e-5, 0.0, inf, -inf, nan]]).half()


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda a: a.clamp(min=0), FLOATS),
        (lambda a: a.clamp(max=0), FLOATS),
        (lambda a: a.clamp(min=0), torch.tensor([[128_000, -100, 70_000]])),
        (lambda a: a.clamp(max=0), torch.tensor([[-128_000, 100]])),
        (lambda a: torch.div(a, 3, rounding_mode="trunc"), FLOATS.nan_to_num()),
        (lambda a: torch.div(a, a + 2, rounding_mode="floor"), HALVES[:, :5]),
        (lambda a: (a >= 0.9, a == 0.1, a != 0.1, a < 1e-5, a <= -0.1), HALVES),
        (lambda a: (a == 0.1, a != 0.1), HALVES.bfloat16()),
        (lambda a: torch.logical_and(a, a > 0), HALVES),
        (torch.nan_to_num, HALVES),
        (lambda a: torch.vander(a[0], 4), FLOATS[:, 5:]),
    ],
)
def test_numbers_are_those_of_eager(function, given):
    equal_to_eager(function, given, host_for_refused=True)


@pytest.mark.parametrize(
    "backward",
    [
        lambda g, a: aten._softmax_backward_data(g, torch.softmax(a, -1), -1, torch.float16),
        lambda g, a: aten._log_softmax_backward_data(g, torch.log_softmax(a, -1), -1, torch.float16),
        lambda g, a: aten.threshold_backward(g, a, 0),
        lambda g, a: aten.sigmoid_backward(g, torch.sigmoid(a)),
        lambda g, a: aten.tanh_backward(g, torch.tanh(a)),
        lambda g, a: aten.gelu_backward(g, a, approximate="tanh"),
        aten.silu_backward.default,
        lambda g, a: aten.hardswish_backward(g, a),
        lambda g, a: aten.leaky_relu_backward(g, a, 0.1, False),
        lambda g, a: aten.mse_loss_backward(g, a, a * 2, 0),
    ],
)
def test_backward_ops_are_computed_on_the_device(backward):
    assert on_host(equal_to_eager(backward, half(32, 128), half(32, 128))) == []


# -- what no device format holds -------------------------------------------------------------------


def rotated(x, by):
    pairs = torch.view_as_complex(x.float().reshape(2, 8, 2, 32, 2)) * by[:, None]
    return torch.view_as_real(pairs).flatten(3).type_as(x) * 2


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (rotated, (half(2, 8, 2, 64), torch.polar(torch.ones(8, 32), torch.arange(256.0).view(8, 32)))),
        (lambda a: torch.polar(torch.ones_like(a), a * 2), (half(8, 64).float(),)),
        (lambda a: a.double().cumsum(-1).float() + a, (half(8, 64).float(),)),
        (lambda a: torch.fft.rfft(a).abs() + 1, (half(8, 64).float(),)),
    ],
    ids=["complex input", "complex result", "float64", "transform"],
)
def test_ops_on_what_the_device_has_no_format_for_are_one_call_on_the_host(function, inputs):
    before = len(spyre.programs())
    got, want = torch.compile(function, backend="irwidget_spyre")(*inputs), function(*inputs)
    assert (got.dtype, got.stride()) == (want.dtype, want.stride())
    torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)
    (program,) = spyre.programs()[before:]
    assert any(name.startswith("host_") for name in on_host(program))
    assert program.kernels
    ast.parse(program.host)


def test_random_numbers_are_not_drawn_twice_for_two_values():
    def drawn(a):
        numbers = torch.rand(64, dtype=torch.float64)
        return a + numbers.float() + numbers.sum().float()

    with pytest.raises(UnsupportedError, match=rf"rand: float64 has no device format, and two.*\n  at {__file__}:\d+"):
        compile(drawn, [half(64)], host_for_refused=True)


# -- what Dynamo hands over ------------------------------------------------------------------------


def hand_attention(a):
    y = torch.softmax(a @ a.mT / 8, -1) @ a
    torch._dynamo.graph_break()
    return y.view(2, -1)


@pytest.mark.parametrize(
    "function",
    [
        hand_attention,
        lambda a: torch.vmap(lambda one: one @ one.mT)(a),
        torch.func.grad(lambda a: (a**3).sum()),
        lambda a: torch.utils.checkpoint.checkpoint(lambda b: torch.tanh(b @ b.mT), a, use_reentrant=False),
        lambda a: torch.cond(a.sum() > 0, lambda b: b * 2, lambda b: b * 3, (a,)),
    ],
    ids=["strides after a break", "vmap", "grad", "checkpoint", "cond"],
)
def test_programs_of_dynamo_give_what_eager_gives(function):
    given, before = half(2, 4, 16, 64), len(spyre.programs())
    torch.testing.assert_close(
        torch.compile(function, backend="irwidget_spyre")(given), function(given), rtol=4e-3, atol=4e-3
    )
    for program in spyre.programs()[before:]:
        ast.parse(program.host)


def test_checks_are_made_and_fail_as_in_eager():
    taken = torch.compile(lambda i: F.one_hot(i, 4) * 2, backend="irwidget_spyre")
    assert torch.equal(taken(torch.tensor([1, 3])), F.one_hot(torch.tensor([1, 3]), 4) * 2)
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
        taken(torch.tensor([1, 9]))


channels_last = torch.channels_last
INTEGERS = (torch.arange(64 * 3) % 17 - 8).view(64, 3)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda a: a.int(memory_format=channels_last), half(2, 3, 2, 3) * 9),
        (lambda a: a.permute(0, 3, 1, 2).long()[:, 1:] + 1, half(2, 3, 2, 64) * 9),
        (lambda a: (a.t().half() * 2, a.t()[1:].float().t()), INTEGERS),
    ],
)
def test_a_cast_on_the_host_keeps_the_strides_that_pytorch_keeps(function, given):
    assert "to_dtype_cpu" in on_host(equal_to_eager(function, given))


@pytest.mark.parametrize(
    "function",
    [torch.sign, torch.square, lambda a: a.max(1), lambda a: a.min(1), lambda a: a.logsumexp(0), lambda a: a**1],
    ids=["sign", "square", "max", "min", "logsumexp", "power of 1"],
)
def test_booleans_become_what_they_become_in_eager(function):
    equal_to_eager(function, half(4, 64) > 0)


def test_powers_of_integers_by_floats_are_floats_and_convolutions_of_integers_integers():
    equal_to_eager(lambda a: (a**1.0, a**2), INTEGERS)
    equal_to_eager(F.conv2d, INTEGERS.view(1, 3, 8, 8), INTEGERS[:9].view(3, 3, 3, 1)[:, :, :2])


def test_what_the_device_cannot_hold_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="no device format for complex64"):
        compile(torch.view_as_complex, [torch.zeros(4, 2)], host_for_refused=True)
    with pytest.raises(UnsupportedError, match="to_sparse: sparse tensors"):
        compile(lambda a: a.to_sparse().to_dense(), [half(4, 64)])


def test_a_host_op_reads_what_it_is_given_under_the_name_that_it_has_in_the_end():
    def merged_constants(a):
        return torch.atan2(a, torch.zeros(())) + torch.hypot(a, torch.zeros(()))

    def written_input(a, b):
        a.copy_(torch.relu(b))
        return torch.cumsum(a, 0)

    equal_to_eager(merged_constants, half(8, 64).float(), host_for_refused=True)
    assert on_host(equal_to_eager(written_input, half(8, 64), half(8, 64))) == ["cumsum"]


def test_a_norm_of_single_elements_is_refused_or_on_the_host_as_a_whole():
    with pytest.raises(UnsupportedError, match="layer norm of single elements"):
        compile(lambda a: F.layer_norm(a, (1,)), [half(5, 1)])
    program = equal_to_eager(lambda a: F.layer_norm(a, (1,)), half(5, 1), host_for_refused=True)
    assert on_host(program) == ["native_layer_norm"]


def test_an_instance_norm_writes_its_running_statistics():
    equal_to_eager(lambda a, m, v: F.instance_norm(input=a, running_mean=m, running_var=v),
                   half(2, 64, 4, 4), half(64), half(64).abs())  # fmt: skip
    equal_to_eager(
        lambda a, m, v: torch.instance_norm(a, None, None, m, v, True, 0.1, 1e-5, False),
        *(half(2, 3, 4, 4), half(3), half(3).abs()),
        host_for_refused=True,
    )
