"""Sizes that are known at run time only: what programs compute of them and torch-mlir's importer has no word for."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch_mlir
from irwidget.toolchain import mlir

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_NodeImporter: Any = private_torch_mlir.node_importer()
_FLOAT: Any = torch.ops.aten.Float.Scalar
_KNOWN: dict[Any, Any] = {
    torch.sym_max: max,
    torch.sym_min: min,
    torch.sym_not: operator.not_,
    torch.sym_float: _FLOAT,
}
"""Functions that the importer takes for those of symbols."""
_MOST = 8
"""The greatest power that is taken apart."""


def name_functions(program: ExportedProgram) -> None:
    """Call the functions of symbols as the importer looks for them; the program is changed."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if node.op == "call_function":
                node.target = _KNOWN.get(node.target, node.target)


def operation(name: str, results: Sequence[Any], operands: Sequence[Any], loc: Any) -> Any:
    """The first result of a new operation."""
    return mlir.ir.Operation.create(name, results=results, operands=operands, loc=loc).results[0]


class SymbolImporter(_NodeImporter):
    """The importer of a graph's nodes, with these functions of symbols."""

    def symbol(self, loc: Any, node: Any) -> bool:
        """Whether a node is one of them, which it is bound to then."""
        values = [_value(one) for one in node.args]
        if node.target in _TRUTHS and all(isinstance(one, torch.SymBool) for one in values):
            found = self._of_truths(node.target, loc, *(self.argument(loc, one) for one in node.args))
        elif node.target in _INTEGERS and all(isinstance(one, int | torch.SymInt) for one in values):
            found = self._of_integers(_INTEGERS[node.target], loc, *(self._operand(one, loc) for one in node.args))
        elif node.target is operator.mod and all(isinstance(one, int | torch.SymInt) for one in values):
            found = self._remainder(loc, *(self._operand(one, loc) for one in node.args))
        elif node.target is operator.pow and isinstance(values[0], torch.SymInt) and values[1] in range(1, _MOST + 1):
            product = functools.partial(self._of_integers, "torch.aten.mul.int", loc)
            found = functools.reduce(product, [self._operand(node.args[0], loc)] * values[1])
        elif node.target is operator.pow and values[1] == 0.5 and _is_integers(node.args[0]):
            root = self._operand(node.args[0].args[0], loc)
            found = operation("torch.aten.sqrt.int", [self.types.torch_float_type], [root], loc)
        elif node.target is math.ceil and isinstance(values[0], torch.SymFloat):
            found = self._of_integers("torch.aten.ceil.float", loc, self.argument(loc, node.args[0]))
        elif node.target is operator.abs and isinstance(values[0], torch.SymInt):
            one = self.argument(loc, node.args[0])
            other = self._of_integers("torch.aten.sub.int", loc, self.integer(0, loc), one)
            found = self._of_integers("torch.prim.max.int", loc, one, other)
        elif node.target is math.floor and _is_quotient(node.args[0]):
            found = self._of_integers(
                "torch.aten.floordiv.int", loc, *(self._operand(one, loc) for one in node.args[0].args)
            )
        else:
            return False
        self.bind(node, [found], several=False)
        return True

    def integer(self, value: int, loc: Any) -> Any:
        """A number that is known."""
        return self.constant("torch.constant.int", self.types.integer_attr(value, 64), self.types.torch_int_type, loc)

    def constant(self, name: str, value: Any, kind: Any, loc: Any) -> Any:
        """The SSA value of an attribute."""
        attributes = {"value": value}
        return mlir.ir.Operation.create(name, attributes=attributes, results=[kind], operands=[], loc=loc).results[0]

    def _operand(self, one: Any, loc: Any) -> Any:
        return self.argument(loc, one) if isinstance(one, torch.fx.Node) else self.integer(int(one), loc)

    def _of_integers(self, name: str, loc: Any, *operands: Any) -> Any:
        return operation(name, [self.types.torch_int_type], operands, loc)

    def _remainder(self, loc: Any, one: Any, other: Any) -> Any:
        """With the sign of the divisor, as Python has it; torch-mlir's own has that of what is divided."""
        whole = self._of_integers("torch.aten.floordiv.int", loc, one, other)
        product = self._of_integers("torch.aten.mul.int", loc, whole, other)
        return self._of_integers("torch.aten.sub.int", loc, one, product)

    def _of_truths(self, target: Any, loc: Any, *operands: Any) -> Any:
        """By their sum, which is not zero where one is true, or their product."""
        operands = tuple(self._of_integers("torch.aten.Int.bool", loc, one) for one in operands)
        number = self._of_integers(_TRUTHS[target], loc, *operands) if _TRUTHS[target] else operands[0]
        name = "torch.aten.ne.int" if _TRUTHS[target] else "torch.aten.eq.int"
        return operation(name, [self.types.torch_bool_type], [number, self.integer(0, loc)], loc)


_TRUTHS = {operator.or_: "torch.aten.add.int", operator.and_: "torch.aten.mul.int", operator.not_: ""}
_INTEGERS: dict[Any, str] = {
    max: "torch.prim.max.int",
    min: "torch.prim.min.int",
}


def _value(one: Any) -> Any:
    return one.meta.get("val") if isinstance(one, torch.fx.Node) else one


def _is_integers(one: Any) -> bool:
    """Whether a value is the float that an integer has become."""
    return isinstance(one, torch.fx.Node) and one.target is _FLOAT and isinstance(_value(one.args[0]), torch.SymInt)


def _is_quotient(one: Any) -> bool:
    """Whether a value is the quotient of two integers."""
    of_two = isinstance(one, torch.fx.Node) and one.target is operator.truediv
    return of_two and all(isinstance(_value(part), int | torch.SymInt) for part in one.args)
