"""A dynamic batch to TOSA, which has no sizes that are computed: as in eager PyTorch, at any size, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import irwidget
from irwidget.errors import ExportError

BATCH = {0: torch.export.Dim("batch", min=2, max=64)}
F = torch.nn.functional
X = torch.randn(3, 8, 6, generator=torch.Generator().manual_seed(0))
X[0, :3, 0] = torch.tensor([torch.nan, torch.inf, -torch.inf])
PLACES = torch.arange(3 * 2 * 6).reshape(3, 2, 6) * 5 % 8


def parts(x: torch.Tensor, places: torch.Tensor) -> Any:
    """Halves, elements, and slices that are none of equal parts, of the middle, from the back, and apart."""
    whole = places * 3
    front, *_, back = x.split([2, 2, 2, 2], 1)
    first, second = x.chunk(2, -1)
    cut = *x.unbind(1)[:2], x[:, 4:], x[:, 1:6], x[:, -3:], x[..., 1::2], whole[:, 1], whole[:, :, 2:4], x[:, -1]
    chosen = x.index_select(2, torch.tensor([5, 0, 0])), x.gather(1, places), whole.gather(2, places % 6)
    return front, back, first * second, *cut, *chosen, x.roll(3, 1)


def joints(x: torch.Tensor, places: torch.Tensor) -> Any:
    found = torch.cat([x, x[:, :4] * 2, x.exp()], 1), torch.stack([x, -x], 2), torch.cat([places, places + 1], -1)
    product = x.transpose(1, 2) @ torch.linspace(-1, 1, 32).reshape(8, 4)
    return *found, product, x.flatten(1), x.reshape(-1, 2, 3), x.expand(-1, 8, -1), x[:, :1].expand(-1, 4, -1) + 1


def rows(x: torch.Tensor, places: torch.Tensor) -> Any:
    weight = torch.linspace(-1, 1, 4 * 8 * 3).reshape(4, 8, 3)
    turned = F.conv_transpose1d(x, weight.movedim(1, 0)[..., :2], stride=2)
    apart = F.conv1d(x, weight[:, :2], groups=4, padding=2, dilation=2)
    return F.conv1d(x, weight, torch.ones(4), stride=1), apart, turned, F.interpolate(x, scale_factor=2)


def orders(x: torch.Tensor, places: torch.Tensor) -> Any:
    low = x.topk(2, 1, largest=False)
    read = x[:, [0, -1, 2]], x[:, torch.tensor([1, 2, -8]), torch.tensor([-1, 0, 3])], x[:, :, torch.tensor([[5], [0]])]
    return (
        *x.sort(-1),
        *places.sort(1, descending=True),
        *low,
        *read,
        x.cumsum(1),
        places.cumsum(-1),
        torch.cat([x, -x]),
    )


def casts(x: torch.Tensor, places: torch.Tensor) -> Any:
    some = x > 0
    return some.float().sum(1), some.sum(-1), some.to(torch.int8), some.half(), places.half(), places.float() * 0.5


def narrower(x: torch.Tensor, places: torch.Tensor) -> Any:
    """Casts to what does not have all of their numbers; zeros keep their sign."""
    y = places * 0.25 - 0.5
    below = 1 / (y.clamp(max=0) * 0).half()
    return y.half(), y.bfloat16(), below, y.to(torch.int8), (y * 1e6).to(torch.int32), y.bool(), places.to(torch.int16)


def means(x: torch.Tensor, places: torch.Tensor) -> Any:
    """By as many as there are rows."""
    y = places * 0.25 - 0.5
    found = (
        y.mean(),
        (y.relu() * 0).mean(0),
        y.mean((0, 2)),
        y.mean(0, True),
        x.mean((1, 0)),
        y.half().mean(0),
        places.mean((0, 1), dtype=y.dtype),
    )
    spread = (
        y.var(0),
        y.std((0, -1), correction=0),
        y.var(0, correction=9),
        *torch.var_mean(y.half(), (0, 1), keepdim=True),
    )
    losses = F.mse_loss(y, y * 2), F.kl_div(y.log_softmax(-1), y.softmax(-1), reduction="batchmean")
    rows = y.shape[0]
    sizes = y / rows**0.5, y - rows, y.sum() / y.numel(), y * ((rows - 1) / (2 + rows)), y.half() * 2
    halves = y.half().softmax(-1), y.bfloat16().log_softmax(1)
    mean, var = torch.zeros(2), torch.ones(2)
    return *found, *spread, *losses, *sizes, *halves, F.batch_norm(y, mean, var, training=True), mean + 0, var + 0


def choices(x: torch.Tensor, places: torch.Tensor) -> Any:
    """Places as truths of every place, what is written there, and rows that are repeated."""
    zeros = torch.zeros_like(x)
    written = (
        zeros.scatter(1, places, 2.0),
        x[:, :2].scatter(2, places[:, :, :1] % 6, x[:, :2, 5:]),
        x.scatter(1, places[:, :1], x[:, 3:4]),
    )
    return (
        F.one_hot(places, 9),
        F.one_hot(places[:, 0], 8).float(),
        *written,
        x.repeat(2, 1, 3),
        places.repeat(1, 1, 1, 2),
    )


def beside(x: torch.Tensor, places: torch.Tensor) -> Any:
    """Rows as many as there are of an input: of tokens, of states that begin with zeros, and of repeated weights."""
    rows = x.shape[0]
    token = torch.linspace(-1, 1, 6).reshape(1, 1, 6)
    begun = torch.zeros(2, rows, 3), x.new_ones(rows, 4), torch.full((rows,), -7), torch.ones(rows), torch.zeros_like(x)
    tokens = torch.cat([token.expand(rows, 2, -1), x], 1), token[0].expand(4, rows, 2, 6)
    return *begun, *tokens, token.repeat(rows, 3, 1), token[0, 0].repeat(rows), x[:, 0, 0] > torch.ones(rows)


def _equal(model: Callable[..., Any], *given: torch.Tensor) -> irwidget.Lowering:
    low = irwidget.lower(model, *given, to="tosa_mlir", dynamic_shapes=(BATCH,) * len(given), check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    return low


@pytest.mark.parametrize("function", [parts, joints, rows, orders, casts, narrower, means, choices, beside])
def test_operators_of_a_batch_are_as_in_eager_pytorch(function: Callable[..., Any]) -> None:
    _equal(function, X, PLACES)


def test_a_batch_goes_through_an_encoder() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.GroupNorm(2, 8)
            self.layer = torch.nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, activation="gelu")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(self.norm(x)).var(1).flatten(1)

    torch.manual_seed(0)
    text = _equal(Model().eval(), X[1:]).dumps[-1].text
    assert "func.func @main(%arg0: tensor<?x8x6xf32>) -> tensor<?x6xf32>" in text


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_a_batch_goes_through_recurrent_layers(kind: Any) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = kind(6, 5, batch_first=True, bidirectional=True)

        def forward(self, x: torch.Tensor) -> Any:
            return self.layers(x)

    torch.manual_seed(0)
    _equal(Model(), X[1:, :2])


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (torch.tensor([[-0.0, 1.5], [torch.inf, torch.nan]], dtype=torch.float16), torch.float32),
        (torch.tensor([[-0.0, 1.5], [torch.inf, torch.nan]], dtype=torch.bfloat16), torch.float32),
        (torch.tensor([[-128, 127], [0, -1]], dtype=torch.int8), torch.float32),
        (torch.tensor([[-128, 127], [0, -1]], dtype=torch.int16), torch.int64),
    ],
)
def test_numbers_of_a_batch_are_cast_to_wider_ones(x: torch.Tensor, kind: torch.dtype) -> None:
    _equal(lambda x: (x.to(kind), 1 / x.to(kind)), x)


@pytest.mark.parametrize(
    ("model", "operator"),
    [
        (lambda x: x[:, 1:], "slice.Tensor"),
        (lambda x: x.scatter(1, x[:, :2].long(), x[:, :2]), "scatter.src"),  # which is written last is left open
    ],
)
def test_what_would_take_too_many_pairs_is_refused(model: Callable[..., Any], operator: str) -> None:
    with pytest.raises(ExportError, match=rf"aten\.{operator} needs sizes as values, and TOSA's"):
        irwidget.lower(model, torch.ones(2, 65), to="tosa_mlir", dynamic_shapes=(BATCH,))


def test_running_statistics_are_of_as_many_as_there_are() -> None:
    _equal(torch.nn.BatchNorm1d(6).train(), X[1:].flatten(0, 1))
