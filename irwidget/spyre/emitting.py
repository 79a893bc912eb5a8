"""Building the loop IR: values, reads and the ops that make buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from irwidget.errors import UnsupportedError
from irwidget.private_torch import storage_id
from irwidget.spyre.coordinates import Index, index_of, ranges_of
from irwidget.spyre.formats import cast_op, device_format, dtype_name
from irwidget.spyre.ir import Buffer, BufferView, External, HostFunction, Op, Ranges, Read
from irwidget.spyre.layout import row_major
from irwidget.spyre.notes import custom
from irwidget.spyre.opfuncs import COMPARISONS, HOST_REASONS
from irwidget.spyre.tensorspec import Input

Described = tuple[tuple[int, ...], tuple[int, ...], str]
"""Size, strides and dtype."""


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor value while lowering: a view of a buffer and the view ops on the way."""

    view: BufferView
    origins: tuple[str, ...] = ()
    direct: bool = True


class LoopBuilder:
    """The state of lowering one graph, and how ops are appended to it."""

    def __init__(self, module: GraphModule, inputs: Sequence[Input]) -> None:
        self.module = module
        self.inputs = {i.name: i for i in inputs}
        self.ops: list[Op] = []
        self.buffers: dict[str, Buffer] = {}
        self.by_storage: dict[int, str] = {}
        self.shifts: dict[int, int] = {}
        """Storage -> what to add to PyTorch's offsets in it to get those in the buffer."""
        self.aliases: dict[int, Node] = module.meta.get("aliases", {})
        """Storage of a copy that was dropped -> the node that it was a copy of."""
        self.origins: dict[Node, tuple[str, ...]] = {}
        self.direct: dict[Node, bool] = {}
        self.constants: dict[str, torch.Tensor] = {}
        self.node: Any = None

    # -- values ------------------------------------------------------------------------------

    def bind(self, node: Node, buffer: str) -> None:
        self.by_storage[storage(node)] = buffer
        if node.op != "placeholder":
            self.shifts[storage(node)] = -int(node.meta["val"].storage_offset())

    def buffer_of(self, where: int) -> str | None:
        """The buffer that holds a storage: its own, or that of what it would have been a copy of."""
        if where not in self.by_storage and where in self.aliases:
            source = self.aliases[where]
            held = self.buffer_of(storage(source))
            if held is not None:
                self.by_storage[where] = held
                self.shifts[where] = self.shifts.get(storage(source), 0) + int(source.meta["val"].storage_offset())
        return self.by_storage.get(where)

    def constant(self, node: Node | None, value: Any, dtype: str) -> str:
        name = self.next()
        self.buffers[name] = Buffer(name, (), (), dtype, "constant", value=value)
        self.append(Op(f"op{len(self.ops)}", name, "constant", "constant", target=name))
        if node is not None:
            self.bind(node, name)
        return name

    def next(self) -> str:
        return f"buf{len(self.ops)}"

    def source_of_copy(self, value: Node) -> TensorValue:
        """What `copy_` writes: of a copy into the input its source, where that lies in another order a copy of it."""
        while packet(value) == "copied" or custom(value).get("in_place"):
            source = node_of(value.args[0])
            given, made = source.meta["val"], value.meta["val"]
            steps = [s for n, s in zip(given.shape, given.stride(), strict=True) if n > 1 and s]
            if given.dtype != made.dtype:
                break
            if steps != sorted(steps, reverse=True):
                return self.copied(self.operand(source), "copy")
            value = source
        return self.operand(value)

    def operand(self, node: Node) -> TensorValue:
        """The node's value, for an op of the device to read."""
        value = node.meta["val"]
        if not value.numel():
            raise UnsupportedError(f"{node.name}: shape {list(value.shape)} is empty, and is read{self.place()}")
        return self.value_of(node)

    def value_of(self, node: Node) -> TensorValue:
        """The node's value, which may be empty."""
        value = node.meta["val"]
        name = self.buffer_of(storage(node))
        if name is None:
            raise UnsupportedError(f"{node.name}: no buffer holds its value{self.place()}")
        offset = int(value.storage_offset()) + self.shifts.get(storage(node), 0)
        view = BufferView(name, tuple(value.shape), tuple(value.stride()), offset, dtype_name(value.dtype))
        return TensorValue(view, self.origins.get(node, ()), self.direct.get(node, True))

    def place(self) -> str:
        line = custom(self.node).get("line", ("", 0))
        return f"\n  at {line[0]}:{line[1]}" if line[0] else ""

    # -- ops ---------------------------------------------------------------------------------

    def origin(self, node: Node) -> str:
        """The operator that a kernel's name says for the node; a part of several values goes by what made them."""
        if node.target is getitem:
            node = node.all_input_nodes[0]
        note = custom(node)
        return note["origin"] if "origin" in note else packet(node)

    def append(self, op: Op) -> Op:
        if self.node is not None and self.node.op == "call_function":
            note = custom(self.node)
            op = replace(
                op,
                line=note.get("line", ("", 0)),
                hints=note.get("hints", ()),
                node=self.node.name,
                module=note.get("module", ""),
            )
        self.ops.append(op)
        return op

    def emit(self, node: Node, kind: Any, func: str, ranges: Ranges, reads: Sequence[Read], **more: Any) -> str:
        """Append an op that makes the node's value."""
        value = node.meta["val"]
        size, stride = tuple(value.shape), tuple(value.stride())
        name = self.next()
        dtype = more.pop("dtype", dtype_name(value.dtype))
        self.buffers[name] = Buffer(name, size, stride, dtype)
        origins = [self.origin(node)] + [o for a in node.all_input_nodes for o in self.origins.get(a, ())]
        more.setdefault("aten", custom(node).get("aten", packet(node)))
        more.setdefault("origins", tuple(sorted({o for o in origins if o})))
        self.append(
            Op(
                f"op{len(self.ops)}",
                name,
                kind,
                func,
                ranges,
                reads=tuple(reads),
                target=name,
                write=more.pop("write", index_of(size, stride, 0)),
                pointwise=_is_pointwise(node),
                **more,
            )
        )
        self.bind(node, name)
        return name

    def read(self, operand: TensorValue, size: tuple[int, ...], role: str = "") -> Read:
        """How a loop over `size` reads the operand, broadcast to it."""
        view = operand.view
        missing = len(size) - len(view.size)
        stride = (0,) * missing + tuple(
            0 if n == 1 and size[missing + i] != 1 else s
            for i, (n, s) in enumerate(zip(view.size, view.stride, strict=True))
        )
        index = index_of(size, stride, view.offset)
        return Read(view.buffer, index, dtype=view.dtype, role=role, direct=operand.direct)

    def pointwise(self, node: Node, func: str, args: Sequence[Any], **more: Any) -> None:
        value = node.meta["val"]
        size = tuple(value.shape)
        dtype = self.compute_dtype(node, args)
        reads: list[Read] = []
        for i, arg in enumerate(args):
            if isinstance(arg, Node):
                operand = self.operand(arg)
                if operand.view.dtype != dtype and not (func == "where3" and i == 0):
                    operand = self.cast_operand(operand, dtype, self.origin(node), operand.view.size != size)
                reads.append(self.read(operand, size))
            elif isinstance(arg, int | float | bool):
                compared = packet(node) in COMPARISONS and "float" in dtype
                rounded = torch.tensor(float(arg), dtype=getattr(torch, dtype)).item() if compared else arg
                reads.append(Read("", scalar=rounded, dtype=dtype))
        if len(reads) == 1 and func == "mul":
            reads *= 2
        self.emit(node, "pointwise", func, ranges_of(size), reads, **more)

    def compute_dtype(self, node: Node, args: Sequence[Any]) -> str:
        """The dtype of the arithmetic: PyTorch's promotion, half types staying what they are."""
        value = node.meta["val"]
        if packet(node) not in COMPARISONS:
            return dtype_name(value.dtype)
        tensors = [a.meta["val"] for a in args if isinstance(a, Node)]
        dtype = tensors[0].dtype
        for other in tensors[1:]:
            dtype = torch.promote_types(dtype, other.dtype)
        return dtype_name(dtype)

    def cast_operand(
        self, operand: TensorValue, dtype: str, origin: str = "_to_copy", broadcast: bool = False
    ) -> TensorValue:
        """A buffer with the operand in another dtype; the scheduler sees the cast as an op of its own.

        One that is broadcast is laid out as what any elementwise op makes.
        """
        view = operand.view
        buffer = self.buffers[view.buffer]
        if buffer.kind == "constant":
            name = self.constant(None, buffer.value, dtype)
            return TensorValue(BufferView(name, (), (), 0, dtype))
        func = cast_op(view.dtype, dtype)
        name = self.next()
        stride = row_major(view.size)
        if func is None:
            return self.host_cast(operand, dtype)
        self.buffers[name] = Buffer(name, view.size, stride, dtype)
        self.append(
            Op(
                f"op{len(self.ops)}",
                name,
                "pointwise",
                func,
                ranges_of(view.size),
                reads=(self.read(operand, view.size),),
                write=index_of(view.size, stride, 0),
                target=name,
                aten="_to_copy",
                rule="same" if broadcast else cast_rule(view.dtype, dtype),
                origins=(origin,),
            )
        )
        return TensorValue(BufferView(name, view.size, stride, 0, dtype))

    def copied(self, operand: TensorValue, aten: str = "clone") -> TensorValue:
        """A buffer of its own with the operand's elements, in the order of its dims; a `copy` keeps the sticks, too."""
        view, name = operand.view, self.next()
        stride = torch.empty_like(torch.empty_strided(view.size, view.stride, device="meta")).stride()
        self.buffers[name] = Buffer(name, view.size, stride, view.dtype)
        self.append(
            Op(
                f"op{len(self.ops)}",
                name,
                "pointwise",
                "copy",
                ranges_of(view.size),
                reads=(self.read(operand, view.size),),
                write=index_of(view.size, stride),
                target=name,
                aten=aten,
                rule="clone" if aten == "clone" else "",
                origins=(aten, *operand.origins),
            )
        )
        return TensorValue(BufferView(name, view.size, stride, 0, view.dtype))

    def host_cast(self, operand: TensorValue, dtype: str) -> TensorValue:
        """A cast on the host, whose result has the strides that PyTorch keeps of its operand."""
        size = operand.view.size
        stride = torch.empty_like(torch.empty_strided(size, operand.view.stride, device="meta")).stride()
        return self.by_host("to_dtype_cpu", operand, getattr(torch, dtype), (size, stride, dtype))

    def host_copy(self, operand: TensorValue, size: tuple[int, ...]) -> TensorValue:
        """A copy by the host in a tensor of its own, of this size and row-major."""
        return self.by_host("reshape_via_cpu", operand, list(size), (size, row_major(size), operand.view.dtype))

    def by_host(self, name: str, operand: TensorValue, argument: Any, result: Described) -> TensorValue:
        """What an operator of ours for the host makes of an operand and another argument."""
        from irwidget.spyre.customops import ops

        call = External(getattr(ops(), name).default, (operand.view, argument), {}, name)
        size, stride, dtype = result
        (made,) = self.external(call, (operand.view,), [(0, *result)])
        return TensorValue(BufferView(made, size, stride, 0, dtype))

    # -- fallbacks -----------------------------------------------------------------------------

    def fallback(
        self, node: Node, reason: str = "", given: tuple[Sequence[Any], Mapping[str, Any]] | None = None
    ) -> None:
        """The node as an op on the host; `reason` where only we run it there, `given` arguments in place of its own."""
        seen: list[BufferView] = []

        def convert(value: Any) -> Any:
            if isinstance(value, Node):
                if "val" not in value.meta:
                    return HostFunction(str(value.target), getattr(self.module, str(value.target)))
                view = self.value_of(value).view
                seen.append(view)
                return view
            if isinstance(value, list | tuple):
                return type(value)(convert(v) for v in value)  # pyright: ignore[reportCallIssue]
            return value

        positional, named = given or (node.args, node.kwargs)
        args = tuple(convert(a) for a in positional)
        kwargs = {k: convert(v) for k, v in named.items()}
        value = node.meta.get("val")
        call = External(node.target, args, kwargs, packet(node), isinstance(value, list | tuple))
        values: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
        parts = [(i, v) for i, v in enumerate(values) if isinstance(v, torch.Tensor)]
        described = [(i, tuple(v.shape), tuple(v.stride()), dtype_name(v.dtype)) for i, v in parts]
        names = self.external(call, tuple(seen), described, reason)
        for name, (_, part) in zip(names, parts, strict=True):
            self.by_storage[storage_id(part)] = name
        if custom(node).get("inside"):
            read = (origin for a in node.all_input_nodes for origin in self.origins.get(a, ()))
            self.origins[node] = tuple(dict.fromkeys(read))

    def unlowered(self, node: Node) -> None:
        """The node, which has no lowering, on the host: upstream has nothing that runs, or calls the CPU, too."""
        reason = getattr(node.target, "reason", "") or HOST_REASONS.get(packet(node), "")
        if torch.Tag.pointwise in getattr(node.target, "tags", ()) and node.meta["val"].dtype.is_floating_point:
            reason = "no OpFunc; upstream makes its kernel a stub that raises when it is run"
        self.fallback(node, reason)

    def external(
        self,
        call: External,
        views: tuple[BufferView, ...],
        results: Sequence[tuple[int, tuple[int, ...], tuple[int, ...], str]],
        reason: str = "",
    ) -> list[str]:
        """A kernel on the host and the buffers of its results, each given by number, size, strides and dtype."""
        reads = tuple(Read(v.buffer, Index(), dtype=v.dtype) for v in views)
        name, first = call.name, self.next()
        self.append(
            Op(
                f"op{len(self.ops)}",
                first,
                "fallback",
                name,
                reads=reads,
                target=first,
                external=call,
                aten=name,
                host_reason=reason,
            )
        )
        made: list[str] = []
        for part, size, stride, dtype in results:
            made.append(self.next())
            self.buffers[made[-1]] = Buffer(made[-1], size, stride, dtype, "fallback")
            self.append(
                Op(
                    f"op{len(self.ops)}",
                    made[-1],
                    "multi_output",
                    name,
                    target=made[-1],
                    aten=name,
                    rule="clone",
                    part=part,
                )
            )
        return made


def cropped(x: TensorValue, pads: Sequence[int]) -> tuple[TensorValue, list[int]]:
    """The operand without what negative widths cut off, and the widths that are left."""
    size, offset = list(x.view.size), x.view.offset
    for i, width in enumerate(pads):
        if width < 0:
            dim = len(size) - 1 - i // 2
            size[dim] += width
            offset -= width * x.view.stride[dim] * (i % 2 == 0)
    view = replace(x.view, size=tuple(size), offset=offset)
    return replace(x, view=view, direct=x.direct and view == x.view), [max(width, 0) for width in pads]


def cast_rule(source: str, target: str) -> str:
    same = device_format(source).elements_per_stick == device_format(target).elements_per_stick
    return "same" if same else "cast"


def packet(node: Node) -> str:
    packet = getattr(node.target, "overloadpacket", None)
    return packet.__name__ if packet is not None else getattr(node.target, "__name__", str(node.target))


def node_of(value: Any) -> Node:
    if not isinstance(value, Node):
        raise UnsupportedError(f"expected a tensor operand, got {value!r}")
    return value


def storage(node: Node) -> int:
    return storage_id(node.meta["val"])


def same_view(a: Node, b: Node) -> bool:
    x, y = a.meta["val"], b.meta.get("val")
    return isinstance(y, torch.Tensor) and (x.shape, x.stride(), x.storage_offset()) == (
        y.shape,
        y.stride(),
        y.storage_offset(),
    )


def _is_pointwise(node: Node) -> bool:
    """Whether PyTorch tags the op so, or the one that a decomposition says that it comes from."""
    said = custom(node).get("aten")
    packet_of = getattr(torch.ops.aten, said, None) if said else None
    target = node.target if packet_of is None else getattr(packet_of, packet_of.overloads()[0])
    return torch.Tag.pointwise in getattr(target, "tags", ())
