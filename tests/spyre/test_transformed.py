"""Functions that take gradients or are mapped over a dim become the program of what is left of that."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from irwidget.spyre import compile
from tests.spyre.test_host import equal_to_eager, half, on_host

LINEAR = nn.Linear(64, 64).half()


def per_sample(x, w):
    return torch.vmap(torch.func.grad(lambda a, b: ((a * b) ** 2).sum()), (0, None))(x, w)


def step(w, x):
    w.sub_(0.1 * torch.func.grad(lambda w: F.mse_loss(torch.relu(x @ w), x))(w))
    return w * 2


def by_autograd(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad((x.sigmoid() * x).sum(), x)[0]


class Sensitivity(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(64, 32).half()

    def forward(self, x):
        return torch.func.grad(lambda x: (torch.relu(self.inner(x)) ** 2).sum())(x)


def test_transforms_of_torch_func():
    equal_to_eager(lambda x, w: torch.vmap(lambda a: a @ w)(x), half(4, 5, 64), half(64, 64) / 8)
    equal_to_eager(lambda x, t: torch.func.jvp(torch.tanh, (x,), (t,)), half(4, 64), half(4, 64))
    equal_to_eager(torch.func.jacrev(lambda x: x * x), half(8))
    equal_to_eager(per_sample, half(4, 64), half(64))


def test_gradients_within_a_function_and_what_it_writes():
    equal_to_eager(step, half(64, 64), half(64, 64))
    equal_to_eager(by_autograd, half(4, 64))


def test_gradients_of_a_module_and_of_what_a_function_holds():
    module, x = Sensitivity(), half(4, 64)
    torch.testing.assert_close(compile(module, [x]).run(x), module(x), rtol=2e-3, atol=2e-3)
    held = torch.func.grad(
        lambda x: (torch.func.functional_call(LINEAR, dict(LINEAR.named_parameters()), x) ** 2).sum()
    )
    assert on_host(equal_to_eager(held, x)) == on_host(equal_to_eager(lambda x: LINEAR(x), x)) == []


def test_the_line_of_an_op_within_a_gradient_is_the_users():
    program = compile(by_autograd, [half(4, 64)])
    assert {op.line[0] for op in program.graph.ops if op.computed} == {__file__}
