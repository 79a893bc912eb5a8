"""One ATen call becomes MLIR: a graph of a single node, imported by torch-mlir's FxImporter."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from irwidget import private_torch_mlir
from irwidget.errors import UnsupportedError
from irwidget.helion import decompositions, passes, private
from irwidget.helion.bindings import ir
from irwidget.helion.builder import Builder
from irwidget.helion.inline import splice
from irwidget.private_torch import FakeTensorMode, OpOverload, disable_current_modes


@dataclass(frozen=True)
class TensorOperand:
    """The place of a tensor operand among an ATen call's arguments."""

    position: int

    def __repr__(self) -> str:
        return f"%{self.position}"


@dataclass(frozen=True)
class AtenCall:
    """An ATen call: literals in their places, tensors as operands with their dtypes."""

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    operands: tuple[tuple[ir.Value, torch.dtype], ...]

    def filled(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments and keyword arguments with `values` for the operands."""

        def fill(value: Any) -> Any:
            if isinstance(value, TensorOperand):
                return values[value.position]
            return [fill(item) for item in value] if isinstance(value, (list, tuple)) else value

        return tuple(fill(a) for a in self.args), {name: fill(value) for name, value in self.kwargs.items()}

    def __str__(self) -> str:
        shown = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"{self.target}({', '.join(shown)})"


@dataclass(frozen=True)
class _ImportedFunction:
    function: ir.Operation
    inputs: tuple[ir.Type, ...]
    dtypes: tuple[torch.dtype, ...]
    shapes: tuple[tuple[int, ...], ...]
    ops: frozenset[str]


class _Fakes:
    """Tensors without data and what calls on them return; both are the same for every kernel."""

    LIMIT = 4096
    """Calls that are remembered."""

    def __init__(self) -> None:
        with disable_current_modes():
            self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.tensors: dict[tuple[tuple[int, ...], torch.dtype], torch.Tensor] = {}
        self.results: dict[str, Any] = {}

    def tensor(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        if (shape, dtype) not in self.tensors:
            with disable_current_modes(), self.mode:
                self.tensors[shape, dtype] = torch.empty(shape, dtype=dtype)
        return self.tensors[shape, dtype]

    def remember(self, key: str, result: Any) -> None:
        if len(self.results) >= self.LIMIT:
            self.results.clear()
            self.tensors.clear()
        self.results[key] = result


@functools.cache
def _fakes() -> _Fakes:
    return _Fakes()


class _Imports:
    """Calls that have been imported into a context, as functions of one module."""

    def __init__(self, context: ir.Context) -> None:
        self.importer = private_torch_mlir.importer().FxImporter(context=context)
        self.functions: dict[str, _ImportedFunction] = {}
        self.count = 0

    def add(self, graph: torch.fx.Graph) -> Any:
        """Import a graph as a function of a name of its own."""
        self.count += 1
        return self.importer.import_stateless_graph(graph, func_name=f"node{self.count}").operation


def _never_changes(target: Any) -> bool:
    """Whether an op is PyTorch's own: one of the user's may be defined anew under its name."""
    return isinstance(target, OpOverload) and target.namespace in ("aten", "prims")


class AtenImporter:
    """Imports ATen calls raw into the context of the module they are meant for.

    Equal calls (target, shapes, dtypes, literals) are imported once and copied: PyTorch's own for all kernels of
    the thread's context, others for one kernel.
    """

    LIMIT = 4096
    """Calls that a context keeps."""

    def __init__(self, context: ir.Context) -> None:
        self.context = context
        self.imported = 0
        """How many calls have been spliced in."""
        self.ops: set[str] = set()
        """The names of the torch dialect's ops among them."""
        kept = passes.kept(context)
        if "imports" not in kept or kept["imports"].count >= self.LIMIT:
            kept["imports"] = _Imports(context)
        self._imports: _Imports = kept["imports"]
        self._own: dict[str, _ImportedFunction] = {}
        self._origin: dict[ir.Value, ir.Value] = {}

    def call(self, builder: Builder, call: AtenCall) -> list[tuple[ir.Value, torch.dtype]]:
        """Splice a call in at the current place. Returns its results, as builtin tensors with their dtypes.

        Raises:
            UnsupportedError: PyTorch or the importer refuses the call.
        """
        if (constant := self._of_nothing(builder, call)) is not None:
            return constant
        made = self._import(call)
        inputs: list[ir.Value] = []
        for (value, _), kind in zip(call.operands, made.inputs, strict=True):
            known = self._origin.get(value)
            if known is not None and known.type == kind:
                inputs.append(known)
            else:
                inputs.append(_adapter("torch_c.from_builtin_tensor", value, kind))
        results = splice(made.function, inputs, ir.InsertionPoint.current, ir.Location.current)
        self.imported += 1
        self.ops |= made.ops
        out: list[tuple[ir.Value, torch.dtype]] = []
        for result, dtype, shape in zip(results, made.dtypes, made.shapes, strict=True):
            kind = builder.tensor_type(shape, builder.element(dtype))
            value = _adapter("torch_c.to_builtin_tensor", result, kind)
            self._origin[value] = result
            out.append((value, dtype))
        return out

    def _of_nothing(self, builder: Builder, call: AtenCall) -> list[tuple[ir.Value, torch.dtype]] | None:
        """The results of a call on tensors that have no elements, for which not all output types have an op.

        A sum or product of nothing is the same number everywhere. None for other calls.
        """
        shapes = [tuple(value.type.shape) for value, _ in call.operands]
        if not shapes or not all(0 in shape for shape in shapes) or not _never_changes(call.target):
            return None
        with private.suppressed_logs(), disable_current_modes():
            numbers = _same_everywhere(call, [(s, d) for s, (_, d) in zip(shapes, call.operands, strict=True)])
        if numbers is None:
            return None
        results: list[tuple[ir.Value, torch.dtype]] = []
        for number, shape, dtype in numbers:
            scalar = builder.constant(number, builder.element(dtype))
            results.append((builder.fill(scalar, shape) if shape else builder.from_scalar(scalar), dtype))
        return results

    def _import(self, call: AtenCall) -> _ImportedFunction:
        shapes = [(tuple(value.type.shape), str(dtype)) for value, dtype in call.operands]
        default = torch.get_default_dtype()  # of what integers are divided into, for one
        key = repr((str(call.target), call.args, sorted(call.kwargs.items()), shapes, default))
        functions = self._imports.functions if _never_changes(call.target) else self._own
        if key not in functions:
            inputs = [self.fake(shape, call.operands[i][1]) for i, (shape, _) in enumerate(shapes)]
            functions[key] = self._import_new(call, inputs, key)
        return functions[key]

    def fake(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """A tensor without data."""
        return _fakes().tensor(tuple(shape), dtype)

    def run_fake(self, call: AtenCall, inputs: Sequence[torch.Tensor]) -> Any:
        """What the call returns, without data.

        Raises:
            UnsupportedError: PyTorch refuses the call for these shapes and dtypes.
        """
        args, kwargs = call.filled(inputs)
        try:
            with private.suppressed_logs(), disable_current_modes(), _fakes().mode:
                return call.target(*args, **kwargs)
        except Exception as error:
            raise UnsupportedError(f"PyTorch refuses {call}: {type(error).__name__}: {error}") from error

    def _import_new(self, call: AtenCall, inputs: Sequence[torch.Tensor], key: str) -> _ImportedFunction:
        result = _fakes().results.get(key)
        if result is None:
            result = self.run_fake(call, inputs)
            if _never_changes(call.target):
                _fakes().remember(key, result)
        graph = _decomposed(call, inputs) or single_node_graph(call, inputs, result)
        try:
            function = self._imports.add(graph)
        except Exception as error:
            raise UnsupportedError(f"torch-mlir cannot import {call}: {type(error).__name__}: {error}") from error
        results = [result] if isinstance(result, torch.Tensor) else list(result)
        return _ImportedFunction(
            function,
            tuple(argument.type for argument in function.regions[0].blocks[0].arguments),
            tuple(r.dtype for r in results),
            tuple(tuple(int(s) for s in r.shape) for r in results),
            frozenset(view.operation.name for view in function.regions[0].blocks[0].operations),
        )


def _same_everywhere(
    call: AtenCall, inputs: Sequence[tuple[tuple[int, ...], torch.dtype]]
) -> list[tuple[float, list[int], torch.dtype]] | None:
    """The number that each result of a call is filled with, its shape and dtype; None where there is no one number."""
    args, kwargs = call.filled([torch.empty(shape, dtype=dtype) for shape, dtype in inputs])
    try:
        made = call.target(*args, **kwargs)
    except Exception:
        return None  # the import refuses it, and names the call
    found: list[tuple[float, list[int], torch.dtype]] = []
    for result in [made] if isinstance(made, torch.Tensor) else list(made):
        numbers = result.double().flatten()
        if not torch.allclose(numbers, numbers[:1], rtol=0, atol=0, equal_nan=True):
            return None
        found.append((numbers[0].item() if len(numbers) else 0, list(result.shape), result.dtype))
    return found


def _adapter(name: str, value: ir.Value, result: ir.Type) -> ir.Value:
    """An op of the torch_c dialect, which has no builders in Python, between torch's tensors and MLIR's own."""
    return ir.Operation.create(name, [result], [value]).result


def _decomposed(call: AtenCall, inputs: Sequence[torch.Tensor]) -> torch.fx.Graph | None:
    """A graph of several nodes for a call that torch-mlir does not lower well."""
    function = decompositions.decomposition(call.target, dict(call.kwargs), inputs)
    if function is None:
        return None

    def run(*values: torch.Tensor) -> torch.Tensor:
        args, kwargs = call.filled(values)
        return function(*args, **kwargs)

    with disable_current_modes(), _fakes().mode:
        return decompositions.trace(run, inputs)


def single_node_graph(call: AtenCall, inputs: Sequence[torch.Tensor], result: Any) -> torch.fx.Graph:
    """A graph with a placeholder for each input, the call, and an output; tuple results through `getitem`."""
    import operator

    graph = torch.fx.Graph()
    placeholders: list[torch.fx.Node] = []
    for position, fake in enumerate(inputs):
        node = graph.placeholder(f"arg{position}")
        node.meta["val"] = fake
        placeholders.append(node)

    node = graph.call_function(call.target, *call.filled(placeholders))
    node.meta["val"] = result if isinstance(result, torch.Tensor) else tuple(result)
    if isinstance(result, torch.Tensor):
        graph.output((node,))
        return graph
    items: list[torch.fx.Node] = []
    for position, fake in enumerate(result):
        item = graph.call_function(operator.getitem, (node, position))
        item.meta["val"] = fake
        items.append(item)
    graph.output(tuple(items))
    return graph
