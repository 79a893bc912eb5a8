"""Random numbers in all output types, 64-bit integers in tosa, prints."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import by_triton, emit_kernel, lower_kernel
from irwidget.lowering import lower


@helion.kernel(config=helion.Config(block_sizes=[64]))
def drawn(x: torch.Tensor, seed: int) -> list[torch.Tensor]:
    out, whole = torch.empty_like(x), torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows] * hl.rand([rows], seed=seed)
        whole[rows] = x[rows] * hl.randint([rows], low=0, high=10, seed=seed)
    return [out, whole]


@helion.kernel(config=helion.Config(block_sizes=[64]))
def noisy(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        tile = x[rows]
        hl.device_print("tile ", tile)
        out[rows] = tile + torch.rand_like(tile)
    return out


@helion.kernel(config=helion.Config(block_sizes=[64]))
def told(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        hl.device_print("tile ", x[rows])
        out[rows] = x[rows] + 1
    return out


@helion.kernel(config=helion.Config(block_sizes=[8, 2]))
def wide(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    added, taken, doubled, left = [torch.empty_like(x) for _ in range(4)]
    places = torch.empty([2, y.size(0)], dtype=torch.int64)
    short = torch.empty(y.size(), dtype=torch.int16)
    for rows in hl.tile(x.size(0)):
        tile = x[rows]
        added[rows] = tile + 0x9E3779B9
        taken[rows] = (tile - 7) ^ 0xBB67AE85
        doubled[rows] = torch.add(tile, tile, alpha=3)
        left[rows] = tile % 1000000007
    for rows in hl.tile(y.size(0)):
        places[0, rows], places[1, rows] = y[rows, :].argmax(1), y[rows, :].argmin(1)
        short[rows, :] = y[rows, :].to(torch.int16) * 3
    return [added, taken, doubled, left, places, short]


def stirred(x: torch.Tensor, y: torch.Tensor, seed: int) -> torch.Tensor:
    """What both a kernel and PyTorch compute: every op that a run of nodes may have, on a line."""
    for _ in range(9):
        # fmt: off
        x, y = torch.where((x ^ y) < 3, -(x | 5) * (x & y), ((x << 1) & 0x7FFFFFFF) - (y >> 2)), (y.to(torch.float32) * 0.75 - 1.5 + x.to(torch.float32)).to(torch.int64)  # noqa: E501
        # fmt: on
    return (x | y) + seed


def mixed(x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """A line of as many nodes, one of whose operands has fewer dims."""
    for _ in range(20):
        x = (x ^ z) * 3 + (x >> 1)
    return x


@helion.kernel(config=helion.Config(block_sizes=[4, 4]))
def stirring(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, seed: int) -> list[torch.Tensor]:
    out, other = torch.empty_like(x), torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = stirred(x[rows, columns], y[rows, columns], seed)
        other[rows, columns] = mixed(x[rows, columns], z[rows])
    return [out, other]


def test_the_same_numbers_in_every_output_type():
    """Helion's many nodes are one op in linalg and tosa, each a line of its own, and one by one in the others."""
    kernel = emit_kernel(drawn, (torch.ones(100), 3))
    lowerings = [kernel.lower(aten, dumps=False) for aten in ("linalg-on-tensors", "tosa", "stablehlo", "raw")]
    first, *others = [lowering.run(opt_level=0) for lowering in lowerings[:3]]
    again, other_seed = (lowerings[0].run(torch.ones(100), seed, opt_level=0) for seed in (3, 4))
    assert [lowering.mlir.count("linalg.generic") for lowering in lowerings] == [8, 4, 4, 205]
    assert lowerings[3].mlir.count("torch.aten.") > 900
    assert sum(bool(link.mlir_lines) for link in lowerings[0].links) > 800
    assert 0.4 < first[0].mean() < 0.6
    assert set(first[1].tolist()) == set(range(10))
    for other in (*others, again):
        assert all(map(torch.equal, first, other))
    assert not any(map(torch.equal, first, other_seed))


def test_seeds_come_from_the_host_and_a_print_is_left_out_with_a_remark(capfd: pytest.CaptureFixture[str]):
    """Eager mode draws from others: what is compared with is the Triton program, with the same seeds."""
    lowering = lower(noisy, torch.zeros(100), to="helion_mlir", check=True, dumps=False)
    assert (lowering.check.state, lowering.check.reference) == ("equal", by_triton.REFERENCE)
    assert "tile" not in capfd.readouterr().out
    torch.manual_seed(0)
    first, second = (lowering.run(opt_level=0) for _ in range(2))
    assert 0.4 < first.mean() < 0.6
    assert not torch.equal(first, second)
    assert "device_print is left out" in str(lowering.diagnostics[0])


def test_nothing_is_printed_where_eager_mode_is_the_reference(capfd: pytest.CaptureFixture[str]):
    verdict = lower(told, torch.zeros(100), to="helion_mlir", check=True, dumps=False).check
    assert (verdict.state, verdict.reference) == ("equal", "eager PyTorch")
    assert "tile" not in capfd.readouterr().out


def test_a_run_of_nodes_computes_what_they_compute_one_by_one():
    x, y = torch.randint(-(2**40), 2**40, (2, 9, 11), generator=torch.Generator().manual_seed(0))
    lowering = lower_kernel(stirring, (x, y, x[:, 0], 7), dumps=False)
    shown = [link.mlir_lines for link in lowering.links if link.target == "aten.where.self"]
    assert len(shown) == 9  # each an op, and not a linalg.generic, which takes four lines
    assert all(len(lines) == 1 for lines in shown)
    for found, wanted in zip(lowering.run(opt_level=0), (stirred(x, y, 7), mixed(x, x[:, :1])), strict=True):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("aten", ["tosa", "stablehlo"])
def test_integers_are_computed_in_their_bits(aten: str):
    x = torch.tensor([1, -1, 2**31, 2**33 + 5, -(2**35), 123456789012, 7, 0])
    y = torch.tensor([[2**24, 2**24 + 1, 3], [-(2**24), 5, -(2**24) - 1]], dtype=torch.int32)
    places = torch.stack([y.argmax(1), y.argmin(1)])
    found = lower_kernel(wide, (x, y), aten).run(opt_level=0)
    wanted = [x + 0x9E3779B9, (x - 7) ^ 0xBB67AE85, 4 * x, x % 1000000007, places, y.short() * 3]
    for one, want in zip(found, wanted, strict=True):
        assert torch.equal(one, want)
