"""Sizes that are known at run time only, and may be zero: equal to eager PyTorch, or refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import irwidget
from irwidget.errors import ExportError

check: Any = torch._check  # pyright: ignore[reportPrivateUsage]  # as programs call it
SIZES = ({0: torch.export.Dim("n", min=2, max=50)},)


def _equal(model: Callable[..., Any], *given: torch.Tensor, **how: Any) -> str:
    """What was imported."""
    low = irwidget.lower(model, *given, to="linalg_on_tensors_mlir", check=True, timeout=120, **how)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    return low.dumps[0].text


def written(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> Any:
    """At the places of a mask: along each dim, apart, from the back, with values of their own, of one, of none."""
    places, made = mask.nonzero().squeeze(1), [x.clone() for _ in range(3)]
    few = places.clamp(max=3)
    made[0][-1 - few] += x[few] * 2
    made[1][few, places] = 7.0
    made[1][torch.tensor([1]), places] = 8.0
    made[2][:, places] = torch.ones(4, places.shape[0])
    apart = y.clone()
    apart[few, :, (places - 5) % 3] = x.sum(0)[None].expand(places.shape[0], 5)
    crossed, truths, pairs = x.clone(), x > 0, torch.tensor([0, 2])
    crossed[few[:, None], places] += 1.0
    crossed[few[:, None], pairs] = x[0, pairs]
    truths[:, places] = ~truths[:, places]
    variance = torch.ops.aten.var.correction(x[:, places], [1])
    return *made, apart, crossed, truths, x.index_add(1, places, torch.ones(4, places.shape[0])), variance


@pytest.mark.parametrize("places", [(), (2,), (0, 2, 3)], ids=len)
def test_there_may_be_no_place_to_write_to(places: tuple[int, ...]) -> None:
    mask = torch.zeros(5, dtype=torch.bool)
    mask[[*places]] = True
    _equal(written, torch.randn(4, 5), torch.randn(4, 5, 3), mask)


class Flattened(torch.nn.Module):
    """Dynamic dimensions that a view joins, as `nn.Linear` has it of batches of sequences, beside others that stay."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        batch, count = x.shape[:2]
        pairs = torch.ops.aten._unsafe_view.default(y, [batch * count * 4, 4])
        rows = y.view(-1, 16) + 1
        heads = y.permute(2, 0, 1, 3).reshape(4, batch * count, 4)
        apart = (x.flatten(0, 1) * 2).view(batch, count, 2, 2)
        return self.linear(x), pairs * 2, rows, heads * 2, apart, (y[:, None] + x[:, :, None, None]).view(-1, 4)


def test_dynamic_dimensions_are_joined() -> None:
    batch, count = (torch.export.Dim(name, min=2, max=50) for name in "bn")
    sizes = ({0: batch, 1: count}, {0: batch, 1: count})
    _equal(Flattened(), torch.randn(5, 3, 4), torch.randn(5, 3, 4, 4), dynamic_shapes=sizes)


def with_loops(nodes: torch.Tensor, edges: torch.Tensor, weights: torch.Tensor) -> Any:
    """A graph's edges with one from each node to itself, as graph networks have them."""
    others = edges[0] != edges[1]
    own = torch.full((nodes.shape[0],), 1.0)
    own[edges[0][~others]] = weights[~others]
    every = torch.arange(nodes.shape[0])
    start, end = torch.cat([edges[:, others], torch.stack([every, every])], 1)
    weights = torch.cat([weights[others], own])
    degrees = torch.zeros(nodes.shape[0]).scatter_add(0, end, torch.ones(end.shape[0]))
    return torch.zeros_like(nodes).index_add(0, end, nodes[start] * weights[:, None]) / degrees[:, None]


def test_a_graph_gets_loops_where_it_has_none() -> None:
    _equal(with_loops, torch.randn(4, 3), torch.tensor([[0, 1, 2, 3, 0], [1, 1, 2, 0, 3]]), torch.rand(5))


def asserted(x: torch.Tensor) -> Any:
    chosen = x[x > 0]
    count = chosen.shape[0]
    check(((count > 1) & (count < 4)) | (count == 7))
    check(count != 4)
    check((count == 2) | (count == 3))
    return chosen * count / max(count, 1)


def test_what_is_checked_of_a_size_is_imported() -> None:
    text = _equal(asserted, torch.tensor([1.0, -2, 3, -4, -1]))
    assert "torch.aten.mul.int" in text  # of two truths that are both asked for


def computed(x: torch.Tensor) -> Any:
    count = x.shape[0]
    limited = max(count, 4), min(count, 4), max(count, 9), abs(count - 5)
    numbers = *limited, count**2, count**3, count % 3 + 1, math.floor(count / 3), math.ceil(count / 4)
    padded = torch.nn.functional.pad(x, (0, -count % 8))
    return *(x * number for number in numbers), x / count**0.5, padded, x.new_ones(max(count, 9)), x.new_ones(count**2)


@pytest.mark.parametrize("count", [3, 7])
def test_what_is_computed_of_a_size_is_imported(count: int) -> None:
    _equal(computed, torch.randn(count), dynamic_shapes=SIZES)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda x: x.new_ones(x.shape[0] // 2), r"guard 4 <= .*\n  Try: n = Dim\('n', min=4, max=50\)\."),
        (lambda x: x.reshape(-1, 3), r"% 3\) == 0.*\n  Try: _n = Dim\('_n', min=1, max=16\); n = 3\*_n\."),
        (lambda x: x.new_ones(math.ceil(x.shape[0] / 3)), r"ceil.*\n  Try: give the dimension the sizes"),
    ],
    ids=["some", "every third", "no sizes said"],
)
def test_sizes_that_a_model_does_not_work_with_are_named(model: Any, said: str) -> None:
    with pytest.raises(ExportError, match=f"does not work with every size.*{said}"):
        irwidget.lower(model, torch.ones(6), to="linalg_on_tensors_mlir", dynamic_shapes=SIZES)
