"""Ops whose result is put together from pieces, each copied into its part of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from torch.fx import GraphModule, Node

from irwidget.errors import UnsupportedError
from irwidget.spyre.coordinates import Index, index_of, ranges_of
from irwidget.spyre.emitting import LoopBuilder, TensorValue, cropped, node_of, packet
from irwidget.spyre.formats import device_format, dtype_name
from irwidget.spyre.inplace import WrittenPart
from irwidget.spyre.ir import Op, Read
from irwidget.spyre.layout import row_major
from irwidget.spyre.notes import custom
from irwidget.spyre.tensorspec import Input


class PieceBuilder(LoopBuilder):
    """One handler per kind of such an op."""

    def __init__(self, module: GraphModule, inputs: Sequence[Input]) -> None:
        super().__init__(module, inputs)
        self.parts: dict[Node, WrittenPart] = {}
        """Scatters that write into an input."""

    def _copy(
        self,
        read: Read,
        size: tuple[int, ...],
        target: str,
        aten: str,
        rule: str,
        origins: tuple[str, ...],
        offset: int = 0,
        stride: tuple[int, ...] | None = None,
    ) -> None:
        """A kernel that copies into a part of a buffer: offset in elements, and the buffer's strides, if no others."""
        write = index_of(size, self.buffers[target].stride if stride is None else stride, offset)
        name = f"op{len(self.ops)}"
        self.append(
            Op(name, self.next(), "pointwise", "copy", ranges_of(size), reads=(read,), write=write,
               target=target, aten=aten, rule=rule, origins=origins)
        )  # fmt: skip

    def _lower_empty(self, node: Node) -> None:
        self._empty(node)

    def _empty(self, node: Node) -> str:
        """An uninitialised buffer that pieces are copied into."""
        return self.emit(node, "empty", "empty", (), [], rule="clone")

    def _copy_into(self, node: Node, target: str, read: Read, size: tuple[int, ...], offset: int) -> None:
        origins = self.ops[-1].origins or (self.origin(node),)
        self._copy(read, size, target, packet(node), "copy_into", origins, offset)

    def _lower_cat(self, node: Node) -> None:
        parts: Any = [p for p in node.args[0] if p.meta["val"].numel()]  # pyright: ignore
        value = node.meta["val"]
        dim = (int(node.args[1]) if len(node.args) > 1 else 0) % max(value.dim(), 1)  # pyright: ignore
        dtype = dtype_name(value.dtype)
        operands = [self.operand(p) for p in parts]
        operands = [o if o.view.dtype == dtype else self.cast_operand(o, dtype) for o in operands]
        target = self._empty(node)
        start = 0
        for operand in operands:
            size = operand.view.size
            self._copy_into(node, target, self.read(operand, size), size, start * int(value.stride(dim)))
            start += size[dim]

    def _lower_constant_pad_nd(self, node: Node) -> None:
        x = self.operand(node_of(node.args[0]))
        pads: Any = node.args[1]
        value = node.meta["val"]
        size, stride = tuple(value.shape), tuple(int(s) for s in value.stride())
        x, pads = cropped(x, pads)
        if not any(pads):
            self.emit(node, "pointwise", "copy", ranges_of(size), [self.read(x, size)], rule="same")
            return
        target = self._empty(node)
        fill: Any = node.args[2] if len(node.args) > 2 else 0.0
        constant = self.constant(None, float(fill), dtype_name(value.dtype))
        eps = device_format(dtype_name(value.dtype)).elements_per_stick
        rank, offset = len(size), 0
        for i in reversed(range(len(pads) // 2)):
            dim, before, after = rank - 1 - i, pads[2 * i], pads[2 * i + 1]
            offset += before * stride[dim]
            for start, width in ((0, before), (size[dim] - after, after)):
                if not width:
                    continue
                if dim == rank - 1 and start % eps:
                    width, start = width + start % eps, start - start % eps
                region = (*size[:dim], width, *size[dim + 1 :])
                self._copy_into(
                    node, target, Read(constant, Index(), dtype=dtype_name(value.dtype)), region, start * stride[dim]
                )
        self._copy_into(node, target, self.read(x, x.view.size), x.view.size, offset)

    def _lower_slice_scatter(self, node: Node) -> None:
        base, piece = (self.operand(node_of(a)) for a in node.args[:2])
        part = self.parts.get(node)
        if part is not None and base.view.buffer in self.inputs:
            offset = base.view.offset + part.offset
            name = custom(node).get("part_of", "")
            self._scatter(self.operand(part.piece), base.view.buffer, "copy_back", offset, part.stride, name)
            self.bind(node, base.view.buffer)
            return
        dim, start, _, step = cast("Any", (*node.args[2:], *(0, None, None, 1)[len(node.args) - 2 :]))
        value = node.meta["val"]
        dim = int(dim) % value.dim()
        start = min(max((start or 0) + (value.shape[dim] if (start or 0) < 0 else 0), 0), value.shape[dim])
        target = self._empty(node)
        size = tuple(value.shape)
        self._copy_into(node, target, self.read(base, size), size, 0)
        stride = tuple(int(s) * (step if i == dim else 1) for i, s in enumerate(value.stride()))
        self._scatter(piece, target, "copy_into", start * int(value.stride(dim)), stride, "slice_scatter")

    def _lower_select_scatter(self, node: Node) -> None:
        what = f"writing index {node.args[3]} of dim {node.args[2]}: write a slice of one element, x[0:1] for x[0]"
        raise UnsupportedError(f"Spyre backend does not support: {what}.{self.place()}")

    def _scatter(
        self, piece: TensorValue, target: str, rule: str, offset: int, stride: tuple[int, ...], origin: str
    ) -> None:
        size, name = piece.view.size, "slice_scatter"
        together = rule == "copy_back" and stride == row_major(size)  # such rows Inductor does not copy
        origins = (origin,) if origin and not together else ()
        self._copy(self.read(piece, size), size, target, name, rule, origins, offset, stride)
