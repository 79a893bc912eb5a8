"""Every family binds, emits, lowers to all output types, verifies strictly, and equals eager PyTorch."""

from __future__ import annotations

import pytest

from irwidget.errors import UnsupportedError
from irwidget.helion import lower_kernel
from tests.helion.cases import CASES, Case, difference

QUICK = {
    "add", "add_dynamic", "softmax_two_pass", "layer_norm_mean", "matmul", "attention", "matmul_split_k", "int8_matmul",
    "jagged_tile_sum", "segment_sum", "embedding", "concat2", "branches", "two_phases", "scatter_add", "prefix_sum",
    "layer_norm_backward", "swiglu", "kl_div",
}
SUPPORTED = [case for case in CASES if case.supported]


def check(case: Case, aten: str):
    lowering = lower_kernel(case.kernel, case.inputs(), aten=aten, config=case.config, dumps=False)
    assert lowering.verify() is None
    expected = case.expected(*case.inputs())
    assert difference(lowering.run(*case.inputs()), expected) <= case.tolerance


@pytest.mark.parametrize("case", [c for c in SUPPORTED if str(c) in QUICK], ids=str)
def test_linalg_equals_eager(case: Case):
    check(case, "linalg-on-tensors")


@pytest.mark.parametrize("aten", ["raw", "tosa", "stablehlo"])
@pytest.mark.parametrize("case", [c for c in SUPPORTED if str(c) in ("softmax", "matmul")], ids=str)
def test_other_output_types_equal_eager(case: Case, aten: str):
    check(case, aten)


@pytest.mark.heavy
@pytest.mark.parametrize("aten", ["raw", "linalg-on-tensors", "tosa", "stablehlo"])
@pytest.mark.parametrize("case", SUPPORTED, ids=str)
def test_all_families_and_output_types(case: Case, aten: str):
    check(case, aten)


@pytest.mark.parametrize("case", [c for c in CASES if not c.supported], ids=str)
def test_what_cannot_be_lowered_says_so(case: Case):
    with pytest.raises(UnsupportedError, match=r"kernels_\w+\.py:\d+: .*random"):
        lower_kernel(case.kernel, case.inputs())
