"""FX to loop IR: one buffer per operation, each operand a base buffer and an affine index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from irwidget.errors import UnsupportedError
from irwidget.private_torch import returns_view, storage_id
from irwidget.spyre.coordinates import Gather, Index, ranges_of
from irwidget.spyre.emitting import TensorValue, cast_rule, node_of, packet, same_view, storage
from irwidget.spyre.fillorder import fill_in_order
from irwidget.spyre.formats import cast_op, device_format, dtype_name
from irwidget.spyre.inplace import written_parts
from irwidget.spyre.ir import Buffer, BufferView, Graph, Read, blaming
from irwidget.spyre.layout import device_layout
from irwidget.spyre.notes import custom
from irwidget.spyre.opfuncs import FALLBACKS, POINTWISE, REDUCTIONS
from irwidget.spyre.pieces import PieceBuilder
from irwidget.spyre.tensorspec import Input


def lower_graph(
    module: GraphModule,
    inputs: Sequence[Input],
    mutated: Sequence[str] = (),
    on_host: Mapping[str, str] | None = None,
) -> tuple[Graph, dict[str, torch.Tensor]]:
    """The loop IR of a decomposed FX graph, and the values of tensor constants that it found.

    The last outputs of the graph are the new values of the inputs `mutated`. `on_host` are nodes that become calls
    on the host, and why.
    """
    return _Lowering(module, inputs, on_host or {}).run(mutated)


_FILLED = ("float16", "float32")
_FILLS = frozenset("scalar_tensor full ones zeros full_like ones_like zeros_like new_full new_ones new_zeros".split())
"""Ops whose tensor without dims is copied from a constant; elsewhere it is the constant."""


class _Lowering(PieceBuilder):
    """One handler per kind of ATen op."""

    def __init__(self, module: GraphModule, inputs: Sequence[Input], on_host: Mapping[str, str]) -> None:
        super().__init__(module, inputs)
        self.on_host = on_host

    def run(self, mutated: Sequence[str]) -> tuple[Graph, dict[str, torch.Tensor]]:
        self.parts = written_parts(self.module, mutated)
        outputs: tuple[Any, ...] = ()
        for node in self.module.graph.nodes:
            self.node = node
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "get_attr":
                self._attribute(node)
            elif node.op == "output":
                values: Any = node.args[0]
                returned = len(values) - len(mutated)
                outputs = tuple(self._returned(a) if isinstance(a, Node) else a for a in values[:returned])
                self._write_back(mutated, values[returned:])
            else:
                with blaming(node.name):
                    self._call(node)
        graph = Graph(tuple(self.ops), self.buffers, tuple(self.inputs.values()), outputs, tuple(mutated))
        return fill_in_order(
            graph, self.module, lambda node: self.buffer_of(storage(node)), self.origins
        ), self.constants

    def _returned(self, node: Node) -> BufferView:
        """What the function returns; UnsupportedError where no buffer holds such a dtype, as of a view as complex."""
        view = self.value_of(node).view
        device_format(view.dtype)
        return view

    def _write_back(self, mutated: Sequence[str], values: Sequence[Node]) -> None:
        """Copy the new values of inputs into them, after everything else; what another holds is copied out first."""
        pairs = [(name, value) for name, value in zip(mutated, values, strict=True) if value.meta["val"].numel()]
        operands = [self.source_of_copy(value) for _, value in pairs]
        for i, ((name, _), operand) in enumerate(zip(pairs, operands, strict=True)):
            if operand.view.buffer in mutated and operand.view.buffer != name:
                operands[i] = self.copied(operand)
        for (name, value), operand in zip(pairs, operands, strict=True):
            buffer = self.buffers[name]
            if operand.view == BufferView(name, buffer.size, buffer.stride, 0, buffer.dtype):
                continue  # it has been written there
            if operand.view.dtype != buffer.dtype:
                operand = self.cast_operand(operand, buffer.dtype)
            if value.name in self.on_host:
                operand = self.host_copy(operand, buffer.size)
            self._copy(self.read(operand, buffer.size), buffer.size, name, "copy_", "copy_back", ("copy_",))
            self.ops[-1] = replace(self.ops[-1], node=value.name)

    def _placeholder(self, node: Node) -> None:
        given = self.inputs[node.name]
        self.buffers[node.name] = Buffer(node.name, given.size, given.stride, given.dtype, "input", layout=given.layout)
        self.bind(node, node.name)

    def _attribute(self, node: Node) -> None:
        value: Any = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if isinstance(value, GraphModule):
            return  # a branch or a body: whoever calls it is told
        value = getattr(value, "constant", None) if getattr(value, "fake_mode", None) is not None else value
        dtype = dtype_name(node.meta["val"].dtype)
        if value is not None and value.dim() == 0:
            self.constant(node, value.item(), dtype)
            return
        fake = node.meta["val"]
        if not fake.numel():
            return
        size, stride = tuple(fake.shape), tuple(fake.stride())
        name = str(node.target).replace(".", "_")
        layout = device_layout(size, dtype, None, stride)
        self.inputs[name] = Input(name, size, stride, dtype, None, layout, parameter=name)
        self.buffers[name] = Buffer(name, size, stride, dtype, "input", layout=layout)
        if value is not None:
            self.constants[name] = value
        self.bind(node, name)
        views = [user for user in node.users if returns_view(user.target)]
        for view in views:  # of another fake tensor of the same values
            self.by_storage.setdefault(storage(view), name)

    def _call(self, node: Node) -> None:
        value = node.meta.get("val")
        name = packet(node)
        if not isinstance(value, torch.Tensor):
            if isinstance(value, list | tuple):
                self._several(node, value)
                return
            if value is None:
                self.fallback(node)  # a check
                return
            raise UnsupportedError(f"{name} makes no tensor; Spyre has no scalars on the host{self.place()}")
        if not value.numel():
            if self.buffer_of(storage(node)) is None:
                self._empty(node)  # nothing is launched for it; an op that reads it is refused, and a cat does not
            return
        if name in ("lift_fresh_copy", "lift_fresh", "detach", "alias") and self.buffer_of(storage(node)) is None:
            self.by_storage[storage(node)] = self.operand(node_of(node.args[0])).view.buffer
        if self.buffer_of(storage(node)) is not None:
            self._view(node, name)
            return
        device_format(dtype_name(value.dtype))
        if node.name in self.on_host:
            self.fallback(node, self.on_host[node.name])
            return
        handler = getattr(self, f"_lower_{name}", None)
        if handler is not None:
            handler(node)
        elif name in FALLBACKS:
            self.fallback(node)
        elif name in POINTWISE and not node.kwargs.get("rounding_mode"):
            self.pointwise(node, POINTWISE[name], node.args)
        elif name in REDUCTIONS:
            self._reduction(node, REDUCTIONS[name])
        else:
            self.unlowered(node)

    def _view(self, node: Node, name: str) -> None:
        source = next((a for a in node.all_input_nodes), None)
        called = node.target is getitem and source not in self.origins  # a result of a call on the host is no view
        origins = () if source is None or called else (*self.origins.get(source, ()), self.origin(node))
        self.origins[node] = tuple(dict.fromkeys(o for o in origins if o))
        same = source is not None and (same_view(node, source) or bool(custom(node).get("batches")))
        self.direct[node] = same and self.direct.get(source, True) if source is not None else False

    def _several(self, node: Node, value: Any) -> None:
        """An op of several results: views of what is there, or a call on the host."""
        if any(self.buffer_of(storage_id(v)) is None for v in value if isinstance(v, torch.Tensor)):
            self.fallback(node)
        elif node.all_input_nodes:
            self.origins[node] = self.origins.get(node.all_input_nodes[0], ())

    # -- handlers ------------------------------------------------------------------------------

    def _lower_softplus(self, node: Node) -> None:
        given: Any = node.args[1:]
        constants = tuple(zip(("softplusBeta", "softplusThresh"), map(float, given), strict=True))
        self.pointwise(node, "softplus", node.args[:1], constants=constants)

    def _lower_scaled(self, node: Node) -> None:
        self.pointwise(node, "mul", node.args)

    def _lower_qfp8ch(self, node: Node) -> None:
        x = self.operand(node_of(node.args[0]))
        size = tuple(node.meta["val"].shape)
        rule = cast_rule(x.view.dtype, "float8_e4m3fn")
        self.emit(node, "pointwise", "qfp8ch", ranges_of(size), [self.read(x, size)], rule=rule)

    def _lower_scaled_matmul(self, node: Node) -> None:
        self._lower_matmul(node, "batchmatmulfp8")

    def _lower_gelu(self, node: Node) -> None:
        self.pointwise(node, "gelufwd", node.args[:1])

    def _lower_clip(self, node: Node) -> None:
        constants: Any = (("clipMin", node.args[1]), ("clipMax", node.args[2]))
        self.pointwise(node, "clip", node.args[:1], constants=constants)

    def _lower_layernormscale(self, node: Node) -> None:
        self.pointwise(node, "layernormscale", node.args[:1], constants=(("eps", float(node.args[1])),))  # pyright: ignore

    def _lower_layernormnorm(self, node: Node) -> None:
        self.pointwise(node, "layernormnorm", node.args, rule="layernormnorm")

    def _lower_exx2(self, node: Node) -> None:
        x = self.operand(node_of(node.args[0]))
        constants = (("exx2scale", float(node.args[1])), ("useZeroMean", bool(node.args[2])))  # pyright: ignore
        self._reduce(node, "exx2", x, [len(x.view.size) - 1], constants, rule="exx2")

    def _reduction(self, node: Node, func: str) -> None:
        if node.kwargs.get("dtype") not in (None, node.meta["val"].dtype):
            raise UnsupportedError(f"{packet(node)} into another dtype{self.place()}")
        x = self.operand(node_of(node.args[0]))
        rank = len(x.view.size)
        given: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
        dims = list(range(rank)) if given in (None, [], ()) else [given] if isinstance(given, int) else list(given)
        if x.view.dtype != dtype_name(node.meta["val"].dtype):
            x = self.cast_operand(x, dtype_name(node.meta["val"].dtype))
        dims = sorted(d % rank for d in dims) if rank else []
        constants: tuple[tuple[str, float | bool], ...] = ()
        if func == "mean":
            count = 1
            for d in dims:
                count *= x.view.size[d]
            constants = (("scaling_factor", 1.0 / count),)
        self._reduce(node, func, x, dims, constants)

    def _reduce(
        self,
        node: Node,
        func: str,
        x: TensorValue,
        dims: list[int],
        constants: tuple[tuple[str, float | bool], ...],
        rule: str = "same",
    ) -> None:
        view = x.view
        kept = [i for i in range(len(view.size)) if i not in dims]
        order = [i for i in kept if view.size[i] != 1] + [i for i in dims if view.size[i] != 1]
        names = {d: f"d{n}" for n, d in enumerate(order)}
        ranges = tuple((names[i], view.size[i]) for i in kept if i in names)
        reduced = tuple((names[i], view.size[i]) for i in dims if i in names)
        steps = tuple((names[i], view.stride[i]) for i in order if view.stride[i])
        read = Read(view.buffer, Index(steps, view.offset), dtype=view.dtype, direct=x.direct)
        if not reduced and func in ("sum", "max", "min"):
            self.emit(node, "pointwise", "copy", ranges, [read])
            return
        value = node.meta["val"]
        out = list(range(len(view.size))) if len(value.shape) == len(view.size) else kept
        write = Index(tuple((names[d], int(value.stride(j))) for j, d in enumerate(out) if d in names and d in kept))
        self.emit(node, "reduction", func, ranges, [read], reduced=reduced, write=write, constants=constants, rule=rule)

    def _lower_topkvalue(self, node: Node) -> None:
        self._topk(node, "topkvalue")

    def _lower_topkindex(self, node: Node) -> None:
        self._topk(node, "topkindex")

    def _topk(self, node: Node, func: str) -> None:
        x = self.operand(node_of(node.args[0]))
        dim = int(node.args[2])  # pyright: ignore[reportArgumentType]
        value = node.meta["val"]
        ranges = tuple((f"d{i}", int(n)) for i, n in enumerate(value.shape))
        names = ["d2" if i == dim else f"d{i}" for i in range(2)]
        steps = tuple(zip(names, x.view.stride, strict=True))
        read = Read(x.view.buffer, Index(steps, x.view.offset), dtype=x.view.dtype, direct=x.direct)
        write = Index(tuple((f"d{i}", int(s)) for i, s in enumerate(value.stride())))
        self.emit(
            node, "topk", func, ranges, [read], reduced=(("d2", x.view.size[dim]),), write=write, dtype=x.view.dtype
        )

    def _lower_matmul(self, node: Node, func: str = "batchmatmul") -> None:
        a, b = (self.operand(node_of(arg)) for arg in node.args[:2])
        size = tuple(node.meta["val"].shape)
        note = custom(node)
        if a.view.size[-1] == 1:
            self.emit(node, "pointwise", "mul", ranges_of(size), [self.read(a, size), self.read(b, size)], aten="mul")
            return
        names = {i: f"d{n}" for n, i in enumerate(i for i in range(len(size)) if size[i] != 1)}
        ranges = tuple((names[i], size[i]) for i in names)
        k = f"d{len(ranges)}"
        reads: list[Read] = []
        for which, operand in enumerate((a, b)):
            view = operand.view
            missing = len(size) - len(view.size)
            steps: list[tuple[str, int]] = []
            for i, (n, s) in enumerate(zip(view.size, view.stride, strict=True)):
                is_k = i == len(view.size) - (1 if which == 0 else 2)
                if is_k:
                    steps.append((k, s))
                elif n != 1 and missing + i in names:
                    steps.append((names[missing + i], s))
            reads.append(
                Read(
                    view.buffer,
                    Index(tuple(s for s in steps if s[1]), view.offset),
                    dtype=view.dtype,
                    direct=operand.direct and bool(note.get("expands")),
                    rank=len(view.size if note.get("convolution") else self.buffers[view.buffer].size),
                )
            )
        n_last, k_size = size[-1], a.view.size[-1]
        unit = bool(note.get("unit_batch")) and all(n == 1 for n in size[:-2]) and not (n_last % 64 or k_size % 64)
        self.emit(node, "matmul", func, ranges, reads, reduced=((k, k_size),), rule="matmul", unit_batch=unit)

    def _lower_clone(self, node: Node) -> None:
        x = self.operand(node_of(node.args[0]))
        size = tuple(node.meta["val"].shape)
        rule = "same" if custom(node).get("aten") == "pow" else "clone"
        self.emit(node, "pointwise", "copy", ranges_of(size), [self.read(x, size)], rule=rule)

    def _lower__to_copy(self, node: Node) -> None:
        x = self.operand(node_of(node.args[0]))
        size, dtype = tuple(node.meta["val"].shape), dtype_name(node.meta["val"].dtype)
        if dtype == x.view.dtype:
            self._lower_clone(node)
            return
        func = cast_op(x.view.dtype, dtype)
        if func is None:
            cast = self.host_cast(x, dtype)
            if cast.view.stride == node.meta["val"].stride():
                self.bind(node, cast.view.buffer)
            else:
                self.emit(node, "pointwise", "copy", ranges_of(size), [self.read(cast, size)], rule="clone")
            return
        self.emit(node, "pointwise", func, ranges_of(size), [self.read(x, size)], rule=cast_rule(x.view.dtype, dtype))

    def _lower_repeat(self, node: Node) -> None:
        """A copy whose reads begin anew with every repetition; sticks that are cut by one are repeated on the host."""
        x = self.operand(node_of(node.args[0]))
        size = tuple(int(n) for n in node.meta["val"].shape)
        missing = len(size) - len(x.view.size)
        old = (1,) * missing + x.view.size
        if old and old[-1] not in (1, size[-1]) and old[-1] % device_format(x.view.dtype).elements_per_stick:
            self.fallback(node)
            return
        dims = [(i, n) for i, n in enumerate(size) if n != 1]
        stride = (0,) * missing + x.view.stride
        steps = tuple((f"d{j}", stride[i]) for j, (i, _) in enumerate(dims) if old[i] != 1 and stride[i])
        wraps = tuple((f"d{j}", old[i]) for j, (i, n) in enumerate(dims) if old[i] not in (1, n))
        index = Index(steps, x.view.offset, wraps=wraps)
        read = Read(x.view.buffer, index, dtype=x.view.dtype, direct=x.direct)
        self.emit(node, "pointwise", "copy", ranges_of(size), [read], rule="same")

    def _lower_full(self, node: Node) -> None:
        value = node.meta["val"]
        dtype = dtype_name(value.dtype)
        fill: Any = float(node.args[1]) if value.dtype.is_floating_point else node.args[1]  # pyright: ignore
        asked = value.dim() > 0 or custom(node).get("origin", "full") in _FILLS
        if dtype not in (_FILLED if asked else ("float16", "bfloat16", "float32", "bool")):
            where = {"dtype": value.dtype, "layout": torch.strided, "device": torch.device("cpu"), "pin_memory": False}
            self.fallback(node, given=([list(value.shape), node.args[1]], where))
            return
        rounded = torch.tensor(fill, dtype=value.dtype).item() if dtype == "float32" else fill
        name = self.constant(None if asked else node, rounded, dtype)
        if asked:
            self.emit(
                node,
                "pointwise",
                "copy",
                ranges_of(tuple(value.shape)),
                [Read(name, Index(), dtype=dtype)],
                rule="constant",
            )

    def _lower_fill(self, node: Node) -> None:
        size = tuple(node.meta["val"].shape)
        dtype = dtype_name(node.meta["val"].dtype)
        operand = self.operand(node_of(node.args[1]))
        if operand.view.dtype != dtype:
            operand = self.cast_operand(operand, dtype)
        self.emit(node, "pointwise", "copy", ranges_of(size), [self.read(operand, size)], rule="constant")

    def _lower_copied(self, node: Node) -> None:
        x = self.operand(node_of(node.args[0]))
        size = tuple(node.meta["val"].shape)
        dtype = dtype_name(node.meta["val"].dtype)
        func, rule = ("copy", "") if dtype == x.view.dtype else ("identity", cast_rule(x.view.dtype, dtype))
        self.emit(node, "pointwise", func, ranges_of(size), [self.read(x, size)], aten="copy", rule=rule)

    def _lower_index(self, node: Node) -> None:
        x = self.operand(node_of(node.args[0]))
        given: Any = node.args[1]
        where = [i for i, g in enumerate(given) if g is not None]
        if len(where) != 1 or given[where[0]].meta["val"].dtype not in (torch.int64, torch.int32):
            self.fallback(node)  # gathers take one tensor of integers
            return
        dim, at = where[0], self.operand(given[where[0]])
        if bool((self.constants.get(at.view.buffer, torch.zeros(1)) < 0).any()):
            self.fallback(node, "the device does not count from the end")
            return
        size, view = tuple(node.meta["val"].shape), x.view
        names = {i: f"d{n}" for n, i in enumerate(i for i in range(len(size)) if size[i] != 1)}
        width = len(at.view.size)
        index_steps = tuple((names[dim + i], at.view.stride[i]) for i in range(width) if dim + i in names)
        index = Index(index_steps, at.view.offset)
        steps: list[tuple[str, int]] = []
        for i, s in enumerate(view.stride):
            position = i if i < dim else i + width - 1
            if i != dim and position in names and s:
                steps.append((names[position], s))
        gather = Gather(at.view.buffer, view.stride[dim], index, view.size[dim])
        reads = [
            Read(at.view.buffer, index, dtype=at.view.dtype, role="index"),
            Read(view.buffer, Index(tuple(steps), view.offset, (gather,)), dtype=view.dtype),
        ]
        self.emit(node, "pointwise", "copy", ranges_of(size), reads, rule="gather")
