"""Which device layouts each op could give its result, and what they ask of its inputs.

The rules are in docs/spyre-rules.md: Layout candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from irwidget.errors import UnsupportedError
from irwidget.spyre.coordinates import Stick, device_coordinates, stick_of
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.formats import device_format
from irwidget.spyre.ir import Buffer, Graph, Op, Read, Refusals
from irwidget.spyre.layout import DeviceLayout, device_layout, restickified

CostKind = Literal["AllSame", "FixedInOut", "AnyIn"]
_ALONG_STICKS = frozenset({"matmul", "exx2", "layernormnorm"})
"""Ops that walk over the sticks of operands."""


@dataclass(frozen=True, slots=True)
class LayoutRule:
    """How the layouts of an op hang together."""

    kind: CostKind
    candidates: tuple[DeviceLayout, ...]
    required: tuple[str | None, ...] = ()
    """FixedInOut: the stick variable that each operand must have."""


@dataclass(frozen=True)
class Propagation:
    """Candidates of every buffer and rules of every op."""

    layouts: Mapping[str, tuple[DeviceLayout, ...]]
    rules: Mapping[str, LayoutRule]
    buffers: Mapping[str, Buffer] = field(repr=False)


def propagate(graph: Graph, refusals: Refusals) -> Propagation:
    """Forward candidate sets (docs/spyre-rules.md: Layout candidates); what is refused is taken for a host's result."""
    layouts: dict[str, tuple[DeviceLayout, ...]] = {}
    rules: dict[str, LayoutRule] = {}
    buffers = dict(graph.buffers)
    for name, buffer in graph.buffers.items():
        if buffer.layout is not None:
            layouts[name] = (buffer.layout,)
    for op in graph.ops:
        if op.kind == "fallback":
            continue
        with refusals.of(op.node):
            rules[op.name] = _Rules(op, buffers, layouts).rule()
        if op.name not in rules:
            given = layouts[op.target] if op.is_mutation else (host_layout(buffers[op.target]),)
            rules[op.name] = LayoutRule("AnyIn", given)
        if not op.is_mutation:
            layouts[op.target] = rules[op.name].candidates
    return Propagation(layouts, rules, buffers)


def host_layout(buffer: Buffer) -> DeviceLayout:
    """The layout of a buffer that the host fills, and the default of others."""
    return device_layout(buffer.size, buffer.dtype, None, buffer.stride)


class _Rules:
    """The rule of one op, from the candidates of its inputs."""

    def __init__(self, op: Op, buffers: Mapping[str, Buffer], layouts: Mapping[str, tuple[DeviceLayout, ...]]) -> None:
        self.op, self.buffers, self.layouts = op, buffers, layouts
        self.out = buffers[op.target]
        self.eps = device_format(self.out.dtype).elements_per_stick
        self.space = op.space
        self.reads = [r for r in op.data_reads if buffers[r.buffer].kind != "constant"]

    def rule(self) -> LayoutRule:
        op, out = self.op, self.out
        default = host_layout(out)
        if op.rule == "matmul":
            return self._matmul(default)
        if op.rule in ("exx2", "layernormnorm") and not (op.reduced or self._last_variable()):
            raise self._refused("layer norm of single elements")
        if op.rule == "exx2":
            tagged = device_layout(out.size, out.dtype, (*range(len(out.size)), -1), out.stride, "EXX2")
            return LayoutRule("FixedInOut", (tagged,), (op.reduced[0][0],))
        if op.rule == "layernormnorm":
            last = self._last_variable()
            return LayoutRule("FixedInOut", (self._with_stick(last),), (last, None, None, last, last))
        if op.is_mutation:
            whole = self._copies_sticks() or op.rule == "copy_back"
            priced = out.kind == "input" and whole and self._dense()
            return LayoutRule("AllSame" if priced else "AnyIn", self.layouts[op.target])
        if op.rule == "constant":
            return LayoutRule("AnyIn", self._constant_candidates())
        if op.kind in ("constant", "empty", "multi_output"):
            return LayoutRule("AnyIn", (default,))
        if op.rule == "clone":
            return self._clone(default)
        if op.rule == "cast":
            return LayoutRule("AllSame", (self._cast(default),))
        if op.kind == "topk":
            return LayoutRule("AllSame", self._topk())
        self._check_tags()
        if op.kind == "reduction" and (moved := self._inside_sticks()) is not None:
            return moved
        if len(self.reads) == 1 and op.kind == "pointwise" and op.rule == "same":
            return LayoutRule("AllSame", self._single())
        return LayoutRule("AllSame", self._several())

    def _copies_sticks(self) -> bool:
        """Whether what is copied into a part of a tensor begins with a stick on both sides.

        Otherwise it stays inside of the stick that it begins in. Raises UnsupportedError where it does not.
        """
        begins = True
        sides = [(self.op.target, self.op.write, layout) for layout in self.layouts[self.op.target]]
        sides += [(r.buffer, r.index, layout) for r in self.reads for layout in self.layouts[r.buffer]]
        for name, index, layout in sides:
            eps = layout.elements_per_stick
            stick = stick_of(device_coordinates(layout, index, self.space), eps)
            extent = min(self.space[stick.variable], eps) if stick.variable is not None else 1
            if stick.offset and stick.offset + extent > eps:
                raise self._no_layout(
                    f"a copy of a part that begins {index.offset} elements into {name}, inside a stick of {eps}"
                )
            begins = begins and not stick.offset
        return begins

    def _dense(self) -> bool:
        """Whether each operand can have sticks of more than one element."""
        return all(any(layout.stride_map[-1] > 0 for layout in self.layouts[r.buffer]) for r in self.reads)

    def _last_variable(self) -> str | None:
        return self.op.ranges[-1][0] if self.op.ranges and self.out.size[-1] != 1 else None

    def _matmul(self, default: DeviceLayout) -> LayoutRule:
        """Sticks along K in the operand of the rows, and along what the other operand adds in it and in the result.

        The second operand adds something, or else the first one does.
        """
        kept = dict(self.op.ranges)
        first, second = ({v for v, _ in r.index.steps if v in kept} for r in self.op.data_reads)
        swapped, added = not second - first, second - first or first - second
        if not added:
            raise self._refused("a product of one row by one column")
        if len(added) > 1:
            raise self._refused(
                f"a product whose {'second' if swapped else 'first'} operand is the same for all of a batch, which the"
                " other one's is not. Copy it for each, with expand() and contiguous()"
            )
        (new,), k, dims = added, self.op.reduced[0][0], list(range(len(self.out.size)))
        required = (new, k) if swapped else (k, new)
        if self._dims().get(dims[-1]) == new:
            return LayoutRule("FixedInOut", (default,), required)
        order = (*dims[:-2], dims[-1], dims[-2])
        return LayoutRule(
            "FixedInOut", (device_layout(self.out.size, self.out.dtype, order, self.out.stride),), required
        )

    def _refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"Spyre backend does not support: {what}.{self.op.where()}")

    def _clone(self, default: DeviceLayout) -> LayoutRule:
        sticks = [self._stick(read, layout) for read in self.reads for layout in self.layouts[read.buffer]]
        if any(s.offset and s.variable is not None for s in sticks):
            for dim, variable in self._dims().items():
                if dim != len(self.out.size) - 1 and self.out.size[dim] % self.eps == 0:
                    return LayoutRule("FixedInOut", (default,), (variable,))
            raise self._no_layout("clone of a slice that starts inside a stick")
        return LayoutRule("AnyIn", (default,))

    def _cast(self, default: DeviceLayout) -> DeviceLayout:
        out, read = self.out, self.op.data_reads[0]  # of a constant, too
        eps = device_format(read.dtype).elements_per_stick
        tag = "DL16_TO_FP32" if (read.dtype, out.dtype) == ("float16", "float32") else "STANDARD"
        if out.size and out.size[-1] % eps:
            size = (*out.size[:-1], -(-out.size[-1] // eps) * eps)
            padded = device_layout(size, out.dtype, None, out.stride, tag)
            return padded if out.size[-1] > self.eps else _rows_apart(padded, out.size[-1])
        return replace(default, tag=tag)

    def _topk(self) -> tuple[DeviceLayout, ...]:
        taken = {self.op.reduced[0][0]} | {v for v, _ in self.op.ranges if not self.reads[0].index.step(v)}
        free = [v for v, _ in self.op.ranges if v not in taken]
        if not free:
            raise self._no_layout("topk of a single row")
        return (self._with_stick(free[0]),)

    def _constant_candidates(self) -> tuple[DeviceLayout, ...]:
        out = self.out
        dims = range(len(out.size))
        orders = [(*(d for d in dims if d != stick), stick) for stick in dims]
        found = [device_layout(out.size, out.dtype, order, out.stride) for order in orders]
        return tuple(found) or (device_layout(out.size, out.dtype, None, out.stride),)

    def _single(self) -> tuple[DeviceLayout, ...]:
        read = self.reads[0]
        if self._like_output(read):
            return self.layouts[read.buffer]
        return self._several()

    def _like_output(self, read: Read) -> bool:
        source = self.buffers[read.buffer]
        strides = [[s for s, n in zip(b.stride, b.size, strict=True) if n != 1] for b in (source, self.out)]
        same = read.index == self.op.write and source.size == self.out.size and strides[0] == strides[1]
        return same and device_format(source.dtype).elements_per_stick == self.eps

    def _several(self) -> tuple[DeviceLayout, ...]:
        """One candidate per offset-free stick expression, ordered by loop variable."""
        sticks: dict[str | None, bool] = {}
        offset = False
        for read in self.reads:
            for layout in self.layouts[read.buffer]:
                stick = self._stick(read, layout)
                if stick.variable is not None and stick.offset:
                    offset = True
                else:
                    sticks[stick.variable] = True
        single = all(len(self.layouts[r.buffer]) == 1 for r in self.reads)
        variables = sorted((v for v in sticks if v is not None), key=_number)
        if (
            self.op.kind == "pointwise"
            and self.reads
            and single
            and len(variables) <= 1
            and not offset
            and all(self._like_output(r) for r in self.reads)
        ):
            return self.layouts[self.reads[0].buffer]
        found = [self._with_stick(v) for v in variables]
        if not found and not offset and (sticks or not self.reads):
            found = [self._with_stick(None)]
        if not found or offset:
            for dim, variable in self._dims().items():
                if dim != len(self.out.size) - 1 and self.out.size[dim] % self.eps == 0:
                    found.append(self._with_stick(variable))
        if not found:
            raise self._no_layout(f"{self.op.func}: no dim of its result can hold the sticks")
        return tuple(dict.fromkeys(found))

    def _inside_sticks(self) -> LayoutRule | None:
        """Of a reduction that starts inside a stick: the sticks move to the first other dim of whole sticks."""
        read = self.reads[0]
        stick = self._stick(read, self.layouts[read.buffer][0])
        if stick.variable is None or not stick.offset:
            return None
        outer_first = sorted(read.index.steps, key=lambda step: -step[1])
        whole = [v for v, _ in outer_first if v != stick.variable and self.space[v] % self.eps == 0]
        if not whole:
            return None
        kept = whole[0] if whole[0] in dict(self.op.ranges) else None
        return LayoutRule("FixedInOut", (self._with_stick(kept),), (whole[0],))

    def _with_stick(self, variable: str | None) -> DeviceLayout:
        """Dims that are looped over in order, then those of size 1, then the stick dim, or -1 if it is gone."""
        dims = {v: d for d, v in self._dims().items()}
        stick = dims.get(variable, -1) if variable is not None else -1
        size = self.out.size
        order = [d for d in range(len(size)) if d != stick and size[d] != 1]
        order += [d for d in range(len(size)) if d != stick and size[d] == 1]
        if not size:
            return device_layout(size, self.out.dtype)
        tags = {self.layouts[r.buffer][0].tag for r in self.reads} - {"EXX2"}
        tag = tags.pop() if len(tags) == 1 and self.op.kind == "pointwise" else "STANDARD"
        return device_layout(size, self.out.dtype, (*order, stick), self.out.stride, tag)

    def _dims(self) -> dict[int, str]:
        """Host dim of the result -> its loop variable."""
        wide = [d for d, n in enumerate(self.out.size) if n != 1]
        return {d: v for d, (v, _) in zip(wide, self.op.ranges, strict=False)}

    def _stick(self, read: Read, layout: DeviceLayout) -> Stick:
        return stick_of(device_coordinates(layout, read.index, self.space), layout.elements_per_stick)

    def _check_tags(self) -> None:
        if len(self.reads) < 2 or self.op.func in ("layernormnorm", "layernormscale"):
            return
        # One element per stick has no arrangement to differ in.
        tags = {
            layout.tag
            for r in self.reads
            for layout in self.layouts[r.buffer]
            if self._stick(r, layout).variable is not None
        }
        if len(tags) > 1:
            raise UnsupportedError(
                f"Spyre backend does not support: element-arrangement mismatch in {self.op.func}: its operands are"
                f" {' and '.join(sorted(tags))}. A float32 made from float16 on the device is staggered inside its"
                f" sticks: cast both operands the same way.{self.op.where()}"
            )

    def _no_layout(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"Spyre backend does not support: no supported output layout: {what}.{self.op.where()}")


def _rows_apart(layout: DeviceLayout, columns: int) -> DeviceLayout:
    """Of rows within a stick, padded to several: each begins one, and nothing walks over those of the padding."""
    size, strides = list(layout.device_size), list(layout.stride_map)
    outer = max(len(size) - 3, 0)
    dims = [(n, step) for i, (n, step) in enumerate(zip(size[:-1], strides, strict=False)) if i != outer]
    if size[outer] == 1 or columns - 1 + sum((n - 1) * step for n, step in dims) < strides[outer]:
        return layout  # nothing reaches them
    if size[outer + 1] > 1 and strides[outer] > strides[outer + 1]:
        size[outer : outer + 2] = [size[outer] * size[outer + 1]]  # that of the padding follows all rows
        del strides[outer]
    else:
        strides[outer] = -1
    return replace(layout, device_size=tuple(size), stride_map=tuple(strides))


def _number(variable: str) -> int:
    return int(variable[1:])


@dataclass(frozen=True, slots=True)
class EdgeCost:
    """What it takes to feed a layout to an op: 0, device elements to move, or infinity."""

    cost: float
    target: DeviceLayout | None = None
    """The layout to restickify to, when that is what it takes."""


def compatible(source: tuple[Coordinate, ...], eps: int, required: str | None, sink: tuple[Coordinate, ...]) -> bool:
    """Whether sticks of an operand meet sticks of the result."""
    stick = stick_of(source, eps)
    if stick.variable is not None and stick.offset:
        return False
    variables = {v for v in (stick.variable, required) if v is not None}
    if len(variables) > 1:
        return False
    for variable in variables:
        if stick.variable != variable and any(variable in c.variables for c in source[:-1]):
            return False
        if required != variable and any(variable in c.variables for c in sink[:-1]):
            return False
    return True


def edge_cost(
    op: Op, read: Read, buffer: Buffer, layout: DeviceLayout, required: str | None, sink: tuple[Coordinate, ...]
) -> EdgeCost:
    """The cost of one operand under a layout (docs/spyre-rules.md: Layout choice)."""
    if op.rule in _ALONG_STICKS and required is not None and not read.index.step(required):
        return EdgeCost(inf)  # no element of a broadcast operand lies at another place of the sticks
    coordinates = device_coordinates(layout, read.index, op.space)
    if compatible(coordinates, layout.elements_per_stick, required, sink):
        return EdgeCost(0)
    target = restickify_target(op, read, buffer, layout, required)
    if target is None:
        return EdgeCost(inf)
    after = device_coordinates(target, read.index, op.space)
    try:
        fits = compatible(after, target.elements_per_stick, required, sink)
    except UnsupportedError:
        fits = False
    return EdgeCost(layout.elements, target) if fits else EdgeCost(inf)


def restickify_target(
    op: Op, read: Read, buffer: Buffer, layout: DeviceLayout, variable: str | None
) -> DeviceLayout | None:
    """The layout of `buffer` with the stick moved to the host dim that `variable` walks over."""
    if variable is None or layout.stride_map[-1] <= 0:
        return None
    step, extent = read.index.step(variable), op.space[variable]
    dims = list(zip(buffer.size, buffer.stride, strict=True))
    old = next((d for d in dims if d[0] != 1 and d[1] == layout.stride_map[-1]), None)
    eps = layout.elements_per_stick  # a variable may walk over further dims behind one of whole sticks
    new = next((d for d in dims if d[0] != 1 and d[1] == step and (d[0] >= extent or d[0] % eps == 0)), None)
    if old is None or new is None or old == new:
        return None
    return restickified(layout, old, new)
