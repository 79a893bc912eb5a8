"""Every family binds, emits, lowers to all output types, verifies strictly, and equals eager PyTorch."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from irwidget.helion import emit_kernel
from irwidget.helion.lowering import EmittedKernel
from tests.helion.cases import CASES, Case, difference
from tests.sampling import one_of

ATEN = ("linalg-on-tensors", "raw", "tosa", "stablehlo")
QUICK = {
    "add_dynamic",
    "softmax_two_pass",
    "layer_norm_backward",
    "attention",
    "int8_matmul",
    "jagged_tile_sum",
    "segment_sum",
    "moe_matmul",
    "branches",
    "two_phases",
    "atomics",
    "swiglu",
    "host_sized",
    "from_fp8",
}
"""Cases that are not left to CI; `softmax` and `matmul` are so in every output type."""


def marks(case: Case, aten: str) -> Any:
    """Every run has each case in one output type: what is emitted is the same for all, and most of the time."""
    if (str(case) in QUICK and aten == ATEN[0]) or str(case) in ("softmax", "matmul"):
        return ()
    if aten == one_of(ATEN[1:] if str(case) in QUICK else ATEN, str(case)):
        return pytest.mark.heavy
    return pytest.mark.exhaustive


def parameters() -> list[Any]:
    """Each case in each output type, one case after the other, so that these share what they have in common."""
    return [pytest.param(case, aten, id=f"{case}-{aten}", marks=marks(case, aten)) for case in CASES for aten in ATEN]


@functools.lru_cache(maxsize=1)
def emitted(case: Case) -> tuple[EmittedKernel, Any]:
    """A case's kernel, bound and emitted, and what eager PyTorch makes of its inputs."""
    return emit_kernel(case.kernel, case.inputs(), case.config), case.expected(*case.inputs())


@pytest.mark.parametrize(("case", "aten"), parameters())
def test_all_families_and_output_types_equal_eager(case: Case, aten: str):
    kernel, expected = emitted(case)
    lowering = kernel.lower(aten, dumps=False)
    assert lowering.verify() is None
    # LLVM's optimiser is not what is tested here, and takes most of the time.
    opt_level = 2 if str(case) in QUICK and aten == ATEN[0] else 0
    assert difference(lowering.run(*case.inputs(), opt_level=opt_level), expected) <= case.tolerance
