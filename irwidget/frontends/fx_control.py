"""Control flow of PyTorch (`torch.cond`, `while_loop`, `map`, `scan`) as torch-mlir's `prim.If` and `prim.Loop`.

These become `scf`. torch-mlir's importer has `while_loop`, of bodies that use nothing from outside, and refuses the
others. Their bodies are functions of the module by then, which the first pass inlines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch_mlir
from irwidget.frontends.fx_symbols import SymbolImporter, operation
from irwidget.private_torch import pytree
from irwidget.toolchain import mlir

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_Types = Sequence[Any]


class NodeImporter(SymbolImporter):
    """The importer of a graph's nodes, with these higher-order operators."""

    def literal(self, value: Any, info: Any = None) -> Any:
        """Where passes must not know a number, it is read from a vector."""
        if not (self.tracker.opaque and isinstance(value, torch.Tensor) and value.dim() == 0):
            return super().literal(value, info)
        loc = mlir.ir.Location.current
        kind = self.types.create_vtensor_type(value.dtype, value.shape)
        vector = super().literal(value.detach().reshape(1), info)
        zero = self.integer(0, loc)
        return operation("torch.aten.select.int", [kind], [vector, zero, zero], loc)

    def cond(self, loc: Any, node: Any) -> None:
        """`cond(predicate, true, false, operands)`: a `prim.If` that calls one of two functions."""
        predicate, *branches = node.args[:3]
        operands = self._values(loc, node.args[3] if len(node.args) > 3 else ())
        types = self._result_types(node)
        condition = self.argument(loc, predicate)
        if "vtensor" in str(condition.type):
            condition = operation("torch.aten.Bool.Tensor", [self.types.torch_bool_type], [condition], loc)
        branch = mlir.ir.Operation.create("torch.prim.If", results=types, operands=[condition], regions=2, loc=loc)
        for region, function in zip(branch.regions, branches, strict=True):
            with loc:
                block = mlir.ir.Block.create_at_start(region, [])
            with mlir.ir.InsertionPoint(block):
                results = self._call(node, function, operands, types, loc)
                mlir.ir.Operation.create("torch.prim.If.yield", operands=results, loc=loc)
        self._bind(node, branch.results)

    def tensor_list(self, loc: Any, values: Sequence[Any], optional: bool) -> Any:
        """A list of tensors of which some are constants; torch-mlir's takes values of the graph only."""
        with loc:
            operands = [
                self.literal(value) if isinstance(value, torch.Tensor) else self._value_or_none(value, loc)
                for value in values
            ]
        kind = "!torch.list<optional<vtensor>>" if optional else "!torch.list<vtensor>"
        return operation(
            "torch.prim.ListConstruct", [mlir.ir.Type.parse(kind, context=self.mlir_context)], operands, loc
        )

    def while_loop(self, loc: Any, node: Any) -> None:
        """`while_loop(condition, body, carries, others)`: a loop of values that no pass knows (see `has_while`)."""
        condition, function, carries, *more = node.args
        for carried in pytree.tree_leaves(carries):
            if not isinstance(carried, torch.fx.Node):
                raise NotImplementedError(f"while_loop begins with {carried!r}: begin with torch.tensor({carried!r})")
            if carried.op == "call_function" and _is_constant(carried):
                self._hide(carried, loc)
        start, others = self._values(loc, carries), self._values(loc, more[0] if more else ())
        types, truth = self._result_types(node), self.types.create_vtensor_type(torch.bool, ())

        def goes_on(values: Sequence[Any]) -> Any:
            (result,) = self._call(node, condition, [*values, *others], [truth], loc)
            return operation("torch.aten.Bool.Tensor", [self.types.torch_bool_type], [result], loc)

        def body(number: Any, made: list[Any]) -> tuple[Any, list[Any]]:
            results = self._call(node, function, [*made, *others], types, loc)
            return goes_on(results), results

        begins = goes_on(start)
        times = self.integer(torch.iinfo(torch.int64).max, loc)
        self._bind(node, self._prim_loop(times, begins, start, types, body, loc))

    def _hide(self, node: Any, loc: Any) -> None:
        """Add a zero to a value that no pass knows."""
        kind = node.meta["val"]
        if kind.dtype == torch.bool:
            return
        with loc:
            zero = self.literal(torch.zeros((), dtype=kind.dtype))
        value = self.argument(loc, node)
        self.rebind(node, operation("torch.aten.add.Tensor", [value.type], [value, zero, self.integer(1, loc)], loc))

    def map(self, loc: Any, node: Any) -> None:
        """`map_impl(function, slices, others)`: a loop that puts the results of each slice in its place."""
        function, given, others = node.args
        inputs, others = self._values(loc, given), self._values(loc, others)
        types = self._result_types(node)

        def body(number: Any, made: list[Any]) -> list[Any]:
            slices = [self._slice(value, one, number, loc) for value, one in zip(inputs, given, strict=True)]
            rows = self._call(node, function, [*slices, *others], self._rows(node), loc)
            return [self._put(row, value, number, loc) for row, value in zip(rows, made, strict=True)]

        self._bind(node, self._loop(_length(given), self._empty(node.meta["val"], types, loc), types, body, loc))

    def scan(self, loc: Any, node: Any) -> None:
        """`scan(function, carries, slices, others)`: a loop that hands carries on and collects the other results."""
        function, carries, given, *more = node.args
        start = self._values(loc, carries)
        inputs, others = self._values(loc, given), self._values(loc, more[0] if more else ())
        types, count = self._result_types(node), len(start)

        def body(number: Any, made: list[Any]) -> list[Any]:
            slices = [self._slice(value, one, number, loc) for value, one in zip(inputs, given, strict=True)]
            wanted = [*types[:count], *self._rows(node, count)]
            results = self._call(node, function, [*made[:count], *slices, *others], wanted, loc)
            rows = [
                self._put(row, value, number, loc) for row, value in zip(results[count:], made[count:], strict=True)
            ]
            return [*results[:count], *rows]

        begun = [*start, *self._empty(node.meta["val"][count:], types[count:], loc)]
        self._bind(node, self._loop(_length(given), begun, types, body, loc))

    def _values(self, loc: Any, arguments: Sequence[Any]) -> list[Any]:
        return [self.argument(loc, argument) for argument in arguments]

    def _result_types(self, node: Any) -> list[Any]:
        values = pytree.tree_leaves(node.meta["val"])
        if not all(isinstance(value, torch.Tensor) for value in values):
            raise NotImplementedError(f"a result of {node.name} is no tensor: return tensors from its functions")
        return [self.types.value_info_to_type(value) for value in values]

    def _rows(self, node: Any, first: int = 0) -> list[Any]:
        """The types of one slice of the results."""
        values = pytree.tree_leaves(node.meta["val"])[first:]
        return [self.types.create_vtensor_type(value.dtype, value.shape[1:]) for value in values]

    def _call(self, node: Any, function: Any, operands: Sequence[Any], types: _Types, loc: Any) -> list[Any]:
        """Call the function that a graph of its own has become."""
        module = getattr(node.graph.owning_module, function.target)
        name = self.function_name(module)
        callee = {"callee": mlir.ir.FlatSymbolRefAttr.get(name, context=self.mlir_context)}
        made = mlir.ir.Operation.create("func.call", attributes=callee, results=types, operands=operands, loc=loc)
        return list(made.results)

    def _loop(
        self, length: int, start: Sequence[Any], types: _Types, body: Callable[[Any, list[Any]], list[Any]], loc: Any
    ) -> list[Any]:
        """`for number in range(length): values = body(number, values)`; the last values."""

        def always(number: Any, values: list[Any]) -> tuple[Any, list[Any]]:
            made = body(number, values)
            return self._true(loc), made

        begins = self._true(loc)
        return self._prim_loop(self.integer(length, loc), begins, start, types, always, loc)

    def _prim_loop(
        self,
        times: Any,
        begins: Any,
        start: Sequence[Any],
        types: _Types,
        body: Callable[[Any, list[Any]], tuple[Any, list[Any]]],
        loc: Any,
    ) -> list[Any]:
        """At most so many times, if it `begins`: `goes_on, values = body(number, values)`; the last values."""
        loop = mlir.ir.Operation.create(
            "torch.prim.Loop", results=types, operands=[times, begins, *start], regions=1, loc=loc
        )
        with loc:
            block = mlir.ir.Block.create_at_start(loop.regions[0], [self.types.torch_int_type, *types])
        with mlir.ir.InsertionPoint(block):
            number, *values = list(block.arguments)
            goes_on, made = body(number, values)
            mlir.ir.Operation.create("torch.prim.Loop.condition", operands=[goes_on, *made], loc=loc)
        return list(loop.results)

    def _true(self, loc: Any) -> Any:
        return self.constant("torch.constant.bool", mlir.ir.BoolAttr.get(True), self.types.torch_bool_type, loc)

    def _value_or_none(self, value: Any, loc: Any) -> Any:
        return self._none(loc) if value is None else self.argument(loc, value)

    def _none(self, loc: Any) -> Any:
        return operation("torch.constant.none", [mlir.ir.Type.parse("!torch.none", context=self.mlir_context)], [], loc)

    def _slice(self, value: Any, node: Any, number: Any, loc: Any) -> Any:
        kind = node.meta["val"]
        result = self.types.create_vtensor_type(kind.dtype, kind.shape[1:])
        return operation("torch.aten.select.int", [result], [value, self.integer(0, loc), number], loc)

    def _put(self, row: Any, whole: Any, number: Any, loc: Any) -> Any:
        return operation("torch.aten.select_scatter", [whole.type], [whole, row, self.integer(0, loc), number], loc)

    def _empty(self, values: Any, types: _Types, loc: Any) -> list[Any]:
        """Tensors to be filled."""
        return [self._zeros(value, kind, loc) for value, kind in zip(pytree.tree_leaves(values), types, strict=True)]

    def _zeros(self, value: torch.Tensor, kind: Any, loc: Any) -> Any:
        sizes = [self.integer(int(size), loc) for size in value.shape]
        of_sizes = mlir.ir.Type.parse("!torch.list<int>", context=self.mlir_context)
        shape = operation("torch.prim.ListConstruct", [of_sizes], sizes, loc)
        dtype = self.integer(private_torch_mlir.importer().TORCH_DTYPE_TO_INT[value.dtype], loc)
        none = self._none(loc)
        return operation("torch.aten.zeros", [kind], [shape, dtype, none, none, none], loc)

    def _bind(self, node: Any, results: Sequence[Any]) -> None:
        self.bind(node, results, several=not isinstance(node.meta["val"], torch.Tensor))


def has_while(program: ExportedProgram) -> bool:
    """Whether a program has a `while_loop`.

    convert-torch-to-scf makes an endless `scf.for` of one whose first condition it knows to be true: it must not know
    the numbers that a loop begins with (torch-mlir 20261001; the check of a loop finds it).
    """
    graphs = (module.graph for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule))
    return any(str(node.target) == "while_loop" for graph in graphs for node in graph.nodes)


def _is_constant(node: Any) -> bool:
    """Whether a value is computed of constants alone."""
    left, seen = [node], {node}
    while left:
        for one in left.pop().all_input_nodes:
            if one.op != "call_function":
                return False
            if one not in seen:
                seen.add(one)
                left.append(one)
    return True


def _length(inputs: Sequence[Any]) -> int:
    length = inputs[0].meta["val"].shape[0] if inputs else 0
    if not isinstance(length, int) or not length:
        raise NotImplementedError("map and scan need a first dimension of static size, of at least one")
    return length
