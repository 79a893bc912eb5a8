"""Shifts of integers. By as many bits as there are, or fewer than none, nothing is left, as in PyTorch and on a GPU.

In MLIR such a shift is poison. Those by a number that fits are torch-mlir's, all others one `linalg.generic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from irwidget.helion.aten import aten, binary, restored_arguments
from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder
from irwidget.helion.divisions import Compute, as_generic
from irwidget.helion.handlers import register_handler

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter


def _fits(builder: Builder, amount: ir.Value) -> ir.Value:
    none, all_bits = builder.constant(0, amount.type), builder.constant(amount.type.width, amount.type)
    return arith.andi(builder.compare("ge", amount, none), builder.compare("lt", amount, all_bits))


def _left(builder: Builder, value: ir.Value, amount: ir.Value) -> ir.Value:
    return arith.select(_fits(builder, amount), arith.shli(value, amount), builder.constant(0, value.type))


def _right(builder: Builder, value: ir.Value, amount: ir.Value) -> ir.Value:
    """The sign is left."""
    largest = builder.constant(value.type.width - 1, value.type)
    return arith.shrsi(value, arith.select(_fits(builder, amount), amount, largest))


def _shift(target: Any, compute: Compute) -> Callable[[Emitter, Any], Any]:
    by_torch_mlir, generic = binary(target, alike=True), as_generic(lambda _: compute)

    def emit(emitter: Emitter, node: Any) -> Any:
        amount = restored_arguments(node)[0][1]
        known = isinstance(amount, int) and 0 <= amount < 8 * node.meta["val"].dtype.itemsize
        return (by_torch_mlir if known else generic)(emitter, node)

    return emit


for _name, _target, _compute in (
    ("l", aten.bitwise_left_shift.Tensor, _left),
    ("r", aten.bitwise_right_shift.Tensor, _right),
):
    for _overload in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"):
        register_handler(f"{_target.overloadpacket}.{_overload}", _shift(_target, _compute))
    for _overload in ("Scalar", "Tensor"):
        register_handler(f"aten.__{_name}shift__.{_overload}", _shift(_target, _compute))
