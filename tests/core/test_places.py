"""Reads and writes at indices without dimensions, apart, of masks, from the back; what torch.export cannot trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import irwidget
from irwidget import private_torch_mlir
from irwidget.frontends import decompositions_masks, decompositions_places, decompositions_pools, otherwise

aten: Any = torch.ops.aten
X = torch.arange(24.0).reshape(2, 3, 4)
ROW, NUMBER, ONE, NONE, BACK = X[0, 0], torch.tensor(2.5), torch.tensor(1), torch.tensor(0), torch.tensor(-1)
TARGETS = ["linalg_on_tensors_mlir", "tosa_mlir", "stablehlo_mlir", "llvm_ir"]
SINGLE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "gather": (aten.gather.default, (ROW, 0, ONE)),
    "gather of a number": (aten.gather.default, (NUMBER, -1, NONE)),
    "gather of a number by a row": (aten.gather.default, (NUMBER, 0, torch.tensor([0, 0]))),
    "scatter": (aten.scatter.src, (ROW, -1, ONE, NUMBER)),
    "scatter a number": (aten.scatter.value, (ROW, 0, ONE, 7.0)),
    "scatter to a number": (aten.scatter.src, (NUMBER, 0, NONE, NUMBER + 1)),
    "scatter_add": (aten.scatter_add.default, (ROW, 0, ONE, NUMBER)),
    "scatter_reduce": (aten.scatter_reduce.two, (ROW, 0, ONE, NUMBER, "amax")),
    "index_select": (aten.index_select.default, (X, -2, ONE)),
    "index_select of a number": (aten.index_select.default, (NUMBER, 0, NONE)),
}


@pytest.mark.parametrize("name", SINGLE)
def test_an_operator_at_an_index_without_dimensions_is_that_of_a_row(name: str) -> None:
    operator, given = SINGLE[name]
    assert decompositions_places.TAKES[operator](*given)
    assert torch.equal(decompositions_places.TABLE[operator](*given), operator(*given))
    rows = X[:1, :1, 0], 0, torch.tensor([[0]])
    assert decompositions_places.TABLE[aten.gather.default](*rows) is NotImplemented


def test_what_pytorch_cannot_decompose_is_traced() -> None:
    known = private_torch_mlir.decompositions()
    table = {**known, **decompositions_places.traceable(known)}

    class Model(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> Any:
            return x.index_add(1, i, x[:, :1] + 1, alpha=2), x.take(i), x[0, 0].index_add(0, i.reshape(1), x[0, 0, :1])

    program = torch.export.export(Model(), (X, BACK + 2)).run_decompositions(table)
    for got, want in zip(program.module()(X, ONE), Model()(X, ONE), strict=True):
        assert torch.equal(got, want)


def assigned(y: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> Any:
    y[i] = y[j] * 2
    y[:, j] = y[0, i] - 1
    y[..., i] = 5.0
    y[i, 1:, j] = y[0, 1:, 0] + 3
    y[i, [0, 2]] = y[j, [1, 0]] + y[:, [0, 1]][j]
    y[None, j, i] = y[i, :, [0, 1, 2]][0, 0]
    y[0][j] = y[1, i, [2]]
    return y


@pytest.mark.parametrize("place", [ONE, NONE, BACK, torch.tensor(1, dtype=torch.int32)])
def test_an_assignment_at_an_index_without_dimensions_is_that_of_a_row(place: torch.Tensor) -> None:
    with otherwise.Otherwise():
        got = assigned(X.clone(), place, BACK)
    assert torch.equal(got, assigned(X.clone(), place, BACK))


def test_an_index_of_a_byte_is_the_mask_that_it_is() -> None:
    mask, y, z = torch.tensor(1, dtype=torch.uint8), X.clone(), X.clone()
    with otherwise.Otherwise():
        y[mask] = 7.0
    z[mask] = 7.0
    assert torch.equal(y, z)


FEW = torch.tensor([1, 2, 1, 3]), torch.tensor([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("x", [X[0].sin(), X[0].int(), ROW, NUMBER, torch.complex(X[0].sin(), X[1].cos())])
def test_covariances_are_those_of_eager(x: torch.Tensor) -> None:
    weights = (
        [{}]
        if x.dim() == 0
        else [{}, {"fweights": FEW[0]}, {"aweights": FEW[1]}, dict(zip(("fweights", "aweights"), FEW, strict=True))]
    )
    for named in weights:
        for correction in (0, 1, 2):
            if x.dim() or not correction:
                want = torch.cov(x, correction=correction, **named)
                with otherwise.Otherwise():
                    got = x.cov(correction=correction, **named)
                torch.testing.assert_close(got, want, equal_nan=True)
    with otherwise.Otherwise():
        got = torch.corrcoef(x)
    torch.testing.assert_close(got, torch.corrcoef(x), equal_nan=True)


ENDS, NOT_FIRST, ALL, SOLE = (torch.tensor(one) > 0 for one in ([1, 0, 1], [0, 1, 0, 1], [1, 1], [0, 1, 0]))
PAIRS: dict[str, tuple[list[Any], torch.Tensor]] = {
    "side by side": ([None, ENDS, NOT_FIRST], torch.tensor([7.0, 8.0])),
    "side by side, of what is ahead": ([None, ENDS, NOT_FIRST], X[:, :1, :2][:, 0] + 0.5),
    "apart": ([ALL, None, NOT_FIRST], X[:, :, 0] + 0.5),
    "apart, one number": ([ALL, None, NOT_FIRST], NUMBER),
    "one place meets all": ([None, SOLE, NOT_FIRST], torch.tensor([7.0, 8.0])),
    "with places": ([None, ENDS, torch.tensor([-1, 0])], NUMBER),
    "one place of a mask with places": ([None, SOLE, torch.tensor([-1, 0, 0])], NUMBER),
    "with one place": ([ALL, None, torch.tensor([-1])], X[:, :, 0] + 0.5),
    "nowhere": ([None, ENDS & False, NOT_FIRST & False], NUMBER),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_write_by_several_masks_is_a_choice(name: str) -> None:
    indices, values = PAIRS[name]
    assert decompositions_masks.pairs(X, indices, values)
    got = decompositions_masks.paired_put(X, indices, values)
    assert torch.equal(got, aten.index_put.default(X, indices, values))
    if "places" not in name:
        got = decompositions_masks.paired_put(X, indices, values, True)
        assert torch.equal(got, aten.index_put.default(X, indices, values, True))


def test_values_for_each_place_of_a_mask_with_places_are_left() -> None:
    indices, values = [None, ENDS, torch.tensor([-1, 0])], torch.tensor([7.0, 8.0])
    assert decompositions_masks.paired_put(X, indices, values) is NotImplemented
    assert decompositions_masks.paired_put(X, indices, NUMBER, True) is NotImplemented


@pytest.mark.parametrize("sizes", [(3, 4), (5, 7), (1, 6), (2, 2)])
def test_the_largest_of_uneven_windows_and_its_place(sizes: tuple[int, int]) -> None:
    x = (
        torch.tensor([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 9, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4])
        .repeat(3)
        .reshape(2, 6, 6)
    )
    operator = aten.adaptive_max_pool2d.default
    for given in (x, x[None], x.bfloat16()):
        for got, want in zip(decompositions_pools.TABLE[operator](given, sizes), operator(given, sizes), strict=True):
            assert torch.equal(got, want)


# Down to each IR type


class Of(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, i: torch.Tensor) -> Any:
        return self.function(x, i)


def single(x: torch.Tensor, i: torch.Tensor) -> Any:
    return x[0, 0].gather(0, i), x.index_select(2, i), x.index_add(1, i, x[:, :1]), x.take(i)


def read(x: torch.Tensor, i: torch.Tensor) -> Any:
    return x[i], x[:, i - 2], x[i, :, i.int()]


def written(x: torch.Tensor, i: torch.Tensor) -> Any:
    y = x.clone()
    y[i] = x[0] + 1
    y[0, i - 2, [0, 2]] = 3.0
    return y


def several(x: torch.Tensor, i: torch.Tensor) -> Any:
    y, z = x.clone(), x.clone()
    y[:, ENDS, x[0, 0] > x[0, 0, 1]] = 7.0
    y[ALL, :, NOT_FIRST] = x[0, :2, :3]
    z[i.reshape(1), :, i.reshape(1)] = x[0, :, 0]
    return y, aten.index_put.default(z, [None, i.reshape(1), i.reshape(1)], x[:, 0, :1])


def filled(x: torch.Tensor, i: torch.Tensor) -> Any:
    byte = x.to(torch.uint8)
    pools = nn.functional.adaptive_max_pool2d(x.bfloat16(), (2, 3)), nn.functional.adaptive_max_pool1d(x[0], 3)
    return byte.new_full((2, 3), 7), torch.full_like(byte, 3), byte.clone().fill_(200), *pools, torch.cov(x[0] * i)


def complex_(x: torch.Tensor, i: torch.Tensor) -> Any:
    z = torch.complex(x[0, 0], x[1, 0] - i)
    pairs = torch.view_as_complex(x.reshape(12, 2))  # of which the parts are every other number
    return z.cumprod(0), pairs.as_strided((2, 2), (2, 1), 1), z.as_strided_scatter(z[:2] * 2, (2,), (2,), 1)


@pytest.mark.parametrize("function", [single, read, written, several, filled, complex_])
def test_they_reach_every_ir_type(function: Callable[..., Any]) -> None:
    lowered = irwidget.lower(Of(function), X / 7, ONE, to=TARGETS, check=True)
    checks = [lowered[name].check for name in TARGETS]
    assert [str(check) for check in checks if check is None or check.state != "equal"] == []


def test_what_the_interpreter_does_not_know_is_named() -> None:
    check = irwidget.lower(
        Of(lambda x, i: x.scatter(0, i.reshape(1, 1, 1), x[i, :1, :1].reshape(1, 1, 1))),
        X,
        ONE,
        to="stablehlo_mlir",
        check=True,
    ).check
    assert check is not None
    assert "StableHLO's interpreter does not take it: arith." in check.reason


def test_values_that_a_mask_has_read_are_written_by_it() -> None:
    def doubled(x: torch.Tensor, i: torch.Tensor) -> Any:
        y, z = x.clone(), x.clone()
        y[x > i] *= 2
        z[x > 100] += 1
        return y, z

    check = irwidget.lower(Of(doubled), X, ONE, to="llvm_ir", check=True).check
    assert check is not None
    assert check.state == "equal", check


@pytest.mark.parametrize("to", ["linalg_on_tensors_mlir", "stablehlo_mlir"])
def test_indices_from_the_back_of_a_dynamic_dimension(to: str) -> None:
    def moved(x: torch.Tensor, i: torch.Tensor) -> Any:
        return x[:, i] if to == "stablehlo_mlir" else aten.index_put.default(x, [None, i], x[:, :1] * 2)

    shapes = ({1: torch.export.Dim("n")}, None)
    found = irwidget.lower(Of(moved), X[0], torch.tensor([-1, 0, -2]), to=to, dynamic_shapes=shapes, check=True).check
    assert found is not None
    assert found.state == "equal", found
