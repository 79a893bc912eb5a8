"""Single ops that torch-mlir lowers wrongly, crashes on or does not know, in every output type, on partial tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import emit_kernel
from tests.sampling import one_of

FLOATS = torch.linspace(-3, 3, 50)
OTHERS = torch.linspace(2, -2, 50) + 0.01
INTEGERS = torch.arange(-25, 25, dtype=torch.int32)
DIVISORS = torch.where(INTEGERS % 7 == 0, 3, INTEGERS % 7 - 9).int()
BYTES = torch.arange(3, 253, 5, dtype=torch.uint8)


@helion.kernel()
def apply(x: torch.Tensor, y: torch.Tensor, f: Callable[..., torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    for tile in hl.tile(x.size(0)):
        out[tile] = f(x[tile], y[tile])
    return out


def check(
    f: Callable[..., Any],
    x: torch.Tensor,
    y: torch.Tensor,
    aten: tuple[str, ...],
    block: int = 16,
    expected: Any = None,
) -> None:
    expected = f(x, y) if expected is None else expected
    kernel = emit_kernel(apply, (x, y, f, expected.dtype), {"block_sizes": [block]})
    for form in aten:
        lowering = kernel.lower(form, dumps=False)
        assert lowering.verify() is None, form
        actual = lowering.run(opt_level=0)
        torch.testing.assert_close(actual, expected.expand(50), rtol=2e-6, atol=1e-6, equal_nan=True, msg=form)


FORMS = ("linalg-on-tensors", "tosa", "stablehlo")


def rows(ops: Iterable[str], dtypes: Iterable[torch.dtype] = (torch.float32,)) -> Iterator[Any]:
    """Every run has each op in linalg and in one of the others; all of a row come of one kernel."""
    for name in ops:
        for dtype in dtypes:
            chosen = FORMS[0], one_of(FORMS[1:], f"{name} {dtype}")
            left = tuple(form for form in FORMS if form not in chosen)
            yield pytest.param(name, dtype, chosen, id=f"{name}-{dtype}")
            yield pytest.param(name, dtype, left, id=f"{name}-{dtype}-{left[0]}", marks=pytest.mark.exhaustive)


INFINITE = float("inf")

FLOAT_OPS: dict[str, Callable[..., Any]] = {
    "reciprocal": lambda x, y: torch.reciprocal(x),
    "sign": lambda x, y: torch.sign(x) + torch.sgn(y),
    "signbit": lambda x, y: torch.signbit(x),
    "copysign": lambda x, y: torch.copysign(x, y) + torch.copysign(x, y.half()),
    "copysign of integers": lambda x, y: torch.copysign((x * 9).int(), y) + torch.copysign(y, (x * 9).int()),
    "hypot": lambda x, y: torch.hypot(x * 1e30, y * 1e30),
    "hypot beside NaN": lambda x, y: torch.hypot(x * INFINITE, (y - y) / 0),
    "scaled product": lambda x, y: torch.addcmul(x, torch.sign(y) * 3e38, x * 10, value=1e-3) / 1e36,
    "erfc": lambda x, y: torch.erfc(x),
    "gelu tanh": lambda x, y: torch.nn.functional.gelu(x, approximate="tanh"),
    "softshrink": lambda x, y: torch.nn.functional.softshrink(x),
    "fmod": lambda x, y: torch.fmod(x * 1e7, y) + torch.fmod(y, float("inf")),
    "remainder": lambda x, y: (x * 1e7) % y,
    "floor": lambda x, y: (x * 1e6) // y + x // INFINITE + torch.where(x > 0, x * INFINITE // 3, x // 0.0),
    "floor of doubles": lambda x, y: torch.round(x).double() // 1e-8 - torch.round(x).double() * 1e8,
    "other halves": lambda x, y: x.half().bfloat16().float() + y.bfloat16().half().float(),
    "root": lambda x, y: (x * INFINITE) ** 0.5,
    "remainder of a number": lambda x, y: x % 0.7 + x % -0.7 + (x.bfloat16() % 0.7).float(),
    "inverse hyperbolic": lambda x, y: torch.asinh(x * 1e5) + torch.acosh(y * 1e5) + torch.asinh(y),
    "gelu of halves": lambda x, y: torch.round(torch.nn.functional.gelu(x.half()).float() * 4000),
    "isclose": lambda x, y: torch.isclose(x, y, atol=1.0),
    "to bytes": lambda x, y: (x * 40 + 128).to(torch.uint8),
    "doubles to halves": lambda x, y: (x.double() / 3).half(),
}

INTEGER_OPS: dict[str, Callable[..., Any]] = {
    "floor": lambda i, j: (i * (2**57 + 2**26 + 1)) // j,  # more digits than floats have
    "trunc": lambda i, j: torch.div(i, j, rounding_mode="trunc"),
    "remainder": lambda i, j: i % j,
    "remainder of a number": lambda i, j: i % 4 - i % -4,
    "number beyond": lambda i, j: (i.to(torch.int8) < 200).int() + i.to(torch.int8) % 200 + i.to(torch.int8) // 300,
    "fmod": lambda i, j: torch.fmod(i, j) + torch.fmod(i * -(2**31), torch.where(j > 0, j, -1)),
    "sum of truths": lambda i, j: ((i > 0) + (j > 0)).to(i.dtype) + ((i > 0) + True).to(i.dtype),
    "order of truths": lambda i, j: (
        torch.maximum(i > 0, j > 0).int()
        + ((i > 0) < (j > 0)).int() * 2
        + torch.minimum(i > 0, j > 0).int() * 4
        + ((i > 0) >= (j > 0)).int() * 8
    ),
    "short by a float": lambda i, j: i.to(torch.int16) * 1.5 + i.to(torch.int16) / 3 + i.to(torch.int8) / 3,
    "function of floats": lambda i, j: torch.erf(i * 0 + j % 3),
    "power": lambda i, j: i**5,
    "shifts by too much": lambda i, j: (j << (i * 2)) + (j >> (i * 2)) * 3 + (i << 70) + (i >> 70) + (1 << i),
    "relu": lambda i, j: torch.relu(i),
    "negative": lambda i, j: -i,
    "less a number": lambda i, j: (i - 1) * 3 + torch.sub(i, 100, alpha=2) + (i - 0.5).to(i.dtype),
    "shifts": lambda i, j: torch.bitwise_left_shift(i, 3) + torch.bitwise_right_shift(i, 2) + (i << 1),
    "sign": lambda i, j: torch.sign(i),
    "to bytes": lambda i, j: i.to(torch.uint8),
}

BYTE_OPS: dict[str, Callable[..., Any]] = {
    "wraps": lambda q, r: q + r * 3,
    "shifts": lambda q, r: (q >> 4) | (r << 3),
    "complement": lambda q, r: ~q - 1,
    "compares": lambda q, r: (q > 130) & (q < r + 1),
    "to float": lambda q, r: q.float() * 0.5,
    "divides": lambda q, r: q // r + q % r,
    "number beyond": lambda q, r: torch.clamp(q, -2, 3) + q % -3 + q // -3 * (q > -1) + (q < 1000),
    "least": lambda q, r: torch.minimum(q, r) + torch.maximum(q, r),
}

WHOLE: dict[str, Callable[..., Any]] = {
    "max": lambda i, j: i.max(),
    "min": lambda i, j: i.min(),
    "sum": lambda i, j: i.sum(),
}


@pytest.mark.parametrize(("name", "dtype", "forms"), [*rows(FLOAT_OPS)])
def test_floats(name, dtype, forms):
    check(FLOAT_OPS[name], FLOATS, OTHERS, forms)


@pytest.mark.parametrize(
    ("name", "dtype", "forms"),
    [
        *rows(INTEGER_OPS, [torch.int32]),
        *rows(
            ["floor", "remainder", "negative", "less a number", "shifts", "shifts by too much"],
            [torch.int8, torch.int64],
        ),
    ],
)
def test_integers(name, dtype, forms):
    check(INTEGER_OPS[name], INTEGERS.to(dtype), DIVISORS.to(dtype), forms)


def test_halves_are_rounded_once():
    """PyTorch's own sums of the last lanes of a tensor do not fit."""

    def f(x, y):
        large = torch.full_like(x, 6e4)
        return torch.addcmul(large, large, large / -6e4, value=1.5) + torch.add(-large, large, alpha=1.5)

    check(f, FLOATS.half(), FLOATS.half(), FORMS, expected=torch.zeros_like(FLOATS.half()))


def test_extreme_integers():
    """PyTorch's own process may end over it; a GPU's wraps around. The largest by 1 stays what it is."""
    extremes = torch.tensor([-(2**63), 2**63 - 1] * 25)
    check(lambda i, j: i // j + i % j, extremes, torch.tensor([-1, 1] * 25), FORMS, expected=extremes)


@pytest.mark.parametrize(("name", "dtype", "forms"), [*rows(BYTE_OPS, [torch.uint8])])
def test_bytes(name, dtype, forms):
    check(BYTE_OPS[name], BYTES, BYTES.flip(0), forms)


@pytest.mark.parametrize(("name", "dtype", "forms"), [*rows(WHOLE, [torch.int8, torch.uint8])])
def test_reductions_of_bytes(name, dtype, forms):
    values = (BYTES - 3).to(dtype)
    check(WHOLE[name], values[:50], values[:50], forms, block=64)


def test_sums_of_integers_have_the_dtype_of_the_result():
    tiny, small = torch.full((50,), 100, dtype=torch.int8), torch.full((50,), 30000, dtype=torch.int16)
    check(lambda i, j: i.sum(0) + j.sum(0) + (j.int() * 70000).sum(), tiny, small, FORMS, block=64)


def test_reductions_of_halves_are_in_float32_and_rounded_once():
    """In bfloat16, 300 and 1 are 300, and a product that is rounded 50 times is off by several places."""
    x, y = torch.ones(50).bfloat16(), torch.full((50,), 1.0078125).bfloat16()
    x[0] = 300
    total, product = (value.bfloat16().float() for value in (x.float().sum(), y.float().prod()))
    expected = total + product * 200
    check(lambda x, y: x.sum(0).float() + y.prod(0).float() * 200, x, y, FORMS, block=64, expected=expected)


@helion.kernel()
def means(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype, device=x.device)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows, :].mean(-1)
    return out


def test_means_of_halves_over_a_whole_dim_are_in_float32_and_rounded_once():
    x = torch.ones(4, 77).bfloat16()
    x[:, 0] = 300
    kernel = emit_kernel(means, (x,))
    for form in FORMS:
        actual = kernel.lower(form, dumps=False).run(opt_level=0)
        assert torch.equal(actual, x.float().mean(-1).bfloat16()), form


def test_numbers_near_zero_keep_their_digits():
    check(
        lambda x, y: 1e8 * (torch.expm1(x * 1e-8) + torch.log1p(y * 1e-8)), FLOATS, OTHERS, ("raw", "linalg-on-tensors")
    )
    check(lambda x, y: 1e8 * torch.expm1(torch.log1p(y * 1e-8)), FLOATS, OTHERS, ("stablehlo",))
    check(lambda x, y: 1e8 * torch.expm1(x.double() * 1e-8), FLOATS, OTHERS, ("linalg-on-tensors",))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_each_operation_on_16_bits_is_rounded(dtype: torch.dtype):
    x, y = (FLOATS * 1e-2).to(dtype), OTHERS.to(dtype)
    check(lambda x, y: ((1 + x) - 1) + torch.sqrt(torch.exp(y)), x, y, ("raw", "linalg-on-tensors"))
    check(lambda x, y: torch.log1p(x) + torch.expm1(x), x, y, ("tosa",))
