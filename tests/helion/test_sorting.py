"""Sorted tiles: the order of PyTorch's stable sort for every dtype, with NaN, infinities, equals; partial tiles."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from irwidget.helion import lower_kernel
from tests.helion import kernels_idioms as idioms
from tests.helion.cases import randint, randn

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int32, torch.int64, torch.int8, torch.uint8, torch.bool)


def rows(dtype: torch.dtype) -> torch.Tensor:
    if not dtype.is_floating_point:
        return randint(0, 2 if dtype == torch.bool else 250, 9, 13, dtype=torch.int64).to(dtype)
    x = randn(9, 13).to(dtype)
    x[::2, 3], x[1::3, 5], x[::4, 12], x[:, 7] = float("nan"), float("inf"), -float("inf"), x[:, 2]
    x[4, 8] = float("nan")
    return x


@pytest.mark.parametrize(
    ("dtype", "descending"),
    [*((dtype, bool(i % 2)) for i, dtype in enumerate([*FLOATS, *INTEGERS])), (FLOATS[0], True), (INTEGERS[0], True)],
)
def test_sort_is_that_of_pytorch(dtype, descending):
    x = rows(dtype)
    values, order = lower_kernel(idioms.sort_rows, (x, descending), dumps=False).run(opt_level=0)
    expected = torch.sort(x, descending=descending, stable=True)
    torch.testing.assert_close(values, expected.values, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(order, expected.indices)


@pytest.mark.parametrize("form", ["raw", "linalg-on-tensors", "tosa", "stablehlo"])
def test_masked_lanes_come_last(form):
    x = -randn(50).abs() - 1  # masked lanes read 0, which would be the greatest
    values = lower_kernel(idioms.sort_tiles, (x,), form, {"block_sizes": [32]}, dumps=False).run(opt_level=0)
    assert torch.equal(values, torch.cat([part.sort(descending=True).values for part in x.split(32)]))


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 6), st.integers(1, 20), st.data())
def test_the_least_of_any_shape(m, n, data):
    k = data.draw(st.integers(1, n))
    x = randn(m + 1, n + 1)
    least = lower_kernel(idioms.least, (x, k), dumps=False).run(opt_level=0)
    assert torch.equal(least, x.sort().values[:, :k])
