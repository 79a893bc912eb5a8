"""The order of a product's loops where the kernel runs."""

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import lower_kernel, products
from irwidget.toolchain import mlir
from tests.helion import kernels_matmul as mm
from tests.helion.cases import CASES, difference

MATMUL = """
func.func @f(%a: memref<4x{k}xf32>, %b: memref<{k}x6xf32>, %c: memref<4x6xf32>) {{
  linalg.matmul {maps} ins(%a, %b : memref<4x{k}xf32>, memref<{k}x6xf32>) outs(%c : memref<4x6xf32>)
  return
}}"""
TRANSPOSED = """
func.func @f(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  linalg.matmul indexing_maps = [
    affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>
  ] ins(%a, %b : memref<32x32xf32>, memref<32x32xf32>) outs(%c : memref<32x32xf32>)
  return
}"""


@pytest.mark.parametrize(("text", "reordered"), [
    (MATMUL.format(k=32, maps=""), True), (MATMUL.format(k=16, maps=""), False), (TRANSPOSED, False),
], ids=["long", "short", "transposed"])  # fmt: skip
def test_only_long_plain_products_change(text, reordered):
    module = mlir.parse(text, mlir.new_context())
    products.reorder(module.operation)
    assert module.operation.verify()
    assert ('"parallel", "reduction", "parallel"' in str(module)) == reordered


@pytest.mark.parametrize(("kernel", "shapes"), [
    (mm.matmul, ((70, 90), (90, 50))), (mm.batch_matmul, ((3, 70, 90), (3, 90, 50))),
], ids=["matmul", "batch_matmul"])  # fmt: skip
def test_products_sum_in_the_same_order(kernel, shapes):
    x, y = (torch.randn(*shape) for shape in shapes)
    blocks = [16] * len(shapes[0]) if len(shapes[0]) == 2 else [1, 16, 16]
    short, long = (lower_kernel(kernel, (x, y), config={"block_sizes": [*blocks, k]}).run() for k in (16, 128))
    torch.testing.assert_close(long, x @ y, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(short, long, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["matmul", "batched"])
def test_a_product_accumulates_into_what_it_is_added_to(name: str):
    case = next(c for c in CASES if name in (str(c), c.family))
    lowering = lower_kernel(case.kernel, case.inputs(), config=case.config)
    text, before = lowering.mlir, lowering.trace.dumps[-3].text
    assert lowering.trace.dumps[-2].name == "accumulate"
    assert "arith.addf" in before
    assert "arith.addf" not in text
    assert all("outs(%blk_arg" in line for line in text.splitlines() if "matmul ins" in line)
    assert lowering.verify() is None
    assert (
        difference(lowering.run(*case.inputs(), opt_level=0, check_bounds=True), case.expected(*case.inputs())) < 1e-4
    )


@helion.kernel(config=helion.Config(block_sizes=[16, 16, 16]))
def used_twice(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0), y.size(1)])
    for rows, columns in hl.tile(out.size()):
        total = hl.zeros([rows, columns])
        for inner in hl.tile(x.size(1)):
            product = torch.mm(x[rows, inner], y[inner, columns])
            total = (total + product) - product * product
        out[rows, columns] = total
    return out


def test_a_product_that_is_used_elsewhere_stays_one():
    x, y = torch.randn(16, 32), torch.randn(32, 16)
    products = [x[:, k : k + 16] @ y[k : k + 16] for k in (0, 16)]
    lowering = lower_kernel(used_twice, (x, y), dumps=False)
    assert difference(lowering.run(opt_level=0), sum(p - p * p for p in products)) < 1e-3
