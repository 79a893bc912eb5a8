"""Operators that TOSA lacks, in terms of those that it has: the same values, at every edge, and down to TOSA."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import nn

import irwidget
from irwidget.frontends import decompositions_averages, decompositions_convolutions, decompositions_narrow

aten: Any = torch.ops.aten
TABLE = decompositions_narrow.table("TOSA")
EDGES = [0.0, -0.0, 1e-30, 0.3, -0.7, 1.0, -1.0, 2.5, -20.0, 88.9, -89.2, 1e20, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", ["asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh"])
def test_functions_are_those_of_eager_at_every_edge(name: str) -> None:
    x, operator = torch.tensor([*EDGES, *torch.linspace(-3, 3, 200).tolist()]), getattr(aten, name).default
    got, want = TABLE[operator](x), operator(x.double()).float()
    torch.testing.assert_close(got, want, equal_nan=True, rtol=3e-6, atol=3e-7)
    assert TABLE[operator](x.half()).dtype == torch.float16
    torch.testing.assert_close(TABLE[operator](x.half()), operator(x.half()), equal_nan=True)


def same_zeros(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(torch.signbit(one[~one.isnan()]), torch.signbit(other[~other.isnan()]))


def test_functions_of_two_are_those_of_eager_at_every_pair_of_edges() -> None:
    x, y = (one.reshape(-1) for one in torch.meshgrid(torch.tensor(EDGES), torch.tensor(EDGES), indexing="ij"))
    for name in ("atan2", "copysign"):
        operator = aten.copysign.Tensor if name == "copysign" else aten.atan2.default
        known = ~y.isnan() if name == "copysign" else slice(None)  # the sign of a NaN
        got, want = TABLE[operator](x, y)[known], operator(x, y)[known]
        torch.testing.assert_close(got, want, equal_nan=True)
        assert same_zeros(got, want)
    small = (y.abs() < 100) & (x.abs() < 100) & (y.abs() > 0.4)
    for one in (torch.float32, torch.int32):
        a, b = x[small].to(one), y[small].mul(3).to(one)
        torch.testing.assert_close(TABLE[aten.fmod.Tensor](a, b), torch.fmod(a, b), equal_nan=True)
        torch.testing.assert_close(TABLE[aten.fmod.Scalar](a, 0.75), torch.fmod(a, 0.75), equal_nan=True)


@pytest.mark.parametrize("operator", [aten.tril_indices.default, aten.triu_indices.default])
def test_places_of_a_triangle_are_those_of_eager(operator: Any) -> None:
    for rows, columns, offset in itertools.product(range(6), range(6), range(-7, 8)):
        got, want = TABLE[operator](rows, columns, offset), operator(rows, columns, offset)
        assert (got is NotImplemented and not want.numel()) or torch.equal(got, want), (rows, columns, offset)
    assert TABLE[operator](2, 2, dtype=torch.int32).dtype == torch.int32


def test_pairs_of_features_reach_tosa() -> None:
    def pairs(x: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x, x.mT)[:, *torch.tril_indices(4, 4, -1)]

    low = irwidget.lower(pairs, torch.randn(2, 4, 3), to="tosa_mlir", check=True)
    assert low.check
    assert low.check.state == "equal", low.check


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_sums_of_halves_are_rounded_once(kind: torch.dtype) -> None:
    random = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(*size, generator=random).to(kind) for size in ((1, 6, 7, 8, 9), (6, 1, 3, 3, 3)))
    how = (None, [1] * 3, [1] * 3, [1] * 3, False, [0] * 3, 6)
    cases: list[Any] = [
        (aten.convolution.default, decompositions_convolutions.IN_TOSA[aten.convolution.default], (x, weight), how),
        *(
            (aten.avg_pool3d.default, decompositions_averages.IN_TOSA[aten.avg_pool3d.default], (x,), more)
            for more in ((3, 2, 1, True), (3, 1, 1, True, False))
        ),
    ]
    for operator, (_, made), given, more in cases:
        got, want = made(*given, *more), operator(*(one.double() for one in given), *more)
        assert got.dtype == kind
        assert (got.double() - want).abs().le(torch.finfo(kind).eps * want.abs() * 0.51 + 1e-5).all()


@pytest.mark.parametrize("how", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("kind", [torch.float32, torch.int32])
@pytest.mark.parametrize("include", [True, False])
def test_values_that_meet_are_reduced_as_by_eager(how: str, kind: torch.dtype, include: bool) -> None:
    random = torch.Generator().manual_seed(1)
    x, values = ((torch.randn(shape, generator=random) * 9).to(kind) for shape in ((4, 5, 3), (6, 7, 3)))
    for shape, dim in (((6, 4, 3), 0), ((3, 7, 2), 1), ((0, 2, 1), 0)):
        index = torch.randint(0, x.shape[dim], shape, generator=random)
        got = TABLE[aten.scatter_reduce.two](x, dim, index, values, how, include_self=include)
        torch.testing.assert_close(got, torch.scatter_reduce(x, dim, index, values, how, include_self=include))


def test_values_are_added_at_indices_as_by_eager() -> None:
    x, rows, columns = torch.randn(4, 5, 2), torch.tensor([[0], [-1], [0]]), torch.tensor([1, 1])
    for indices, values in (([rows, columns], torch.randn(2)), ([rows], torch.tensor(1.5)), ([columns], x[:2])):
        got = TABLE[aten.index_put.default](x, indices, values, True)
        torch.testing.assert_close(got, torch.index_put(x, indices, values, accumulate=True))
    assert TABLE[aten.index_put.default](x, [columns], x[:2]) is NotImplemented
    for dim, add in ((1, True), (2, False)):
        indices, values = [*[None] * dim, columns[:1]], torch.randn(1)
        got = TABLE[aten.index_put.default](x, indices, values, add)
        torch.testing.assert_close(got, torch.ops.aten.index_put(x, indices, values, add))
    assert TABLE[aten.index_put.default](x, [None, rows], x[:, :1, None], True) is NotImplemented


@pytest.mark.parametrize(("size", "factors"), [([7, 5], None), (None, [2.0, 3.0]), (None, [1.7, 0.6])])
def test_the_nearest_pixels_are_those_of_eager(size: Any, factors: Any) -> None:
    x, operator = torch.randn(2, 3, 4, 5), aten.upsample_nearest2d.vec
    assert torch.equal(TABLE[operator](x, size, factors), operator(x, size, factors))


def functions(x: torch.Tensor, y: torch.Tensor) -> Any:
    n = (x * 8).int()
    return torch.atan2(x, y), x.sinh(), torch.fmod(x, 0.7), n << 2, n >> 1, -n.long(), torch.fmod(n, 0.7)


INDEX = torch.tensor([0, 2, 0])


def writes(x: torch.Tensor, y: torch.Tensor) -> Any:
    place = torch.tensor([[0, 1, 0, 2]])
    largest = x.scatter_reduce(0, place, y[:1], "amax")
    put = x.clone()
    put[INDEX[:2]] = y[:2]
    put[:, INDEX[:2]] = y[:, :2]
    return (
        x.index_add(0, INDEX, y),
        x.scatter_add(0, place, y[:1]),
        largest,
        put,
        x.sort(1).values,
        nn.Upsample(scale_factor=2)(x[None]),
    )


@pytest.mark.parametrize("function", [functions, writes])
def test_tosa_says_them_and_what_it_says_is_executed(function: Any) -> None:
    torch.manual_seed(0)
    low = irwidget.lower(function, torch.randn(3, 4), torch.randn(3, 4), to="tosa_mlir", check=True, timeout=120)
    assert low.check is not None
    assert low.check.state == "equal", low.check
    assert " is decomposed: torch-mlir's passes refuse" in "".join(d.message for d in low.diagnostics)


def test_stablehlo_reduces_what_meets_and_linalg_is_shown_as_torch_mlir_lowers_it() -> None:
    made = irwidget.lower(
        lambda x: x.scatter_reduce(0, INDEX[None].expand(2, 3), x[:, :3], "prod") + torch.atan2(x, x),
        torch.rand(4, 4)[:, :3] + 0.5,
        to=["stablehlo_mlir", "linalg_on_tensors_mlir"],
        timeout=120,
    )
    said = {
        name: "".join(d.message for d in low.diagnostics if "decomposed" in d.message) for name, low in made.items()
    }
    assert said["stablehlo_mlir"].startswith("aten.scatter_reduce.two is decomposed")
    assert said["linalg_on_tensors_mlir"] == ""
    assert "math.atan2" in made["linalg_on_tensors_mlir"].text
