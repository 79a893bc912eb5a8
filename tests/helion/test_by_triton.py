"""Kernels that Helion's eager mode cannot run, compared with their own Triton programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import by_triton
from irwidget.helion.aten import emit_aten
from irwidget.helion.bindings import arith
from irwidget.helion.handlers import _handlers
from irwidget.lowering import lower


@helion.kernel(config=helion.Config(block_sizes=[4, 8]))
def by_length(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Of each row the exponentials of the first elements, added up."""
    out = torch.zeros([x.size(0)])
    for rows in hl.tile(x.size(0)):
        acc = hl.zeros([rows], dtype=torch.float32)
        ends = lengths[rows]
        for columns in hl.jagged_tile(ends):
            acc = acc + torch.exp(x[rows, columns]).sum(1)
        out[rows] = acc
    return out


X, LENGTHS = torch.randn(6, 19, generator=torch.Generator().manual_seed(0)), torch.tensor([3, 0, 19, 8, 1, 11])


def more(share: float) -> Callable[[Any, Any], Any]:
    """The rule for `exp` with a share of the result more."""

    def emit(emitter: Any, node: Any) -> Any:
        value, builder = emit_aten(emitter, node), emitter.builder
        factor, shape = builder.constant(1 + share, value.type.element_type), list(value.type.shape)
        dims = list(range(len(shape)))
        return builder.generic([(value, dims)], shape, factor.type, lambda args, _: arith.mulf(args[0], factor))

    return emit


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, f"equal to {by_triton.REFERENCE} after name-values"),
        (0.05, f"DIFFERS from {by_triton.REFERENCE} after name-values: result 0["),
        (1e-4, "not checked: Helion's eager mode cannot run it: "),
    ],
)
def test_what_eager_mode_cannot_run_is_compared_with_its_triton(
    monkeypatch: pytest.MonkeyPatch, share: float, said: str
):
    if share:
        monkeypatch.setitem(_handlers, "aten.exp.default", more(share))
    found = lower(by_length, X, LENGTHS, to="helion_mlir", check=True, dumps=False).check
    assert str(found).startswith(said)
    if found.state == "not checked":
        assert "; from its Triton program it is as far as rounding may lead: result 0[" in found.reason


def test_without_values_neither_is_run():
    meta = X.to("meta"), LENGTHS.to("meta")
    found = lower(by_length, *meta, to="helion_mlir", check=True, dumps=False).check
    assert str(found) == "not checked: the kernel was bound to meta tensors, which hold no data"
