"""How Helion broadcasts a tile of a lower rank: each of its dims goes to the dim of the result that has the same block.

`x[rows, columns] * scale[rows]` scales rows, where PyTorch would take the last dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget.helion import private
from irwidget.helion.bindings import ir
from irwidget.helion.bound import Binding
from irwidget.helion.symbols import static_value

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

_AS_TRITON = ("aten.where.self",)
"""Element-wise ops whose operands Helion hands to Triton as they are, which takes the last dims."""


def by_block(target: Any) -> bool:
    """Whether the operands of an ATen op are broadcast by their blocks: those of element-wise ones, by Helion."""
    return torch.Tag.pointwise in getattr(target, "tags", ()) and private.target_name(target) not in _AS_TRITON


def unlike_blocks(emitter: Emitter, node: Any) -> bool:
    """Whether an operand of fewer dims that Triton broadcasts would, by its blocks, go to other dims than the last."""
    if private.target_name(node.target) not in _AS_TRITON:
        return False
    fakes = [operand.meta.get("val") for operand in node.args if isinstance(operand, torch.fx.Node)]
    shapes = [fake.shape for fake in fakes if isinstance(fake, torch.Tensor)]
    widest = max(shapes, key=len)
    short = [shape for shape in shapes if 0 < len(shape) < len(widest)]
    return any(not _last(emitter.binding, shape, widest) for shape in short)


def unlike_pytorch(binding: Binding, node: Any) -> bool:
    """Whether an operand of fewer dims goes by its blocks to other dims than the last, which PyTorch takes.

    Call inside `binding.entered()`.
    """
    made = node.meta.get("val")
    if not isinstance(made, torch.Tensor) or not (by_block(node.target) or private.op_name(node) == "expand"):
        return False
    fakes = [one.meta.get("val") for one in node.all_input_nodes]
    shapes = [fake.shape for fake in fakes if isinstance(fake, torch.Tensor)]
    return any(0 < len(shape) < made.ndim and not _last(binding, shape, made.shape) for shape in shapes)


def _last(binding: Binding, own: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether a tile's dims go to the last ones of the result."""
    return sorted(_places(binding, own, wanted)) == list(range(len(wanted) - len(own), len(wanted)))


def aligned(emitter: Emitter, value: ir.Value, own: Sequence[Any], wanted: Sequence[Any]) -> ir.Value:
    """A tile with dims of 1 where the result has dims that the tile has not.

    `own` and `wanted` are Helion's sizes of the tile and of the result.
    """
    if not 0 < len(own) < len(wanted) or len(value.type.shape) != len(own):
        return value
    places = sorted(_places(emitter.binding, own, wanted))
    shape = [1] * len(wanted)
    for place, size in zip(places, value.type.shape, strict=True):
        shape[place] = size
    return emitter.builder.reshape(value, shape)


def _places(binding: Binding, own: Sequence[Any], wanted: Sequence[Any]) -> list[int]:
    """For each dim of the tile, the dim of the result: one of its block, else one of its size, else the last left."""
    blocks = [_block(binding, size) for size in wanted]
    left = list(range(len(wanted)))
    places: list[int] = []
    for size in own:
        block = _block(binding, size)
        if block is not None:
            fits = [d for d in left if blocks[d] == block]
        else:
            number = static_value(binding, size)
            fits = [d for d in left if blocks[d] is None and static_value(binding, wanted[d]) == number]
        places.append(fits[0] if fits else left[-1])
        left.remove(places[-1])
    return places


def _block(binding: Binding, size: Any) -> int | None:
    block = private.block_behind(binding.env, size)
    return None if block is None else private.canonical_block(binding.env, block)
