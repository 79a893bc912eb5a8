"""PyTorch's private names around `torch.export`: its decompositions, found sooner, and the symbols of sizes.

As `irwidget.private_torch`, of which it is a part.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_EXPORTED: WeakKeyDictionary[Any, tuple[int, dict[Any, Any]]] = WeakKeyDictionary()
"""How many guards there were of the symbols of a program, and their ranges, before it was first decomposed."""


def decomposed(program: ExportedProgram, table: Mapping[Any, Callable[..., Any]]) -> ExportedProgram:
    """`program.run_decompositions(table)`; a small model is exported in two thirds of the time by that.

    Torch goes through all its composite operators for each program: finds them in C++ once for every namespace of
    operators, and gives each twenty kernels by a function that evaluates its own annotations.
    """
    for size in _symbols(program).values():
        environment = size.node.shape_env
        _EXPORTED.setdefault(environment, (len(environment.guards), dict(environment.var_to_range)))
    with _composites_found_once(), _kernels_given_quickly():
        return program.run_decompositions(dict(table))


def default_decompositions() -> dict[Any, Callable[..., Any]]:
    """All that `torch.export.default_decompositions()` has, which it finds as `decomposed` says."""
    import torch

    with _composites_found_once():
        return dict(torch.export.default_decompositions().items())


@contextlib.contextmanager
def _composites_found_once() -> Generator[None]:
    """While it lasts, operators that C++ has are looked up in `torch.ops` the first time only."""
    from torch._export import utils

    given: Any = utils
    find = given._materialize_cpp_cia_ops
    given._materialize_cpp_cia_ops = functools.cache(find)
    try:
        yield
    finally:
        given._materialize_cpp_cia_ops = find


@contextlib.contextmanager
def _kernels_given_quickly() -> Generator[None]:
    """While it lasts, `operator.py_impl(key)(kernel)` does what it did for a dispatch key, and no more."""
    from torch import _ops as operators

    given: Any = operators.OperatorBase  # pyright: ignore[reportPrivateImportUsage]
    kind, before = operators.DispatchKey, given.py_impl  # pyright: ignore[reportPrivateImportUsage]

    def py_impl(operator: Any, key: Any) -> Callable[[Any], Any]:
        def give(kernel: Any) -> Any:
            operator.py_kernels[key] = kernel
            operator._dispatch_cache.clear()
            return kernel

        plain = isinstance(key, kind) and key != kind.Python and key not in operator.py_kernels
        return give if plain else before(operator, key)

    given.py_impl = py_impl
    try:
        yield
    finally:
        given.py_impl = before


def other_sizes(
    shapes: Sequence[Sequence[Any]], given: Sequence[Sequence[int]], step: int, *, guarded: bool = False
) -> list[list[int]] | None:
    """Sizes of shapes with symbols for other numbers than are given, within the symbols' ranges; None where none are.

    `step` says how far away: with one below zero they are smaller, not below 2. `guarded`: all that tracing and
    compiling have taken the symbols to be holds for them, too; such are looked for further away.
    """
    import torch

    pairs = [pair for shape, sizes in zip(shapes, given, strict=True) for pair in zip(shape, sizes, strict=True)]
    numbers = _symbols_of(pairs)
    if not numbers:
        return None
    environment = next(size.node.shape_env for size, _ in pairs if isinstance(size, torch.SymInt))
    guards = [environment.replace(guard.expr) for guard in environment.guards] if guarded else []
    ranges = _EXPORTED.get(environment, (0, environment.var_to_range))[1]  # decompositions ask, and make it smaller

    def fits(sizes: Mapping[Any, int]) -> bool:
        within = all(
            size == numbers[one] or max(ranges[one].lower, 2) <= size <= ranges[one].upper
            for one, size in sizes.items()
        )
        return within and all(guard.xreplace(sizes) == True for guard in guards)  # noqa: E712

    found = dict(numbers)
    for i, (symbol, number) in enumerate(numbers.items()):
        away = step + i * (step > 0)
        tried = _further(number, away) if guarded else [number + away]
        found[symbol] = next((size for size in tried if fits({**found, symbol: size})), number)
    if found == numbers and guarded:  # those that hang together
        found = {symbol: number * 2 if step > 0 else number // 2 for symbol, number in numbers.items()}
        found = found if fits(found) else numbers
    if found == numbers:
        return None
    try:
        return [of_symbols(shape, found) for shape in shapes]
    except TypeError:  # a size that hangs on others than the inputs have
        return None


def symbols(values: Sequence[tuple[Any, Any]]) -> dict[Any, int]:
    """What the symbols in sizes stand for, of traced values (tensors, or sizes themselves) and those that are given."""
    import torch

    pairs: list[tuple[Any, int]] = []
    for traced, given in values:
        if isinstance(traced, torch.Tensor):
            pairs += zip(traced.shape, given.shape, strict=True)
        else:
            pairs.append((traced, given))
    return _symbols_of(pairs)


def _symbols_of(pairs: Sequence[tuple[Any, int]]) -> dict[Any, int]:
    import torch

    known = {size.node.expr: number for size, number in pairs if isinstance(size, torch.SymInt)}
    return {symbol: number for symbol, number in known.items() if symbol.is_symbol}


def of_symbols(shape: Sequence[Any], numbers: Mapping[Any, int]) -> list[int]:
    """A shape with symbols as one with numbers. Raises TypeError where a symbol has none."""
    import torch

    return [int(size.node.expr.xreplace(numbers)) if isinstance(size, torch.SymInt) else size for size in shape]


def _further(number: int, away: int) -> list[int]:
    """Sizes this far away from a number and further: tiles and heads are such by which it may have to divide."""
    sign = 1 if away > 0 else -1
    steps = [*range(abs(away), 17), 24, 32, 48, 64, 128]
    return [*(number + sign * one for one in steps), number * 2 if away > 0 else number // 2]


def equalities(program: ExportedProgram) -> list[str]:
    """What decompositions have taken dynamic sizes to be, as `Mod(x.shape[0], 2) == 0`; no program has it.

    One that asks a size gets the answer of the example. What torch.export knew before, or what follows from it (of
    `view(h // 4, 4, ...)` that h divides by 4), is not told.
    """
    symbols = _symbols(program)
    environment = next((size.node.shape_env for size in symbols.values()), None)
    if environment is None:
        return []
    names = {size.node.expr: type(size.node.expr)(name) for name, size in symbols.items()}
    known, count = _known(environment), _EXPORTED[environment][0]
    after = [one for one in _equal(environment.guards[count:]) if known(one) != True]  # noqa: E712
    return [f"{one.lhs} == {one.rhs}" for one in (taken.xreplace(names) for taken in after)]


def known_sizes(program: ExportedProgram) -> dict[Any, Any]:
    """By node what its value is with sizes that are a number as that: PyTorch writes `h // (h // 4)` for the 4 in
    `x.view(h // 4, 4)`, and knows that it is 4.
    """
    import torch

    from irwidget.private_torch import FakeTensor, pytree

    environment = next((size.node.shape_env for size in _symbols(program).values()), None)
    if environment is None:
        return {}
    known = _known(environment)

    def number(size: Any) -> Any:
        expression = known(size.node.expr) if isinstance(size, torch.SymInt) else size
        return int(expression) if isinstance(size, torch.SymInt) and expression.is_number else size

    def is_named(value: Any) -> bool:
        return isinstance(value, FakeTensor) and any(number(size) is not size for size in value.shape)

    def sized(value: Any) -> Any:
        if not is_named(value):
            return value
        with value.fake_mode:
            return value.new_empty_strided([*map(number, value.shape)], [*map(number, value.stride())])

    values = {node: node.meta["val"] for node in program.graph.nodes if "val" in node.meta}
    named = {node: value for node, value in values.items() if any(map(is_named, pytree.tree_leaves(value)))}
    return {node: pytree.tree_map(sized, value) for node, value in named.items()}


def _known(environment: Any) -> Callable[[Any], Any]:
    """What an expression of sizes is by what torch.export knew: that some are a number, and what others divide by."""
    import sympy
    from torch.utils._sympy.functions import FloorDiv, Mod

    equal = _equal(environment.guards[: _EXPORTED.get(environment, (None,))[0]])
    numbers = {one.lhs: one.rhs for one in equal if one.rhs.is_number and not one.lhs.is_number}
    multiples: dict[Any, Any] = {}
    for remainder, size, divisor in ((one, *one.args) for one in numbers if isinstance(one, Mod)):
        number = divisor if divisor.is_number else numbers.get(FloorDiv(size, divisor))
        positive = size in environment.var_to_range and environment.var_to_range[size].lower > 0
        if positive and number is not None and not numbers[remainder]:
            multiples[size] = number * sympy.Symbol(f"{size}/{number}", positive=True, integer=True)
    return lambda expression: expression.xreplace(numbers).xreplace(multiples)


def _equal(guards: Sequence[Any]) -> list[Any]:
    return [guard.expr for guard in guards if getattr(guard.expr, "rel_op", "") == "=="]


def _symbols(program: ExportedProgram) -> dict[str, Any]:
    """The dynamic sizes of inputs that are symbols of their own, by how a user would write them."""
    import torch

    found: dict[str, Any] = {}
    for node in program.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" else None
        for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                found[f"{node.name}.shape[{dim}]"] = size
    return found
