"""Run-time numbers: sympy expressions of Helion's symbols as arith ops on `index`, `f64` and `i1`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from irwidget.errors import UnsupportedError
from irwidget.helion import private
from irwidget.helion.bindings import arith, ir, math, tensor
from irwidget.helion.bound import Binding
from irwidget.helion.builder import Builder
from irwidget.helion.dtypes import WIDER, is_float
from irwidget.helion.symbols import as_number, expression, symbol_value
from irwidget.helion.values import TileLoop


class SymbolScope(Protocol):
    """Where numbers are computed: what is known at a place of the kernel."""

    builder: Builder
    binding: Binding
    symbol_values: dict[Any, Any]
    """The values of sympy expressions that have been computed."""

    def static(self, value: Any) -> Any:
        """The number a size or symbol stands for, None when it is known only at run time."""
        ...

    def host_scalar(self, host_expression: str, kind: ir.Type) -> ir.Value:
        """A number of the host function."""
        ...

    def loop_of(self, block_id: int | None) -> TileLoop | None:
        """The loop around this place that runs over a block."""
        ...


_RELATIONS = {
    "Equality": "eq",
    "Unequality": "ne",
    "StrictLessThan": "lt",
    "LessThan": "le",
    "StrictGreaterThan": "gt",
    "GreaterThan": "ge",
}


def scalar(scope: SymbolScope, value: Any) -> Any:
    """A symbolic number as a Python number, or as an SSA value when only run time knows it."""
    number = scope.static(value)
    if number is not None and not _of_open_tiles(scope, value):
        return number
    return emit(scope, scope.binding.env.specialize_expr(expression(value)))


def _of_open_tiles(scope: SymbolScope, value: Any) -> bool:
    """Whether a number depends on tile sizes that are arguments."""
    opened = scope.binding.open_blocks
    if not opened or isinstance(value, (bool, int, float)):
        return False
    symbols = {scope.binding.env.block_sizes[block].symbol() for block in opened}
    return bool(symbols & expression(value).free_symbols)


def emit(scope: SymbolScope, expr: Any) -> Any:
    """A sympy expression as a number or an SSA value of type index, f64 or i1.

    Raises:
        UnsupportedError: a symbol has no value here, or a function no arith op.
    """
    if expr in scope.symbol_values:
        return scope.symbol_values[expr]
    if not getattr(expr, "free_symbols", None):
        number = as_number(expr)
        if number is None:
            raise UnsupportedError(f"the constant {expr} is not a number")
        return number
    if expr.is_Symbol:
        return _symbol(scope, expr)
    origin = private.origin_of(scope.binding.host, expr)
    if origin is not None and origin.is_host():
        integral = scope.builder.index if expr.is_integer else scope.builder.f64
        kind = scope.builder.i1 if expr.is_Boolean else integral
        return scope.host_scalar(origin.host_str(), kind)
    kind = type(expr).__name__
    if kind in _FUNCTIONS:
        return _FUNCTIONS[kind](scope, expr)
    if kind in _RELATIONS:
        left, right = promote(scope, emit(scope, expr.args[0]), emit(scope, expr.args[1]))
        return scope.builder.compare(_RELATIONS[kind], left, right)
    raise UnsupportedError(f"the run-time expression {expr} uses {kind}, which has no arith form")


def _symbol(scope: SymbolScope, symbol: Any) -> Any:
    number = symbol_value(scope.binding, symbol, scope.binding.block_sizes)
    if number is not None:
        return number
    same = scope.binding.env.shape_env.replace(symbol)
    if same != symbol:
        return emit(scope, same)
    origin, origins = private.origin_of(scope.binding.host, symbol), private.origins()
    if origin is None:
        raise UnsupportedError(f"the symbol {symbol} is not bound to a value")
    if isinstance(origin, origins.GridOrigin):
        return tile_property(scope, type(origin).__name__, origin.block_id)
    if isinstance(origin, origins.BlockSizeOrigin):
        raise UnsupportedError(
            f"block size {origin.block_id} is computed on the host and has no number in this configuration"
        )
    if origin.is_host():
        return scope.host_scalar(origin.host_str(), _kind(scope, symbol))
    raise UnsupportedError(f"the symbol {symbol} is not bound to a value")


def _kind(scope: SymbolScope, symbol: Any) -> ir.Type:
    from irwidget.private_torch import SymT, symbol_is_type

    if symbol_is_type(symbol, (SymT.FLOAT, SymT.UNBACKED_FLOAT)):
        return scope.builder.f64
    return scope.builder.index


def tile_property(scope: SymbolScope, name: str, block_id: int) -> Any:
    """Begin, end, extent, count or id of the current tile of a block, by the name of its origin."""
    loop = scope.loop_of(block_id)
    if loop is None:
        raise UnsupportedError(f"no loop over block {block_id} is around this place")
    builder = scope.builder
    match name:
        case "GridOrigin" | "TileBeginOrigin":
            return loop.index
        case "TileEndOrigin":
            return builder.add(loop.index, loop.valid)
        case "TileExtentOrigin":
            return loop.valid
        case "TileIdOrigin":
            one = isinstance(loop.step, int) and loop.step == 1
            return loop.index if one else arith.floordivsi(loop.index, builder.size(loop.step))
        case "TileCountOrigin":
            extent = builder.subtract(loop.end, loop.begin)
            if isinstance(extent, int) and isinstance(loop.step, int):
                return -(-extent // loop.step)
            extent = builder.size(extent)
            return arith.ceildivsi(extent, builder.size(loop.step))
        case _:
            raise UnsupportedError(f"{name} has no value in MLIR")


def promote(scope: SymbolScope, *values: Any) -> list[ir.Value]:
    """SSA values of one type: f64 when any is a float, index otherwise."""
    builder = scope.builder
    floating = any(isinstance(v, float) or (isinstance(v, ir.Value) and is_float(v.type)) for v in values)
    kind = builder.f64 if floating else builder.index
    return [builder.convert(v, kind) if isinstance(v, ir.Value) else builder.constant(v, kind) for v in values]


def arithmetic(scope: SymbolScope, name: str, *operands: Any) -> Any:
    """`add`, `sub`, `mul`, `floordiv`, `mod`, `truediv`, `min`, `max`, a shift or a bitwise op."""
    values = promote(scope, *operands)
    builder = scope.builder
    if name == "truediv":
        values = [builder.convert(v, builder.f64) for v in values]
    floating = is_float(values[0].type)
    if name == "mod":
        return _mod(*values)
    result = functools.reduce((_FLOAT_OPS if floating else _INDEX_OPS)[name], values)
    return math.floor(result) if name == "floordiv" and floating else result


_INDEX_OPS = {
    "add": arith.addi,
    "sub": arith.subi,
    "mul": arith.muli,
    "min": arith.minsi,
    "max": arith.maxsi,
    "floordiv": arith.floordivsi,
    "lshift": arith.shli,
    "rshift": arith.shrsi,
    "and": arith.andi,
    "or": arith.ori,
    "xor": arith.xori,
}
_FLOAT_OPS = {
    "add": arith.addf,
    "sub": arith.subf,
    "mul": arith.mulf,
    "truediv": arith.divf,
    "min": arith.minimumf,
    "max": arith.maximumf,
    "floordiv": arith.divf,
}


def _mod(left: ir.Value, right: ir.Value) -> ir.Value:
    """Python's modulo: the sign of the divisor."""
    if is_float(left.type):
        quotient = math.floor(arith.divf(left, right))
        return arith.subf(left, arith.mulf(quotient, right))
    quotient = arith.floordivsi(left, right)
    return arith.subi(left, arith.muli(quotient, right))


def _folded(name: str) -> Callable[[SymbolScope, Any], Any]:
    return lambda scope, expr: arithmetic(scope, name, *(emit(scope, a) for a in expr.args))


def _power(scope: SymbolScope, expr: Any) -> Any:
    exponent = as_number(expr.args[1])
    if isinstance(exponent, int) and 0 < exponent <= 8:
        base = emit(scope, expr.args[0])
        return arithmetic(scope, "mul", *([base] * exponent)) if exponent > 1 else base
    if exponent == -1:
        return arithmetic(scope, "truediv", 1.0, emit(scope, expr.args[0]))
    raise UnsupportedError(f"the run-time power {expr} has no arith form")


def _ceil_div(scope: SymbolScope, expr: Any) -> ir.Value:
    left, right = promote(scope, *(emit(scope, a) for a in expr.args))
    return arith.ceildivsi(left, right)


def _logic(build: Callable[[ir.Value, ir.Value], ir.Value]) -> Callable[[SymbolScope, Any], Any]:
    return lambda scope, expr: functools.reduce(build, [as_bool(scope, emit(scope, a)) for a in expr.args])


def _not(scope: SymbolScope, expr: Any) -> ir.Value:
    value = as_bool(scope, emit(scope, expr.args[0]))
    return arith.xori(value, scope.builder.constant(1, scope.builder.i1))


def _piecewise(scope: SymbolScope, expr: Any) -> Any:
    result: Any = None
    for choice, condition in reversed(expr.args):
        value = emit(scope, choice)
        if result is None:
            result = value
            continue
        yes, no = promote(scope, value, result)
        result = arith.select(as_bool(scope, emit(scope, condition)), yes, no)
    return result


def _to_float(scope: SymbolScope, expr: Any) -> ir.Value:
    return scope.builder.convert(promote(scope, emit(scope, expr.args[0]))[0], scope.builder.f64)


def _rounded(function: Callable[[ir.Value], ir.Value]) -> Callable[[SymbolScope, Any], Any]:
    """A function of a float that gives a whole number, as an index."""

    def emit_rounded(scope: SymbolScope, expr: Any) -> ir.Value:
        value = promote(scope, emit(scope, expr.args[0]))[0]
        whole = function(value) if is_float(value.type) else value
        return scope.builder.to_index(scope.builder.convert(whole, scope.builder.i64))

    return emit_rounded


def _absolute(scope: SymbolScope, expr: Any) -> ir.Value:
    value = promote(scope, emit(scope, expr.args[0]))[0]
    return math.absf(value) if is_float(value.type) else math.absi(value)


def as_bool(scope: SymbolScope, value: Any) -> ir.Value:
    """A condition as an i1 value; 0-d tensors are read."""
    builder = scope.builder
    if isinstance(value, (bool, int, float)):
        return builder.constant(bool(value), builder.i1)
    if isinstance(value.type, ir.RankedTensorType):
        value = element(scope, value)
    return builder.convert(value, builder.i1)


def element(scope: SymbolScope, value: ir.Value) -> ir.Value:
    """The element of a tensor that has just one.

    Raises:
        UnsupportedError: the tensor has several.
    """
    if any(size != 1 for size in value.type.shape):
        raise UnsupportedError("a condition or bound with several elements is not one number")
    zero = scope.builder.constant(0, scope.builder.index)
    return tensor.extract(value, [zero] * len(value.type.shape))


def as_index(scope: SymbolScope, value: Any, of: Any = None) -> Any:
    """An int, or a value of type index, from a number, an SSA scalar or a 0-d tensor.

    `of` is the node or tensor of the host function that the value is of: its dtype says whether it has a sign.
    """
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, float):
        return int(value)
    if not isinstance(value, ir.Value):
        raise UnsupportedError("a bound or index is a tensor of the host function; take its number there, by .item()")
    if isinstance(value.type, ir.RankedTensorType):
        value = element(scope, value)
    if is_float(value.type):
        value = scope.builder.convert(value, scope.builder.i64)
    dtype: Any = getattr(getattr(of, "meta", {}).get("val", of), "dtype", None)
    if dtype in WIDER:
        value = scope.builder.convert(value, scope.builder.element(WIDER[dtype]), unsigned=True)
    return scope.builder.to_index(value)


_FUNCTIONS: dict[str, Callable[[SymbolScope, Any], Any]] = {
    "Add": _folded("add"),
    "Mul": _folded("mul"),
    "FloorDiv": _folded("floordiv"),
    "CleanDiv": _folded("floordiv"),
    "Mod": _folded("mod"),
    "PythonMod": _folded("mod"),
    "ModularIndexing": lambda e, x: arithmetic(
        e, "mod", arithmetic(e, "floordiv", emit(e, x.args[0]), emit(e, x.args[1])), emit(e, x.args[2])
    ),
    "Min": _folded("min"),
    "Max": _folded("max"),
    "IntTrueDiv": _folded("truediv"),
    "FloatTrueDiv": _folded("truediv"),
    "Pow": _power,
    "PowByNatural": _power,
    "CeilDiv": _ceil_div,
    "CeilToInt": _rounded(math.ceil),
    "FloorToInt": _rounded(math.floor),
    "TruncToInt": _rounded(math.trunc),
    "RoundToInt": _rounded(math.roundeven),
    "Abs": _absolute,
    "And": _logic(arith.andi),
    "Or": _logic(arith.ori),
    "Not": _not,
    "Piecewise": _piecewise,
    "ToFloat": _to_float,
}
