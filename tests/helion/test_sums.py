"""Long sums are added in blocks where the kernel runs."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import lower_kernel, sums
from irwidget.toolchain import mlir


@helion.kernel(config=helion.Config(block_sizes=[4, 8]))
def totals(x: torch.Tensor) -> list[torch.Tensor]:
    rows, weighted = torch.empty([x.size(0)]), torch.empty([x.size(0)])
    columns = torch.empty([x.size(1)])
    for tile in hl.tile(x.size(0)):
        rows[tile] = x[tile, :].sum(-1)
        weighted[tile] = torch.where(x[tile, :] > 0, hl.arange(512)[None, :], 0).to(torch.float32).sum(-1)
    for tile in hl.tile(x.size(1)):
        columns[tile] = x[:, tile].sum(0)
    return [rows, weighted, columns]


def test_what_is_small_beside_the_first_element_is_not_lost():
    """Added one after another, each 1 beside 2 ** 24 is rounded away."""
    x = torch.ones(100, 512)
    x[0], x[:, 0] = 2.0**24, 2.0**24
    exact = x.double()
    rows, weighted, columns = lower_kernel(totals, (x,), dumps=False).run(opt_level=0, check_bounds=True)
    assert (rows - exact.sum(1)).abs().max() <= 32
    assert (columns - exact.sum(0)).abs()[1:].max() <= 16
    assert torch.equal(weighted, torch.full([100], 512 * 511 / 2))


@helion.kernel(config=helion.Config(block_sizes=[2]))
def combined(x: torch.Tensor) -> list[torch.Tensor]:
    running, total = torch.empty_like(x), torch.empty_like(x[:, 0])
    for rows in hl.tile(x.size(0)):
        running[rows, :] = torch.cumsum(x[rows, :], dim=1)
        total[rows] = hl.reduce(torch.add, x[rows, :], dim=1)
    return [running, total]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_a_loop_combines_is_not_rounded_to_16_bits_each_time(dtype: torch.dtype):
    """One after another in bfloat16, ones add up to 256 and stay there."""
    x = torch.rand(3, 1024).to(dtype)
    running, total = lower_kernel(combined, (x,), dumps=False).run(opt_level=0)
    exact = x.double().cumsum(1)
    assert running.dtype == total.dtype == dtype
    torch.testing.assert_close(running.double(), exact, rtol=torch.finfo(dtype).eps, atol=0)
    assert torch.equal(running[:, -1], total)


@helion.kernel(config=helion.Config(block_sizes=[4]))
def kept(x: torch.Tensor) -> list[torch.Tensor]:
    each, every = torch.empty([x.size(0), 1]), torch.empty([1, 1])
    for rows in hl.tile(x.size(0)):
        each[rows, :] = hl.reduce(torch.add, x[rows, :], dim=1, keep_dims=True)
        every[:, :] = hl.reduce(torch.add, x[rows, :], keep_dims=True)
    return [each, every]


def test_dims_are_kept_of_one_and_of_all():
    x = torch.arange(32.0).reshape(4, 8)
    each, every = lower_kernel(kept, (x,), dumps=False).run(opt_level=0, check_bounds=True)
    assert torch.equal(each, x.sum(1, keepdim=True))
    assert torch.equal(every, x.sum().reshape(1, 1))


SUM = """
#in = affine_map<(i, r) -> {walk}>
#out = affine_map<(i, r) -> (i)>
func.func @f(%x: memref<{shape}x{kind}>, %y: memref<4x{kind}>) {{
  linalg.generic {{indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}}
    ins(%x : memref<{shape}x{kind}>) outs(%y : memref<4x{kind}>) {{
  ^bb0(%a: {kind}, %b: {kind}):
    %c = arith.{op} %a, %b : {kind}
    linalg.yield %c : {kind}
  }}
  return
}}"""
REDUCE = """
func.func @f(%x: memref<70x4xf32>, %y: memref<4xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<70x4xf32>) outs(%y : memref<4xf32>) dimensions = [0]
  return
}"""


@pytest.mark.parametrize(("given", "blocks"), [
    ({}, [16]), ({"shape": "4x70"}, [8, 6]), ({"shape": "4x32"}, []), ({"shape": "4x?"}, []),
    ({"kind": "i32", "op": "addi"}, []), ({"op": "mulf"}, []),
    ({"shape": "1x256", "walk": "(0, r)"}, []), ({"shape": "256x4", "walk": "(r, i)"}, [16]),
    ({"text": REDUCE}, [8, 6]),
], ids=range(9))  # fmt: skip
def test_only_long_sums_of_floats_change(given: dict[str, str], blocks: list[int]):
    text = SUM.format(**{"shape": "4x256", "walk": "(i, r)", "kind": "f32", "op": "addf", **given})
    module = mlir.parse(given.get("text", text), mlir.new_context())
    sums.in_blocks(module)
    assert module.operation.verify()
    views = [line.rpartition("memref<")[2] for line in str(module).splitlines() if "memref.subview" in line]
    sizes = [next(int(size) for size in view.split("x") if size.isdigit() and size != "4") for view in views]
    assert sizes == blocks
