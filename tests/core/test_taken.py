"""Whether an operator is taken apart for some arguments, each by itself, and that it is as eager PyTorch has it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from irwidget.frontends import (
    decompositions,
    decompositions_bytes,
    decompositions_integers,
    decompositions_masks,
    decompositions_narrow,
    decompositions_unsigned,
    decompositions_wrong,
)

aten: Any = torch.ops.aten
prims: Any = torch.ops.prims
X = torch.arange(24.0).reshape(2, 3, 4)
ROW, FEW, MANY = torch.tensor([True, False]), torch.tensor([False, True, True]), X > 9
ROWS = torch.tensor([[True, False, True], [False, True, False]])
MASKS = {
    "of the first dimension": ([ROW], X[:1] + 1, "choice"),
    "behind one": ([None, FEW], X[:, :1] + 1, "choice"),
    "behind one, of what follows": ([None, FEW], X[0, 0] + 1, "choice"),
    "of two dimensions": ([FEW.expand(2, 3)], X[0, :1] + 1, "choice"),
    "of all": ([MANY], X[1, 1, 1], "choice"),
    "nowhere": ([ROW & False], X[0], "choice"),
    "for each place its own": ([None, FEW], X[:, 1:], "own"),
    "its own for all ahead": ([None, FEW], X[0, 1:], "own"),
    "its own in two dimensions": ([ROWS], X[0] + 1, "own"),
    "its own of all": ([MANY], torch.arange(14.0), "own"),
    "with an index": ([ROW, torch.tensor([1])], X[0, 0], ""),
    "no mask": ([torch.tensor([1])], X[0], ""),
}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_a_write_where_a_mask_is_true_is_a_choice(name: str, accumulate: bool) -> None:
    indices, values, how = MASKS[name]
    want = aten.index_put.default(X, indices, values, accumulate)
    for taken, made in (("choice", decompositions_masks.index_put), ("own", decompositions_masks.own_put)):
        got = made(X, indices, values, accumulate)
        assert torch.equal(got, want) if how == taken else got is NotImplemented


@pytest.mark.parametrize("name", MASKS)
def test_a_read_where_a_mask_is_true_is_one_of_places(name: str) -> None:
    indices, _, how = MASKS[name]
    got = decompositions_masks.index(X, indices)
    masked = how or name == "with an index"
    assert torch.equal(got, aten.index.Tensor(X, indices)) if masked else got is NotImplemented


ONE, TWO = torch.tensor(1), torch.tensor(2, dtype=torch.int32)
PLACES: dict[str, tuple[list[Any], torch.Tensor]] = {
    "of the first dimension": ([ONE], X[0] + 1),
    "behind one, of what follows": ([None, TWO], X[0, 0] + 1),
    "two": ([ONE, TWO], X[0, 0] + 1),
    "two, apart, of one number": ([ONE, None, TWO], X[1, 1, 1]),
    "two, apart": ([ONE, None, TWO], X[0, :, 0] + 1),
    "of all": ([ONE, ONE, TWO], X[0, 0, 0]),
}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_a_write_at_a_place_of_no_dimensions_is_one_of_a_row(name: str, accumulate: bool) -> None:
    indices, values = PLACES[name]
    put = aten.index_put.default

    class Written(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return put(x, indices, values, accumulate)

    chosen = decompositions.of(torch.export.export(Written(), (X,)), "linalg")
    assert put in chosen.refused
    assert torch.equal(chosen.table[put](X, indices, values, accumulate), Written()(X))


CUBE = torch.arange(3 * 2 * 3 * 4).reshape(3, 2, 3, 4)
ENDS, LAST = torch.tensor([True, False, True]), torch.tensor([False, True])
SEVERAL: dict[str, list[Any]] = {
    "two masks side by side": [ENDS, LAST.logical_not()],
    "two that are apart": [ENDS, None, ENDS],
    "not in front": [None, LAST, torch.tensor([False, False, True])],
    "not in front, and apart": [None, LAST, None, torch.tensor([-1])],
    "of two dimensions, and one": [torch.eye(3, 2) > 0, None, torch.tensor([True, False, False, True])],
    "with places from the back": [ENDS, torch.tensor([-1, 0])],
    "with places in rows": [ENDS, torch.tensor([[0], [-1], [1]])],
    "nowhere": [ENDS & False, ENDS[:2] & False],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_read_by_several_masks_is_one_of_places(name: str) -> None:
    indices = SEVERAL[name]
    assert torch.equal(decompositions_masks.index(CUBE, indices), aten.index.Tensor(CUBE, indices))


@pytest.mark.parametrize("offset", [-5, -1, 0, 2, 9])
def test_diagonals_are_gathered(offset: int) -> None:
    made = decompositions_narrow.table("StableHLO")[aten.diagonal.default]
    for x, dims in ((X, (0, 1)), (X, (2, 0)), (X[0], (-1, -2)), (X[0].T, (0, 1))):
        if offset == max(-2, min(offset, 2)):
            assert torch.equal(made(x, offset, *dims), x.diagonal(offset, *dims))
        else:
            assert made(x, offset, *dims).shape == x.diagonal(offset, *dims).shape


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_shifts_by_all_bits_leave_the_sign(kind: torch.dtype) -> None:
    limits, table = torch.iinfo(kind), decompositions_wrong.table("")
    x = torch.tensor([limits.min, limits.max, limits.max // 2, 1], dtype=kind)
    for operator in (aten.__lshift__.Scalar, aten.__rshift__.Scalar):
        for count in (limits.bits, limits.bits + 8, -1):
            assert torch.equal(table[operator](x, count), operator(x, count)), count
        assert table[operator](x, limits.bits - 1) is NotImplemented


@pytest.mark.parametrize("kind", [torch.uint8, torch.int16, torch.int64])
def test_of_factors_of_integers_the_whole_part_counts(kind: torch.dtype) -> None:
    x = torch.tensor([[1, 2], [3, 40]], dtype=kind)
    got = decompositions_bytes.TABLE[aten.addmm.default](x, x, x, beta=1.6, alpha=2.4)
    want = torch.addmm(x, x, x, beta=1.6, alpha=2.4)
    assert torch.equal(got, want)
    assert got.dtype == want.dtype


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int32])
def test_what_has_no_sign_becomes_complex_by_floats(kind: torch.dtype) -> None:
    takes, made = decompositions_unsigned.IN_LINALG[prims.convert_element_type.default]
    x = torch.tensor([0, 1, 200]).to(kind)
    assert takes(x, torch.complex64) == (kind != torch.int32)
    assert not takes(x, torch.float32)
    if takes(x, torch.complex64):
        assert torch.equal(made(x, torch.complex128), x.to(torch.complex128))


def test_functions_of_bytes_are_those_of_floats() -> None:
    x = torch.tensor([0, 1, 2, 100, 128, 255], dtype=torch.uint8)
    functions = {function.default: () for function in decompositions_unsigned._FUNCTIONS}  # pyright: ignore
    for operator, more in {**functions, aten.pow.Tensor_Scalar: (2.5,), aten.atan2.default: (x.flip(0),)}.items():
        takes, made = decompositions_unsigned.IN_TOSA[operator]
        assert takes(x, *more), operator
        torch.testing.assert_close(made(x, *more), operator(x, *more), equal_nan=True)
        assert not takes(x.int(), *more), operator
        assert made(x.int(), *more) is NotImplemented
    assert not decompositions_unsigned.IN_TOSA[aten.pow.Tensor_Scalar][0](x, 2)  # which stays a byte


def test_integers_to_negative_powers_and_near_without_a_distance() -> None:
    x, powers = (one.reshape(-1) for one in torch.meshgrid(torch.arange(-2, 3), torch.arange(-3, 3), indexing="ij"))
    known = (x != 0) | (powers >= 0)  # of zero eager PyTorch has none
    got = decompositions_integers.TABLE[aten.pow.Tensor_Tensor](x, powers)[known]
    assert torch.equal(got, torch.pow(x[known], powers[known]))
    large = torch.tensor([(1 << 24) + 1, 5, 6])
    for rtol, atol in ((0, 0), (0, 1), (1e-5, 1e-8)):
        got = decompositions_integers.TABLE[aten.isclose.default](large, large - 1, rtol, atol)
        assert torch.equal(got, torch.isclose(large, large - 1, rtol, atol))
