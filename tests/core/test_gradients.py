"""Models that take gradients themselves are programs, are checked, and are left as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export.exported_program import (
    _override_composite_implicit_decomp,  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]
)
from torch.func import functional_call, grad, jvp, vmap
from torch.nn import functional

import irwidget
from irwidget.errors import ExportError

X, Y = torch.linspace(-1, 1, 20).reshape(5, 4), torch.linspace(0, 1, 15).reshape(5, 3)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.silu(self.linear(x))


class Inside(nn.Module):
    """A model with a network, and what is computed of both."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        super().__init__()
        self.net, self.norm, self.compute = Net(), nn.BatchNorm1d(4), compute

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.compute(self, *inputs)


def forces(model: Inside, x: torch.Tensor) -> Any:
    x = x.detach().requires_grad_()
    energy = model.net(x).square().sum()
    return energy, -torch.autograd.grad(energy, x)[0]


def second(model: Inside, x: torch.Tensor) -> Any:
    x.requires_grad_()
    first = torch.autograd.grad(model.net(x).sum(), x, create_graph=True)[0]
    return torch.autograd.grad(first.square().sum(), x)[0]


def normalised(model: Inside, x: torch.Tensor) -> Any:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(model.norm(x).square().sum(), x)[0]


def stepped(model: Inside, x: torch.Tensor, y: torch.Tensor) -> Any:
    state = dict(model.net.named_parameters())
    slopes = grad(lambda given: (functional_call(model.net, given, (x,)) - y).square().mean())(state)
    return functional_call(model.net, {name: state[name] - 0.1 * slopes[name] for name in state}, (x,))


MODELS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "autograd": (forces, (X,)),
    "autograd twice, of the input itself": (second, (X,)),
    "batch norm that learns": (normalised, (X,)),
    "functional_call": (stepped, (X, Y)),
    "jvp": (lambda model, x: jvp(model.net, (x,), (x,)), (X,)),
    "vmap of grad": (lambda model, x: vmap(grad(lambda row: model.net(row).sum()))(x), (X,)),
}


@pytest.mark.parametrize("named", MODELS)
def test_a_model_that_takes_gradients_is_lowered_and_left_as_it_was(named: str) -> None:
    compute, inputs = MODELS[named]
    model = Inside(compute)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random = torch.get_rng_state()
    low = irwidget.lower(model, *inputs, to="torch_mlir", check=True, timeout=60)
    assert low.check is not None
    assert str(low.check).startswith("equal to eager PyTorch")
    assert low.check.error is not None
    assert low.check.error < 1e-5
    computed = [place for place in low.dumps[0].locations if place is not None and place.file == __file__]
    assert len(computed) > len(low.dumps[0].locations) / 2
    assert torch.equal(random, torch.get_rng_state())
    assert not any(one.requires_grad for one in inputs)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


class Named(Inside):
    def forward(self, *, y: torch.Tensor, x: torch.Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return stepped(self, x, y)


def test_inputs_may_have_names() -> None:
    low = irwidget.lower(Named(stepped), kwargs={"x": X, "y": Y}, to="torch_mlir", check=True, timeout=60)
    assert str(low.check).startswith("equal to eager PyTorch")


def test_it_is_lowered_where_decompositions_were_interrupted() -> None:
    """Which leaves operators that torch.export takes no gradients of."""

    def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.addmm(bias, x, weight.t())

    with _override_composite_implicit_decomp({torch.ops.aten.linear.default: linear}):
        for compute in (forces, second):
            low = irwidget.lower(Inside(compute), X, to="torch_mlir", check=True, timeout=60)
            assert str(low.check).startswith("equal to eager PyTorch")


NET, NORM = nn.Linear(4, 3), nn.BatchNorm1d(4)
OPTIMIZER = torch.optim.Adam(NET.parameters())


def learnt(x: torch.Tensor, y: torch.Tensor) -> Any:
    (NET(x) - y).square().mean().backward()
    return NET.weight.grad


def trained(x: torch.Tensor, y: torch.Tensor) -> Any:
    OPTIMIZER.zero_grad()
    loss = (NET(x) - y).square().mean()
    loss.backward()
    OPTIMIZER.step()
    return loss


def test_what_a_function_leads_to_is_left_as_it_was() -> None:
    weight = NET.weight.detach().clone()
    low = irwidget.lower(learnt, X, Y, to="torch_mlir", check=True, timeout=60)
    assert str(low.check).startswith("equal to eager PyTorch")
    with pytest.raises(ExportError, match=r"an optimizer's step cannot be traced.*\n *Try: return the gradients, "):
        irwidget.lower(trained, X, Y, to="torch_mlir", timeout=60)
    assert torch.equal(weight, NET.weight)
    assert NET.weight.grad is None
    assert not OPTIMIZER.state
    with pytest.raises(ExportError, match="is mutated in the forward method"):
        irwidget.lower(lambda x: NORM(x), X, to="torch_mlir", timeout=60)
    assert NORM.num_batches_tracked == 0
    random = torch.get_rng_state()
    low = irwidget.lower(
        lambda x: grad(lambda given: functional.dropout(NORM.weight * given).sum())(x), X, to="torch_mlir"
    )
    assert low.failure is None
    assert torch.equal(random, torch.get_rng_state())
    assert trained(X, Y).item() > trained(X, Y).item()


def test_a_value_that_is_taken_from_a_gradient_is_what_cannot_be_traced() -> None:
    def scaled(x: torch.Tensor) -> Any:
        slope = grad(lambda given: (given**3).sum())(x)
        return slope * slope.sum().item()

    with pytest.raises(ExportError, match="the values of a tensor|depends on the values of a tensor"):
        irwidget.lower(scaled, X, to="torch_mlir", timeout=60)
