"""Every family binds, emits, lowers to all output types, verifies strictly, and equals eager PyTorch."""

from __future__ import annotations

import pytest
import torch

from irwidget.helion import lower_kernel
from tests.helion.cases import CASES, Case, difference
from tests.helion.kernels_pointwise import low_memory_dropout

QUICK = {
    "add_dynamic", "softmax_two_pass", "layer_norm_backward", "attention", "int8_matmul", "jagged_tile_sum",
    "segment_sum", "moe_matmul", "branches", "two_phases", "atomics", "swiglu", "host_sized", "from_fp8",
}


def check(case: Case, aten: str):
    lowering = lower_kernel(case.kernel, case.inputs(), aten=aten, config=case.config, dumps=False)
    assert lowering.verify() is None
    expected = case.expected(*case.inputs())
    assert difference(lowering.run(*case.inputs()), expected) <= case.tolerance


@pytest.mark.parametrize("case", [c for c in CASES if str(c) in QUICK], ids=str)
def test_linalg_equals_eager(case: Case):
    check(case, "linalg-on-tensors")


@pytest.mark.parametrize("aten", ["raw", "tosa", "stablehlo"])
@pytest.mark.parametrize("case", [c for c in CASES if str(c) in ("softmax", "matmul")], ids=str)
def test_other_output_types_equal_eager(case: Case, aten: str):
    check(case, aten)


@pytest.mark.heavy
@pytest.mark.parametrize("aten", ["raw", "linalg-on-tensors", "tosa", "stablehlo"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_families_and_output_types(case: Case, aten: str):
    check(case, aten)


def test_dropout_follows_the_seed():
    """Helion's random numbers are integer arithmetic on the seed and the position, so that they lower too."""
    x = torch.arange(1.0, 1001.0)
    lowering = lower_kernel(low_memory_dropout, (0.3, x, 7))
    first, again, other = lowering.run(0.3, x, 7), lowering.run(0.3, x, 7), lowering.run(0.3, x, 8)
    kept = first != 0
    assert 0.6 < kept.float().mean() < 0.8
    assert torch.allclose(first[kept], x[kept] / 0.7)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
