"""What is taken for a model: all that PyTorch calls, to the torch dialect and to a TorchScript graph."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import irwidget


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x).relu()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encode(x) + 1


class Twice:
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def scaled(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
    return (x * k).sum()


def typed(x: torch.Tensor) -> torch.Tensor:
    return x.relu() + 1


X = torch.ones(3, 4)
MODEL = Model().eval()
BOTH: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "torch.exp": (torch.exp, (X,)),
    "functools.partial": (functools.partial(scaled, k=3.0), (X,)),
    "partial of torch's": (functools.partial(torch.einsum, "ij,kj->ik"), (X, X)),
    "a method": (MODEL.encode, (X,)),
    "an object": (Twice(), (X,)),
    "Tensor's method": (torch.Tensor.relu, (X,)),
    "an operator of ATen": (torch.ops.aten.relu.default, (X,)),
    "operator.add": (operator.add, (X, X)),
    "torch.compile": (torch.compile(MODEL), (X,)),
    "vmap": (torch.func.vmap(lambda row: row.sin().sum()), (X,)),
    "torch.jit.trace": (torch.jit.trace(MODEL, X), (X,)),
    "torch.jit.script": (torch.jit.script(typed), (X,)),
}


@pytest.mark.parametrize("name", BOTH)
def test_whatever_is_called_is_lowered_and_traced(name: str) -> None:
    model, inputs = BOTH[name]
    low = irwidget.lower(model, *inputs, to=["torch_mlir", "torch_script_graph_ir"], timeout=60)
    assert "func.func @main" in low["torch_mlir"].text
    assert low["torch_script_graph_ir"].text.startswith("graph(")


def test_gradients_of_torch_func_are_programs() -> None:
    low = irwidget.lower(torch.func.grad(scaled), X, to="linalg_on_tensors_mlir", check=True, timeout=60)
    assert str(low.check).startswith("equal"), low.check
    inside = irwidget.lower(lambda x: 2 * torch.func.grad(scaled)(x), X, to="torch_mlir", check=True, timeout=60)
    assert str(inside.check).startswith("equal"), inside.check
    irwidget.lower(torch.func.jacrev(torch.sin), X[0], to="torch_mlir", timeout=60)


def test_a_scripted_module_is_checked_as_the_module_is() -> None:
    low = irwidget.lower(torch.jit.script(MODEL), X, to="linalg_on_tensors_mlir", check=True, timeout=60)
    assert str(low.check).startswith("equal"), low.check


def test_a_tensor_that_is_given_twice_is_two_arguments() -> None:
    low = irwidget.lower(torch.sub, X, X, to="linalg_on_tensors_mlir", check=True, timeout=60)
    assert str(low.check).startswith("equal"), low.check
    assert "%arg0" in low.text.partition("{")[2]
