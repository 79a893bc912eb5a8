"""What a model or a function leads to keeps its gradients, its optimizers' states and its counters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from irwidget.frontends import held

NET = nn.Linear(2, 1)
X = torch.ones(1, 2)


def of_globals(x: torch.Tensor) -> Any:
    return (lambda: NET(x))()


class Called:
    def __init__(self, net: nn.Module) -> None:
        self.net = net

    def __call__(self, x: torch.Tensor) -> Any:
        return self.net(x)

    def method(self, x: torch.Tensor) -> Any:
        return self.net(x)


class Module(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return of_globals(x)


def of_a_closure(net: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: (lambda: net(x))()


def by_default(x: torch.Tensor, net: nn.Module = NET) -> Any:
    return net(x)


@pytest.mark.parametrize("model", [
    pytest.param(NET, id="a module"),
    pytest.param(of_globals, id="globals of a function within"),
    pytest.param(Called(NET), id="an object that is called"),
    pytest.param(Called(NET).method, id="a method"),
    pytest.param(Module(), id="globals of a module's forward"),
    pytest.param(of_a_closure(NET), id="a closure within a closure"),
    pytest.param(of_a_closure(Called(NET)), id="an object in a closure"),
    pytest.param(by_default, id="a default"),
    pytest.param(functools.partial(by_default, net=NET), id="a partial function"),
    pytest.param([{"nets": (NET,)}], id="containers"),
])  # fmt: skip
@pytest.mark.parametrize("of", [None, 5.0])
def test_gradients_are_put_back_wherever_a_parameter_is(model: Any, of: float | None) -> None:
    NET.weight.grad = before = None if of is None else torch.full((1, 2), of)
    with held.untrained(model):
        NET(X).sum().backward()
        assert NET.weight.grad is not None
        assert NET.weight.grad.tolist() == [[1 + (of or 0)] * 2]
    assert NET.weight.grad is before
    assert before is None or before.tolist() == [[of, of]]


@pytest.mark.parametrize("buffers", [False, True])
def test_counters_are_put_back_and_buffers_where_the_model_is_run(buffers: bool) -> None:
    norm = nn.BatchNorm1d(2)
    with held.as_it_was(lambda x: norm(x), buffers=buffers):
        norm(torch.tensor([[1.0, 2], [3, 4]]))
    changed = [pytest.approx([0.2, 0.3]), pytest.approx([1.1, 1.1]), 0]
    assert [buffer.tolist() for buffer in norm.buffers()] == ([[0, 0], [1, 1], 0] if buffers else changed)


def test_an_optimizer_has_the_state_that_it_had() -> None:
    NET.weight.grad = NET.bias.grad = None
    optimizer = torch.optim.SGD(NET.parameters(), lr=0.0, momentum=0.5)

    def step() -> None:
        NET(X).sum().backward()
        optimizer.step()

    with held.untrained(step):
        step()
    assert not optimizer.state
    step()
    (momentum,) = optimizer.state[NET.weight].values()
    with held.untrained(step):
        step()
        assert optimizer.state[NET.weight]["momentum_buffer"].tolist() == [[2.5, 2.5]]
    assert optimizer.state[NET.weight]["momentum_buffer"] is momentum
    assert momentum.tolist() == [[1, 1]]
