"""Nodes that torch-mlir does not lower to the chosen output type, and sizes that only the host knows."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UnsupportedError, UsageError
from irwidget.helion import lower_kernel
from tests.helion.cases import difference

X = torch.rand(50) * 0.9


@helion.kernel()
def arc_cosine(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = torch.acos(x[tile]) + torch.exp(x[tile])
    return out


@helion.kernel()
def inverse_error(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = torch.erfinv(x[tile])
    return out


@helion.kernel()
def products(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile, :].prod(dim=1)
    return out


@helion.kernel()
def split_on_the_host(x: torch.Tensor, y: torch.Tensor, split: int) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.zeros([m, n], dtype=torch.float32, device=x.device)
    depth = helion.next_power_of_2(helion.cdiv(k, split))
    for rows, columns, outer in hl.tile([m, n, k], block_size=[None, None, depth]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(outer.begin, outer.end):
            acc = torch.addmm(acc, x[rows, inner], y[inner, columns])
        hl.atomic_add(out, [rows, columns], acc)
    return out


@helion.kernel()
def too_large(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] + torch.full_like(x[tile], 1e6, dtype=torch.float8_e4m3fn).to(x.dtype)
    return out


@helion.kernel()
def logarithms(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = torch.log2(x[tile])
    return out


def numbers_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = (0.2 - x) * 0.1 + torch.where(x > 0.3, y / 0.7, 0.9)
    return torch.add(torch.sub(z - 0.1, y, alpha=0.3), x, alpha=0.7) + 0.6 % (y + 1.5) + torch.clamp(x, 0.1, 0.9)


@helion.kernel()
def numbers(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = numbers_of(x[tile], y[tile])
    return out


def test_what_tosa_lacks_becomes_linalg_and_is_named():
    low = lower_kernel(arc_cosine, (X,), aten="tosa")
    assert low.verify() is None
    assert "tosa.exp" in low.mlir
    assert "math.acos" in low.mlir
    assert [str(d).partition("test_unsupported.py:")[2] for d in low.diagnostics] == [
        "21: remark: aten.acos.default has no tosa form in torch-mlir: it became linalg"
    ]
    assert difference(low.run(X), X.acos() + X.exp()) < 1e-6


@pytest.mark.parametrize(("kernel", "x", "aten", "message"), [
    (inverse_error, X, "tosa",
     r"test_unsupported\.py:29: aten\.erfinv\.default \(node \S+\.erfinv\) cannot be lowered to tosa: .* to: raw\."),
    (products, torch.ones(20, 30, dtype=torch.int32), "tosa",
     r"test_unsupported\.py:37: aten\.prod\.dim_int .* to tosa: .* to: raw, linalg-on-tensors, stablehlo\."),
])  # fmt: skip
def test_a_refused_node_is_named_with_the_types_that_take_it(kernel, x, aten: str, message: str):
    with pytest.raises(UnsupportedError, match=message):
        lower_kernel(kernel, (x,), aten=aten)


def test_a_number_that_a_float_of_eight_bits_has_no_place_for():
    with pytest.raises(UnsupportedError, match=r"the number 1000000\.0 does not fit a f8E4M3FN"):
        lower_kernel(too_large, (X,))


def test_constants_of_float64_in_tosa_are_of_float32_and_told():
    x = X.abs().double() + 1
    low = lower_kernel(logarithms, (x,), aten="tosa")
    assert [d.message for d in low.diagnostics] == [
        "aten.log2.default of float64 may have the digits of float32: torch-mlir's tosa form rounds constants to it"
    ]
    assert difference(lower_kernel(logarithms, (x,)).run(x), torch.log2(x)) < 1e-14


@pytest.mark.parametrize("aten", ["linalg-on-tensors", "tosa"])
def test_numbers_beside_float64_have_all_their_digits(aten: str):
    x = X.double()
    low = lower_kernel(numbers, (x, x.sin()), aten=aten)
    assert not low.diagnostics
    assert difference(low.run(x, x.sin(), opt_level=0), numbers_of(x, x.sin())) < 1e-14


@pytest.mark.parametrize("split", [1, 3])
def test_a_tile_size_that_the_host_computes(split: int):
    x, y = torch.randn(20, 100), torch.randn(100, 12)
    assert difference(lower_kernel(split_on_the_host, (x, y, split)).run(opt_level=0), x @ y) < 1e-4


@helion.kernel(static_shapes=False, config=helion.Config(block_sizes=[]))
def strided_at_the_top(x: torch.Tensor, step: int) -> torch.Tensor:
    out = torch.zeros_like(x)
    for i in hl.grid(0, 6, step):
        out[:, i] = x[:, i]
    return out


@helion.kernel(static_shapes=False, config=helion.Config(block_sizes=[4]))
def strided_by_a_known_step(x: torch.Tensor, step: int) -> torch.Tensor:
    step = hl.specialize(step)
    out = torch.empty([x.size(0)])
    for rows in hl.tile(x.size(0)):
        made = hl.zeros([rows])
        for i in range(5, -1, step):
            made = made * 2 + x[rows, i]
        out[rows] = made
    return out


@pytest.mark.parametrize("step", [2, -2])
def test_a_step_at_the_top_that_only_run_time_knows_is_refused(step: int):
    with pytest.raises(UnsupportedError, match=r"or step, of .*known .*; hl\.specialize makes"):
        lower_kernel(strided_at_the_top, (torch.randn(5, 6), step), dumps=False)


def test_a_step_that_a_kernel_specialises_on_is_known():
    x = torch.randn(5, 6)
    wanted = torch.zeros(5)
    for column in range(5, -1, -2):
        wanted = wanted * 2 + x[:, column]
    lowered = lower_kernel(strided_by_a_known_step, (x, -2), dumps=False)
    assert torch.equal(lowered.run(opt_level=0), wanted)
    with pytest.raises(UsageError, match="lower it for these arguments"):
        lowered.run(x, -3)


@helion.kernel(static_shapes=False, config=helion.Config(block_sizes=[]))
def tiles_of_the_hosts(x: torch.Tensor, begin: int, end: int, size: int) -> torch.Tensor:
    out = torch.zeros_like(x)
    for columns in hl.tile(begin, end, block_size=size):
        out[:, columns] = x[:, columns].sum(1, keepdim=True) + columns.begin
    return out


def test_tiles_whose_size_the_host_computes_run_for_that_size_only():
    """Helion generates code as if `begin` were what it is at first, which the module must not be made of."""
    x = torch.arange(30.0).reshape(5, 6)
    lowered = lower_kernel(tiles_of_the_hosts, (x, 0, 6, 2), dumps=False)
    for begin, end in ((0, 6), (1, 6), (2, 2), (4, 1), (3, 4)):
        wanted = torch.zeros_like(x)
        for at in range(begin, end, 2):
            wanted[:, at : min(at + 2, end)] = x[:, at : min(at + 2, end)].sum(1, keepdim=True) + at
        assert torch.equal(lowered.run(x, begin, end, 2, opt_level=0), wanted), (begin, end)
    with pytest.raises(UsageError, match=r"tiles of 2 lanes \(block_size_0\); of these it makes 3: lower it for these"):
        lowered.run(x, 0, 6, 3)


@helion.kernel(config=helion.Config(block_sizes=[]))
def counting_down(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    for row, column in hl.grid([0, 5], [5, -1], [1, -2]):
        out[row, column] = x[row, column] + column
    return out


@pytest.mark.parametrize("program", ["flat", "persistent_blocked", "persistent_interleaved"])
def test_a_grid_counts_down(program: str):
    x = torch.arange(30.0).reshape(5, 6)
    wanted = torch.zeros_like(x)
    wanted[:, 1::2] = x[:, 1::2] + torch.tensor([1.0, 3.0, 5.0])
    config = helion.Config(block_sizes=[], pid_type=program)
    assert torch.equal(lower_kernel(counting_down, (x,), config=config, dumps=False).run(opt_level=0), wanted)
