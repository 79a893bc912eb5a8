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
