"""Kernels bound with `static_shapes=False`: one lowering is right for other sizes, too."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UsageError
from irwidget.helion import emit_kernel, lower_kernel
from irwidget.toolchain.run import Options, Source
from tests.helion import kernels_idioms as idioms
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw
from tests.helion.cases import difference, randint, randn
from tests.sampling import one_of


@helion.kernel(static_shapes=False)
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.nn.functional.softmax(x[rows, :], dim=1)
    return out


@helion.kernel(static_shapes=False)
def mean_and_ends(x: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty([m], dtype=x.dtype, device=x.device)
    for rows in hl.tile(m):
        total = hl.zeros([rows], dtype=torch.float32)
        for columns in hl.tile(n):
            total = total + x[rows, columns].sum(1)
        out[rows] = total / n + x[rows, -1] * x[rows, n // 2]
    return out


@helion.kernel(static_shapes=False)
def two_halves(x: torch.Tensor) -> torch.Tensor:
    """The same computed sizes around and in two loops."""
    out = torch.zeros_like(x)
    n = x.size(1)
    for rows in hl.tile(x.size(0)):
        for columns in hl.tile(n // 2):
            out[rows, columns] = x[rows, columns] + n // 3
        for columns in hl.tile(n // 2, n):
            out[rows, columns] = x[rows, columns] * (n // 3)
    return out


@helion.kernel(static_shapes=False)
def scaled(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] * scale[0]
    return out


@helion.kernel(static_shapes=False)
def first_columns(x: torch.Tensor) -> torch.Tensor:
    """Helion pads the row to 32, and with it the tile of 20 that it meets."""
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.where(hl.arange(20)[None, :] < 5, x[rows, :], 0.0)
    return out


@helion.kernel(static_shapes=False)
def tenth_power(x: torch.Tensor) -> torch.Tensor:
    (n,) = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(n):
        out[tile] = x[tile] * n**10
    return out


@helion.kernel(static_shapes=False)
def rounded_numbers(x: torch.Tensor, scale: float) -> torch.Tensor:
    out = torch.empty([6, x.size(0)], dtype=x.dtype, device=x.device)
    for i in hl.grid(x.size(0)):
        out[0, i] = x[i] * abs(i - 5)
        out[1, i] = x[i] * math.ceil((i - 5) / 3)
        out[2, i] = x[i] * math.floor((i - 5) / 3)
        out[3, i] = x[i] * math.trunc((i - 5) / 3)
        out[4, i] = x[i] * round((i - 5) / 2)
        out[5, i] = x[i] * (scale // 0.4)
    return out


def eager_rounded_numbers(x: torch.Tensor, scale: float) -> torch.Tensor:
    moved = torch.arange(len(x)) - 5
    third, half = moved / 3, moved / 2
    rows = (moved.abs(), third.ceil(), third.floor(), third.trunc(), half.round(), torch.full_like(x, scale // 0.4))
    return torch.stack([x * row for row in rows])


def eager_halves(x: torch.Tensor) -> torch.Tensor:
    half, third = x.size(1) // 2, x.size(1) // 3
    return torch.cat([x[:, :half] + third, x[:, half:] * third], 1)


def eager_mean_and_ends(x: torch.Tensor) -> torch.Tensor:
    return x.mean(1) + x[:, -1] * x[:, x.size(1) // 2]


def products(m: int, k: int, n: int) -> tuple[torch.Tensor, ...]:
    return randn(m, k), randn(k, n), randn(n)


def routed(tokens: int, k: int, n: int, experts: int) -> tuple[Any, ...]:
    expert = randint(0, experts, tokens)
    counts = torch.bincount(expert, minlength=experts).to(torch.int32)
    starts = (counts.cumsum(0) - counts).to(torch.int32)
    order = torch.argsort(expert, stable=True).to(torch.int32)
    return randn(tokens, k), randn(experts, k, n), counts, starts, order, int(counts.max())


def eager_routed(a: Any, w: Any, counts: Any, starts: Any, order: Any, _capacity: int) -> Any:
    out = torch.zeros(a.size(0), w.size(2))
    for e, (start, count) in enumerate(zip(starts.tolist(), counts.tolist(), strict=True)):
        rows = order[start : start + count].long()
        out[rows] = a[rows] @ w[e]
    return out


CASES: list[tuple[Any, Callable[..., Any], list[tuple[Any, ...]]]] = [
    (pw.add_dynamic, torch.add, [(randn(33, 20), randn(33, 20)), (randn(100, 51), randn(100, 51))]),
    (
        mm.matmul_relu_dynamic, lambda x, y, b: torch.relu(x @ y + b),
        [products(50, 70, 45), products(33, 19, 101), products(2, 128, 16)],
    ),
    (
        mm.matmul_relu_dynamic, lambda x, y, b: torch.relu(x @ y + b),
        [(randn(70, 50).t(), *products(50, 70, 45)[1:]), (randn(19, 33).t(), *products(33, 19, 101)[1:])],
    ),
    (softmax, lambda x: x.softmax(1), [(randn(33, 20),), (randn(100, 20),)]),
    (mean_and_ends, eager_mean_and_ends, [(randn(33, 20),), (randn(100, 51),)]),
    (two_halves, eager_halves, [(randn(33, 20),), (randn(7, 90),)]),
    (scaled, torch.mul, [(randn(33), randn(1)), (randn(100), randn(1))]),
    (first_columns, lambda x: x * (torch.arange(20) < 5), [(randn(33, 20),), (randn(100, 20),)]),
    (idioms.moe_matmul, eager_routed, [routed(40, 24, 20, 3), routed(70, 50, 33, 5)]),
]  # fmt: skip
NAMES = ["add", "matmul", "transposed", "softmax", "mean_and_ends", "two_halves", "scaled", "columns", "moe"]


FORMS = ("raw", "tosa", "stablehlo")


def marks(name: str, aten: str) -> Any:
    """Every run has each kernel in linalg and in one of the others."""
    return () if aten in ("linalg-on-tensors", one_of(FORMS, name)) else pytest.mark.exhaustive


@functools.cache
def emitted(name: str) -> Any:
    kernel, _, inputs = CASES[NAMES.index(name)]
    return emit_kernel(kernel, inputs[0])


@pytest.mark.parametrize(
    ("name", "aten"),
    [pytest.param(n, a, marks=marks(n, a)) for n in NAMES for a in ("linalg-on-tensors", *FORMS)],
)
def test_one_lowering_is_right_for_several_sizes(name: str, aten: str):
    _, eager, inputs = CASES[NAMES.index(name)]
    lowering = emitted(name).lower(aten, dumps=False)
    assert lowering.verify() is None
    for arguments in inputs:
        assert difference(lowering.run(*arguments, opt_level=0), eager(*arguments)) < 2e-5


def test_sizes_are_open_where_no_tile_depends_on_them():
    lowering = lower_kernel(softmax, (randn(33, 20),), dumps=False)
    assert "%x: memref<?x20xf32>" in lowering.mlir
    assert "memref.dim" in lowering.mlir


@pytest.mark.parametrize(("shape", "why"), [
    ((33, 21), "the row is one tile"),
    ((1, 20), "Helion binds anew for a size of 1"),
    ((33,), "another rank"),
])  # fmt: skip
def test_sizes_that_a_lowering_is_not_made_for_are_refused(shape: tuple[int, ...], why: str):
    lowering = lower_kernel(softmax, (randn(33, 20),), dumps=False)
    with pytest.raises(UsageError, match=r"lowered for \(\?, 20\) torch.float32 \(\? is any size but 0 and 1\)"):
        lowering.run(randn(*shape))


def test_sizes_stay_as_bound_where_an_op_needs_their_numbers():
    lowering = lower_kernel(tenth_power, (randn(5),), dumps=False)
    assert difference(lowering.run(randn(5)), randn(5) * 5**10) < 1e-6
    (remark,) = lowering.diagnostics
    assert remark.severity == "remark"
    assert "has no arith form" in remark.message
    with pytest.raises(UsageError, match=r"lowered for \(5,\) torch.float32, not \(6,\)"):
        lowering.run(randn(6))


def test_numbers_are_rounded_as_python_does_it():
    x = torch.ones(11)
    lowering = lower_kernel(rounded_numbers, (x, 1.3), dumps=False)
    assert difference(lowering.run(x, 1.3), eager_rounded_numbers(x, 1.3)) == 0
    assert difference(lowering.run(x[:7], -1.3), eager_rounded_numbers(x[:7], -1.3)) == 0


def test_sizes_that_are_equal_must_stay_equal():
    lowering = lower_kernel(pw.add_dynamic, (randn(33, 20), randn(33, 20)), dumps=False)
    with pytest.raises(UsageError, match="not \\(34, 20\\)"):
        lowering.run(randn(33, 20), randn(34, 20))


@helion.kernel(static_shapes=False)
def picked(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    _, columns = x.size()
    groups = at.size(1)
    out = torch.empty([at.size(0), columns], dtype=x.dtype, device=x.device)
    for rows, column in hl.tile([at.size(0), columns]):
        out[rows, column] = x[at[rows, groups - 1], column]
    return out


def test_a_dim_of_one_under_another_name_is_not_open():
    """Helion knows the size by the last name that the host gives it, here `_`."""

    @helion.kernel(static_shapes=False)
    def grouped(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        rows, _ = x.size()
        assert y.size() == x.size()
        out = torch.empty_like(x)
        for tile in hl.tile(rows):
            out[tile, 0] = x[tile, 0] + y[tile, 0]
        return out

    x = randn(9, 1)
    lowering = lower_kernel(grouped, (x, x))
    assert torch.equal(lowering.run(x, x, opt_level=0), x + x)


def test_a_loop_takes_nothing_from_the_stack():
    """A program of many accesses would end with it: the sizes of dims are read without."""
    lowering = lower_kernel(picked, (randn(20, 30), randint(0, 20, 11, 2)))
    assert "memref<?x?x" in lowering.mlir
    program = lowering.program(check_bounds=True)
    text = Source(program.bytecode).run(program.steps, Options(dumps=False)).dumps[-1].text
    assert "llvm.func" in text
    assert "llvm.alloca" not in text


@helion.kernel(static_shapes=False, config=helion.Config(block_sizes=[4]))
def strided(x: torch.Tensor, begin: int, end: int, step: int) -> torch.Tensor:
    out = torch.empty([x.size(0)])
    for rows in hl.tile(x.size(0)):
        made = hl.zeros([rows])
        for i in range(begin, end, step):
            made = made * 0.5 + x[rows, i]
        out[rows] = made
    return out


@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [(0, 6, 2), (1, 6, 4), (5, -1, -2), (4, 0, -4), (0, 6, -1), (5, 0, 1), (2, 2, 3), (0, 5, 0)],
)
def test_a_step_that_only_run_time_knows(begin, end, step):
    x = torch.randn(5, 6)
    expected = torch.zeros(5)
    for i in range(begin, end, step) if step else ():
        expected = expected * 0.5 + x[:, i]
    assert difference(lower_kernel(strided, (x, begin, end, step), dumps=False).run(), expected) < 1e-6


@helion.kernel(static_shapes=False, config=helion.Config(block_sizes=[4]))
def tiled(x: torch.Tensor, size: int) -> torch.Tensor:
    out = torch.empty([x.size(0)])
    for rows in hl.tile(x.size(0)):
        made = hl.zeros([rows])
        for columns in hl.tile(x.size(1), block_size=size):
            made = made + x[rows, columns].sum(-1)
        out[rows] = made
    return out


@pytest.mark.parametrize("size", [1, 2, 8])
def test_a_tile_size_that_the_host_is_given(size):
    """Helion knows one of 1 when it binds the kernel."""
    x = torch.randn(5, 6)
    assert difference(lower_kernel(tiled, (x, size), dumps=False).run(), x.sum(1)) < 1e-5
