"""Reduction loops: the Device IR of a configuration that takes a whole dim in several turns, as Helion rolls it.

Each graph of such a loop ends in reductions of what one turn reads. The loop carries what they have come to so far; a
sum of narrow floats is carried in float32, as Triton's is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import private
from irwidget.helion.aten import aten, aten_call, cast, restored_arguments
from irwidget.helion.bindings import ir
from irwidget.helion.handlers import Handler

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

_TARGETS = {
    "sum": (aten.sum.dim_IntList, aten.add.Tensor),
    "max": (aten.amax.default, aten.maximum.default),
    "min": (aten.amin.default, aten.minimum.default),
}
"""Of each kind of reduction, the op on what a turn reads, and the one that joins two turns."""


@dataclass(frozen=True)
class Partial:
    """A reduction of one turn, and what the turns before have come to."""

    kind: str
    node: Any
    source: Any
    """The node whose value is reduced."""
    dim: int
    dtype: torch.dtype
    """What it is carried in."""

    def start(self, emitter: Emitter) -> ir.Value:
        """What no turn at all comes to."""
        builder, shape = emitter.builder, emitter.shape_of(self.node)
        number = 0 if self.kind == "sum" else _extreme(self.dtype, lowest=self.kind == "max")
        scalar = builder.constant(number, builder.element(self.dtype))
        return builder.fill(scalar, shape) if shape else builder.from_scalar(scalar)

    def join(self, so_far: ir.Value) -> Handler:
        """What emits the node in a turn: what it has come to after that."""
        return lambda emitter, _: self._joined(emitter, so_far)

    def _joined(self, emitter: Emitter, so_far: ir.Value) -> ir.Value:
        over, join = _TARGETS[self.kind]
        source = self.source.meta["val"].dtype
        value = cast(emitter, emitter.tensor(self.source), source, self.dtype)
        own = aten_call(emitter, over, (value, self.dtype), [self.dim], False)
        shape = list(so_far.type.shape)
        reduced = cast(emitter, own[0], own[1], self.dtype)
        return aten_call(emitter, join, (so_far, self.dtype), (emitter.builder.reshape(reduced, shape), self.dtype))[0]

    def finished(self, emitter: Emitter, value: ir.Value) -> ir.Value:
        """What all turns have come to, in the dtype of the node."""
        return cast(emitter, value, self.dtype, self.node.meta["val"].dtype)


def _extreme(dtype: torch.dtype, *, lowest: bool) -> float:
    if dtype.is_floating_point:
        return float("-inf") if lowest else float("inf")
    limits = torch.iinfo(dtype)
    return limits.min if lowest else limits.max


def partials(emitter: Emitter, info: Any, used: Mapping[int, Any]) -> dict[int, Partial]:
    """The reductions at the outputs of a reduction loop that are used, by their places.

    Raises:
        UnsupportedError: one is of another kind than sums, maxima and minima of one dim.
    """
    (block,) = info.block_ids
    outputs = next(iter(info.graph.find_nodes(op="output"))).args[0]
    return {position: _partial(emitter, outputs[position], block) for position in used}


def _partial(emitter: Emitter, node: Any, block: int) -> Partial:
    kind = private.reduction_kind(node)
    inputs = [one for one in node.args[0] if one is not None] if isinstance(node.args[0], (list, tuple)) else []
    source = inputs[0] if len(inputs) == 1 else restored_arguments(node)[0][0] if not inputs else None
    if kind not in _TARGETS or not isinstance(source, torch.fx.Node):
        raise UnsupportedError(f"a loop does not carry {private.target_name(node.target)} ({kind or 'no reduction'})")
    sizes = source.meta["val"].shape
    places = [place for place, size in enumerate(sizes) if emitter.block_of(size) == block]
    if len(places) != 1 or len(emitter.shape_of(node)) > len(sizes):
        raise UnsupportedError("it reduces another dim than that of the loop")
    dtype = source.meta["val"].dtype
    if kind == "sum":
        dtype = node.meta["val"].dtype
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    if wide not in (torch.float32, torch.float64, torch.int32, torch.int64):
        raise UnsupportedError(f"a loop does not carry {dtype}")
    return Partial(kind, node, source, places[0], wide)
