"""A graph run node by node while it is decomposed; strides stay the function's where they are seen."""

from __future__ import annotations

from operator import getitem
from typing import Any

import torch
import torch.fx.traceback as fx_traceback

from irwidget.errors import UnsupportedError
from irwidget.private_torch import storage_id
from irwidget.spyre.emitting import packet
from irwidget.spyre.notes import custom

_VIEWS = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default, torch.ops.aten.view.dtype)


class Stepper(torch.fx.Interpreter):
    """Remembers which node it is at, for the place of an error, and what the function knows of its strides."""

    line: tuple[str, int] = ("", 0)
    written: Any = None
    """The first operand of the node as the function as written has it."""
    part_of: str = ""
    """Of a scatter, the operator that gave the part which is copied into."""

    def __init__(self, graph: torch.fx.GraphModule, mutated: int) -> None:
        super().__init__(graph)
        self.extra_traceback = False
        self.mutated = mutated

    def run_node(self, n: torch.fx.Node) -> Any:
        self.line = custom(n).get("line", ("", 0))
        self.written = n.all_input_nodes[0].meta.get("val") if n.all_input_nodes else None
        self.part_of = _part_of(n)
        return super().run_node(n)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A view of what has other strides here than in the function, because it is made otherwise, is of a copy."""
        if target is torch.ops.aten.slice_scatter.default:
            with fx_traceback.annotate({"part_of": self.part_of}):
                return super().call_function(target, args, kwargs)
        if target is torch.ops.aten.as_strided.default:
            return super().call_function(target, (_laid_out(args[0], self.written), *args[1:]), kwargs)
        if target not in _VIEWS:
            return super().call_function(target, args, kwargs)
        try:
            return super().call_function(target, args, kwargs)
        except (RuntimeError, ValueError):
            with fx_traceback.annotate({"origin": "view"}):
                copied = args[0].clone(memory_format=torch.contiguous_format)
            return super().call_function(target, (copied, *args[1:]), kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        graph: Any = self.module.graph
        nodes: Any = graph.output_node().args[0]
        values = list(args[0])
        for i in range(len(values) - self.mutated):
            values[i] = _as_returned(nodes[i], values[i])
        return super().output(target, (values,), kwargs)


def _part_of(node: torch.fx.Node) -> str:
    """What gave the part that a scatter copies into: a `split`, or a slice; none where nothing is copied."""
    piece: Any = node
    while packet(piece) == "slice_scatter":
        piece = piece.args[1]
    if packet(piece) != "copy":
        return ""
    part: Any = piece.args[0]
    return packet(part.args[0]) if part.target is getitem else "slice"


def _laid_out(value: torch.Tensor, as_written: Any) -> torch.Tensor:
    """`value` with the strides that the function has it in."""
    if not isinstance(as_written, torch.Tensor) or as_written.stride() == value.stride():
        return value
    order = sorted(range(value.dim()), key=lambda d: -as_written.stride(d))
    made = value.permute(order).clone(memory_format=torch.contiguous_format)
    made = made.permute(sorted(range(value.dim()), key=order.__getitem__))
    if made.stride() != as_written.stride() or as_written.storage_offset():
        raise UnsupportedError(
            "Spyre backend does not support: as_strided of a part of a tensor whose strides are"
            f" {list(value.stride())} here and {list(as_written.stride())} in PyTorch. Use slices and reshape."
        )
    return made


def _as_returned(node: Any, value: Any) -> Any:
    """Inductor's rule: a view that is returned, but does not have the function's strides, is copied."""
    source = node.all_input_nodes[0] if isinstance(node, torch.fx.Node) and node.all_input_nodes else None
    if source is None or not isinstance(value, torch.Tensor) or source.op == "placeholder":
        return value
    if "scaled_dot_product" in packet(source):  # upstream's own operator, with the strides that it has here
        return value
    given, made = source.meta.get("val"), node.meta.get("val")
    if not isinstance(given, torch.Tensor) or not isinstance(made, torch.Tensor):
        return value
    is_view = storage_id(given) == storage_id(made)
    moved = any(n > 1 and a != b for n, a, b in zip(value.shape, value.stride(), made.stride(), strict=True))
    if not is_view or not moved:
        return value
    with fx_traceback.annotate({"origin": packet(node), "kept": True}):
        return value.clone()
