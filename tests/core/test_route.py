"""PyTorch Explorer's route: the text of bare torch-mlir to the letter, also where it is wrong; that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import irwidget
from benchmarks import bare
from irwidget.errors import PassError

X = torch.linspace(-2, 2, 24).view(4, 6)


class Of(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def wrong(x: torch.Tensor) -> Any:
    """Each is decomposed by the robust route, to some of these IR types."""
    return x // 0.3, x % 0.3, x.bfloat16().repeat(10, 1).mean(0), x.flip(0)[torch.tensor([-1, 0])]


LEFT = ["aten.div.Tensor_mode", "aten.mean.dim"]
SAID = {
    "torch_mlir": LEFT,
    "linalg_on_tensors_mlir": LEFT,
    "tosa_mlir": [*LEFT, "aten.remainder.Scalar"],
    "stablehlo_mlir": ["aten.remainder.Scalar", *LEFT, "negative indices of aten.index.Tensor"],
}


@pytest.mark.parametrize("target", SAID)
def test_it_gives_what_bare_torch_mlir_gives_and_says_what_that_may_lose(target: str) -> None:
    robust = irwidget.lower(Of(wrong), X, to=target)
    low = irwidget.lower(Of(wrong), X, to=target, route="explorer")
    assert low.text == bare.lowered(Of(wrong), (X,), target) != robust.text
    said = [one.message.partition(", as it is here: torch-mlir lowers it to something else") for one in low.diagnostics]
    assert [operator for operator, why, _ in said if why] == SAID[target]


def test_what_torch_mlir_makes_something_else_of_is_found() -> None:
    low = irwidget.lower(Of(wrong), X, to="stablehlo_mlir", route="explorer", check=True)
    assert low.check is not None
    assert low.check.state == "differs"


def test_a_pass_that_fails_is_shown_where_the_robust_route_goes_around_it() -> None:
    turned = Of(lambda x: x.roll(1, 0))
    assert irwidget.lower(turned, X, to="tosa_mlir").trace.failure is None
    with pytest.raises(PassError, match="convert-torch-to-tosa") as problem:
        irwidget.lower(turned, X, to="tosa_mlir", route="explorer")
    assert problem.value.lowering is not None
    assert problem.value.lowering.text == bare.lowered(turned, (X,), "torch_mlir")


def test_what_is_another_text_each_time_is_the_same_on_the_robust_route() -> None:
    """torch-mlir begins the largest of a volume with a number that nothing has set: minus infinity, or the least."""
    said = "begins with a number that nothing has set"
    x, pool = torch.full((1, 2, 4, 4, 4), -torch.inf), nn.AdaptiveMaxPool3d((2, 1, 4))
    low = irwidget.lower(pool, x, to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check
    assert "adaptive_max_pool3d" not in low.dumps[0].text
    assert not any(said in one.message for one in low.diagnostics)
    left = irwidget.lower(pool, x, to="linalg_on_tensors_mlir", route="explorer")
    assert "adaptive_max_pool3d" in left.dumps[0].text
    assert any(said in one.message for one in left.diagnostics)
