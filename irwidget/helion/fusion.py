"""Long runs of element-wise nodes that one line of a kernel has become, as one `linalg.generic` with an op for each.

Helion computes random numbers so: Philox with products of 16-bit halves is some 500 nodes. Each op keeps the place of
its node. A run has the ops whose results are told here, number for number; other nodes are imported one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import private
from irwidget.helion.aten import restored_arguments
from irwidget.helion.bindings import arith, ir
from irwidget.helion.builder import Builder, broadcast_dims
from irwidget.helion.dtypes import WIDER, is_float
from irwidget.helion.handlers import Handler, handler_for
from irwidget.helion.nodes import AtenCall, TensorOperand

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

SHORTEST = 64
"""Nodes of a line from which on they are one op. Nobody writes as many element-wise calls on a line."""

TAKE = ("linalg-on-tensors", "tosa")
"""The output types in which they are. In the others each node is an op of its own."""

_Compute = Callable[[Builder, ir.Type, list[ir.Value]], ir.Value]


def _either(integers: Any, floats: Any) -> _Compute:
    return lambda _, element, values: (floats if is_float(element) else integers)(*values)


def _integer(build: Any) -> _Compute:
    return lambda _, __, values: build(*values)


_ARITHMETIC: dict[str, _Compute] = {
    "aten.add.Tensor": _either(arith.addi, arith.addf),
    "aten.sub.Tensor": _either(arith.subi, arith.subf),
    "aten.mul.Tensor": _either(arith.muli, arith.mulf),
}
_BITS: dict[str, _Compute] = {
    "aten.__lshift__.Scalar": _integer(arith.shli),
    "aten.__rshift__.Scalar": _integer(arith.shrsi),
    "aten.neg.default": lambda builder, element, values: arith.subi(builder.constant(0, element), values[0]),
    **{
        f"aten.bitwise_{name}.{overload}": _integer(build)
        for name, build in (("and", arith.andi), ("or", arith.ori), ("xor", arith.xori))
        for overload in ("Scalar", "Tensor")
    },
}
_OTHERS: dict[str, _Compute] = {
    "aten.lt.Scalar": lambda builder, _, values: builder.compare("lt", *values),
    "aten.where.self": lambda _, __, values: arith.select(*values),
    "prims.convert_element_type.default": lambda builder, element, values: builder.convert(values[0], element),
}
_RULES = {**_ARITHMETIC, **_BITS, **_OTHERS}
_WORDS = (torch.int32, torch.int64)


@dataclass
class _Run:
    """Nodes that follow one another, with those that none of them needs between them."""

    line: Any
    shape: list[int]
    """Of all that have dims."""
    nodes: list[Any] = field(default_factory=list)
    places: dict[Any, ir.Location] = field(default_factory=dict)
    """Of each node, once it is its turn."""

    @property
    def results(self) -> list[Any]:
        """The nodes that others need."""
        own = set(self.nodes)
        return [node for node in self.nodes if any(user not in own for user in node.users)]


@dataclass(frozen=True)
class _Member:
    """What emits a node of a run: the last of them all of it, the others nothing."""

    run: _Run

    def __call__(self, emitter: Emitter, node: Any) -> Any:
        self.run.places[node] = ir.Location.current
        emitter.normalised.append(f"{node.name} = {_call(node)}")
        if node is not self.run.nodes[-1]:
            return None
        results = _emit(emitter, self.run)
        emitter.fused = True
        emitter.values.update(results)
        return results.get(node)


def plan(emitter: Emitter, graph: Any) -> dict[Any, Handler]:
    """What emits the nodes of the long runs of a graph."""
    found = [run for run in _runs(emitter, graph) if len(run.nodes) >= SHORTEST and _whole(emitter, run)]
    return {node: _Member(run) for run in found for node in run.nodes}


def _runs(emitter: Emitter, graph: Any) -> list[_Run]:
    """A run ends before a node that needs one of its own, and where the line or the shape is another."""
    runs: list[_Run] = []
    open_run: _Run | None = None
    for node in graph.nodes:
        shape = _shape(emitter, node)
        if shape is None:
            if open_run is not None and not {*node.all_input_nodes, *_operands(node)}.isdisjoint(open_run.nodes):
                open_run = None
            continue
        line = emitter.source_of(node)
        if open_run is not None and not open_run.shape and line == open_run.line:
            open_run.shape = shape
        if open_run is None or line != open_run.line or (shape and shape != open_run.shape):
            open_run = _Run(line, shape)
            runs.append(open_run)
        open_run.nodes.append(node)
    return runs


def _whole(emitter: Emitter, run: _Run) -> bool:
    """Whether all that others need of a run has its shape, and all that it needs can be broadcast to it."""
    own = set(run.nodes)
    needed = {operand for node in run.nodes for operand in _operands(node)} - own
    fit = all(_fits(emitter.shape_of(operand), run.shape) for operand in needed)
    return fit and bool(run.results) and all(emitter.shape_of(node) == run.shape for node in run.results)


def _fits(own: Sequence[int], shape: Sequence[int]) -> bool:
    same = len(own) == len(shape) and all(size in (1, wanted) for size, wanted in zip(own, shape, strict=True))
    return same or not own


def _shape(emitter: Emitter, node: Any) -> list[int] | None:
    """The shape of a node that can be part of a run; None for others."""
    if node.op != "call_function" or private.target_name(node.target) not in _RULES or not _computed_here(node):
        return None
    try:
        return emitter.shape_of(node)
    except UnsupportedError:
        return None


def _computed_here(node: Any) -> bool:
    name, result = private.target_name(node.target), node.meta.get("val")
    rule = handler_for(name)
    if not isinstance(result, torch.Tensor) or (rule and not rule.__module__.startswith("irwidget.helion.")):
        return False
    args, kwargs = restored_arguments(node)
    dtypes = [_dtype(argument) for argument in args[: 1 if name in _BY_DTYPE else None]]
    if kwargs or None in dtypes or any(dtype in WIDER for dtype in (*dtypes, result.dtype)):
        return False
    kinds = {dtype for dtype in dtypes if isinstance(dtype, torch.dtype)}
    if name in _BY_DTYPE:
        return kinds <= {*_WORDS, torch.float32} and result.dtype in (*_WORDS, torch.float32)
    if name == "aten.lt.Scalar":
        return kinds <= {*_WORDS} and isinstance(args[1], int)
    if name == "aten.where.self":
        return dtypes[0] == torch.bool and all(dtype == result.dtype for dtype in dtypes[1:])
    if kinds != {result.dtype} or result.dtype not in (_WORDS if name in _BITS else (*_WORDS, torch.float32)):
        return False
    if name.endswith("shift__.Scalar") and not 0 <= args[1] < 8 * result.dtype.itemsize:
        return False
    return result.dtype.is_floating_point or all(not isinstance(argument, float) for argument in args)


_BY_DTYPE = ("prims.convert_element_type.default",)
"""Ops whose other arguments are no operands."""


def _dtype(argument: Any) -> Any:
    """The dtype of a tensor, the type of a number, None for anything else."""
    if isinstance(argument, torch.fx.Node):
        value = argument.meta.get("val")
        return value.dtype if isinstance(value, torch.Tensor) else None
    return type(argument) if type(argument) in (int, float) else None


def _operands(node: Any) -> list[Any]:
    """The nodes among a node's arguments, with those that Helion has taken out."""
    args = restored_arguments(node)[0] if node.op == "call_function" else ()
    return [argument for argument in args if isinstance(argument, torch.fx.Node)]


def _call(node: Any) -> AtenCall:
    """A node as the importer would take it, for the text of the normalised nodes."""
    operands: list[Any] = [*dict.fromkeys(_operands(node))]
    args = [
        TensorOperand(operands.index(argument)) if isinstance(argument, torch.fx.Node) else argument
        for argument in restored_arguments(node)[0]
    ]
    return AtenCall(node.target, tuple(args), {}, ())


def _emit(emitter: Emitter, run: _Run) -> dict[Any, ir.Value]:
    """The values of a run's results."""
    builder, own = emitter.builder, set(run.nodes)
    needed = [*dict.fromkeys(operand for node in run.nodes for operand in _operands(node) if operand not in own)]
    tensors = [emitter.tensor(operand) for operand in needed]
    inputs = [(value, broadcast_dims(list(value.type.shape), run.shape)) for value in tensors]
    elements = [builder.element(node.meta["val"].dtype) for node in run.results]

    def body(arguments: list[ir.Value]) -> list[ir.Value]:
        values = dict(zip(needed, arguments, strict=True))
        for node in run.nodes:
            with run.places[node]:
                values[node] = _computed(builder, node, values)
        return [values[node] for node in run.results]

    return dict(zip(run.results, builder.elementwise(inputs, run.shape, elements, body), strict=True))


def _computed(builder: Builder, node: Any, values: Mapping[Any, ir.Value]) -> ir.Value:
    name, result = private.target_name(node.target), builder.element(node.meta["val"].dtype)
    args = restored_arguments(node)[0][: 1 if name in _BY_DTYPE else None]
    known = [values[argument] for argument in args if isinstance(argument, torch.fx.Node)]
    numbers = known[-1].type  # a number takes the dtype of the tensors beside it
    operands = [values[a] if isinstance(a, torch.fx.Node) else builder.constant(a, numbers) for a in args]
    return _RULES[name](builder, result, operands)
