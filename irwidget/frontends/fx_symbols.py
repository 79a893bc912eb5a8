"""Sizes that are known at run time only: what programs compute of them and torch-mlir's importer has no word for."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch_mlir
from irwidget.private_torch import statically_known_true
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
        make = _MADE.get(node.target)
        found = make(self, loc, node.target, node.args) if make else None
        if found is None:
            return False
        self.bind(node, [found], several=False)
        return True

    def of_truths(self, loc: Any, target: Any, args: Sequence[Any]) -> Any:
        """By their sum, which is not zero where one is true, or their product."""
        if not all(isinstance(_value(one), torch.SymBool) for one in args):
            return None
        operands = tuple(self._of_integers("torch.aten.Int.bool", loc, self.argument(loc, one)) for one in args)
        number = self._of_integers(_TRUTHS[target], loc, *operands) if _TRUTHS[target] else operands[0]
        name = "torch.aten.ne.int" if _TRUTHS[target] else "torch.aten.eq.int"
        return operation(name, [self.types.torch_bool_type], [number, self.integer(0, loc)], loc)

    def of_integers(self, loc: Any, target: Any, args: Sequence[Any]) -> Any:
        """The larger, the smaller or the remainder of two."""
        if not _are_integers(args):
            return None
        operands = tuple(self._operand(one, loc) for one in args)
        if target is operator.mod:
            return self._remainder(loc, *operands)
        return self._of_integers(_INTEGERS[target], loc, *operands)

    def power(self, loc: Any, target: Any, args: Sequence[Any]) -> Any:
        """A small one of an integer, or a root."""
        base, exponent = args
        if isinstance(_value(base), torch.SymInt) and exponent in range(1, _MOST + 1):
            product = functools.partial(self._of_integers, "torch.aten.mul.int", loc)
            return functools.reduce(product, [self._operand(base, loc)] * exponent)
        if exponent == 0.5 and _is_float_of_integer(base):
            return operation(
                "torch.aten.sqrt.int", [self.types.torch_float_type], [self._operand(base.args[0], loc)], loc
            )
        return None

    def whole(self, loc: Any, target: Any, args: Sequence[Any]) -> Any:
        """The integer above a float, below it, or nearer to zero."""
        (number,) = args
        if not isinstance(_value(number), torch.SymFloat):
            return None
        if target is not math.ceil and _is_quotient(number) and (target is math.floor or _is_no_less_than_zero(number)):
            operands = (self._operand(one, loc) for one in number.args)
            return self._of_integers("torch.aten.floordiv.int", loc, *operands)
        value = self.argument(loc, number)
        if target is math.ceil:
            return self._above(loc, value)
        below = self._below(loc, value)
        if target is math.floor or _is_no_less_than_zero(number):
            return below
        zero = self.integer(0, loc)
        parts = ((_INTEGERS[max], below), (_INTEGERS[min], self._above(loc, value)))  # one of them is zero
        return self._of_integers(
            "torch.aten.add.int", loc, *(self._of_integers(one, loc, of, zero) for one, of in parts)
        )

    def _above(self, loc: Any, value: Any) -> Any:
        return self._of_integers("torch.aten.ceil.float", loc, value)

    def _below(self, loc: Any, value: Any) -> Any:
        negated = operation("torch.aten.neg.float", [self.types.torch_float_type], [value], loc)
        return self._negated(loc, self._above(loc, negated))

    def absolute(self, loc: Any, target: Any, args: Sequence[Any]) -> Any:
        """Without the sign."""
        if not _are_integers(args):
            return None
        one = self.argument(loc, args[0])
        return self._of_integers("torch.prim.max.int", loc, one, self._negated(loc, one))

    def number(self, loc: Any, node: Any, value: torch.SymInt | torch.SymFloat) -> Any:
        """A tensor of no dimension of what is computed of sizes."""
        kind = torch.int64 if isinstance(value, torch.SymInt) else torch.get_default_dtype()
        made = self.types.create_vtensor_type(kind, ())
        return operation("torch.prim.NumToTensor.Scalar", [made], [self.argument(loc, node)], loc)

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

    def _negated(self, loc: Any, one: Any) -> Any:
        return self._of_integers("torch.aten.sub.int", loc, self.integer(0, loc), one)


_TRUTHS = {operator.or_: "torch.aten.add.int", operator.and_: "torch.aten.mul.int", operator.not_: ""}
_INTEGERS: dict[Any, str] = {max: "torch.prim.max.int", min: "torch.prim.min.int"}
_MADE: dict[Any, Any] = {
    **dict.fromkeys(_TRUTHS, SymbolImporter.of_truths),
    **dict.fromkeys((*_INTEGERS, operator.mod), SymbolImporter.of_integers),
    operator.pow: SymbolImporter.power,
    **dict.fromkeys((math.ceil, math.floor, math.trunc), SymbolImporter.whole),
    operator.abs: SymbolImporter.absolute,
}
"""By function."""


def _value(one: Any) -> Any:
    return one.meta.get("val") if isinstance(one, torch.fx.Node) else one


def _are_integers(args: Sequence[Any]) -> bool:
    return all(isinstance(_value(one), int | torch.SymInt) for one in args)


def _is_float_of_integer(one: Any) -> bool:
    """Whether a value is the float that an integer has become."""
    return isinstance(one, torch.fx.Node) and one.target is _FLOAT and isinstance(_value(one.args[0]), torch.SymInt)


def _is_quotient(one: Any) -> bool:
    """Whether a value is the quotient of two integers."""
    of_two = isinstance(one, torch.fx.Node) and one.target is operator.truediv
    return of_two and _are_integers(one.args)


def _is_no_less_than_zero(one: Any) -> bool:
    return statically_known_true(_value(one) >= 0)
