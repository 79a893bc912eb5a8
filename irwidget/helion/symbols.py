"""Which of Helion's symbols are numbers, and which exist only at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irwidget.helion import private
from irwidget.helion.bound import Binding

Number = int | float | bool


def expression(value: Any) -> Any:
    """The sympy expression of a SymInt, SymFloat, SymBool, number or expression."""
    import sympy

    if isinstance(value, (sympy.Basic, sympy.logic.boolalg.Boolean)):
        return value
    return private.expression_of(value) if hasattr(value, "node") else sympy.sympify(value)


def static_value(binding: Binding, value: Any, sizes: Mapping[int, int] | None = None) -> Number | None:
    """The number that `value` stands for, or None when it is known only at run time.

    Call inside `binding.entered()`.
    """
    import sympy

    if value is None or isinstance(value, (bool, int, float)):
        return value
    if not (isinstance(value, sympy.Basic) or hasattr(value, "node")):
        return None
    expr = binding.env.specialize_expr(expression(value))
    replacements: dict[Any, Number] = {}
    for symbol in expr.free_symbols:
        number = symbol_value(binding, symbol, binding.block_sizes if sizes is None else sizes)
        if number is None:
            return None
        replacements[symbol] = number
    return as_number(expr.xreplace({s: sympy.sympify(n) for s, n in replacements.items()}))


def as_number(expr: Any) -> Number | None:
    """A closed sympy expression as a Python number."""
    import sympy

    if expr in (sympy.true, sympy.false):
        return bool(expr)
    try:
        value = expr.doit() if hasattr(expr, "doit") else expr
        if value.is_integer or isinstance(value, sympy.Integer):
            return int(value)
        return float(value)
    except TypeError:
        return None


def symbol_value(binding: Binding, symbol: Any, sizes: Mapping[int, int]) -> Number | None:
    """The number a symbol stands for: a tile size, a size of an argument, a tunable; None where it stays open."""
    origins = private.origins()
    origin = private.origin_of(binding.host, symbol)
    if isinstance(origin, origins.BlockSizeOrigin):
        return sizes.get(origin.block_id)
    if isinstance(origin, origins.GridOrigin):
        return None
    tunable = private.tunable(binding.env, symbol)
    if tunable is not None:
        return tunable.evaluate(binding.config)
    shape_env = binding.env.shape_env
    for block in binding.env.block_sizes:
        if block.symbol() == symbol:
            return sizes.get(block.block_id)
    if symbol in binding.free or shape_env.is_unbacked_symint(symbol):
        return None
    known = private.backed_values(shape_env).get(symbol)
    return None if known is None else as_number(known)


def extent(binding: Binding, block_id: int) -> int | None:
    """How many lanes of a reduction block exist; None for a tile's block, or where only run time knows."""
    info = binding.env.block_sizes[block_id]
    value = static_value(binding, info.size) if info.reduction else None
    return None if value is None else int(value)


def padded_size(binding: Binding, size: int) -> int:
    """The size of the tile that holds a full dim of `size` elements: larger where Helion padded it."""
    for info in binding.env.block_sizes:
        if info.reduction and extent(binding, info.block_id) == size:
            return binding.block_sizes.get(info.block_id, size)
    return size
