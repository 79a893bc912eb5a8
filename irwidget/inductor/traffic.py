"""Bytes of buffers that loops read and write: each element once, however often it is. Lives in a copy of the kernel."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from irwidget.inductor import private

_MOST = 1 << 22
"""Elements whose indices are looked at one by one; of more, those of each access are added up."""


@dataclass(frozen=True)
class Access:
    """One of Inductor's dependencies of an operation on a buffer, with how often its loops run."""

    dep: Any
    iterations: int


Accesses = Mapping[str, Sequence[Access]]
"""By buffer."""


def reads(node: Any) -> Accesses:
    """What a node of the scheduler reads; without what only orders it.

    Such are weak dependencies, which Inductor counts as a byte, and where loops change a buffer, all of that.
    """
    real = node.scheduler.mutation_real_name
    changed = {real.get(name, name) for one in node.get_outputs() for name in one.get_mutations()}
    whole = private.get("whole") if private.has_loops(node) else ()
    return _by_buffer(node, (
        dep for dep in node.read_writes.reads
        if not (isinstance(dep, whole) and real.get(dep.name, dep.name) in changed)
    ))  # fmt: skip


def writes(node: Any) -> Accesses:
    """What it writes."""
    return _by_buffer(node, node.read_writes.writes)


def _by_buffer(node: Any, deps: Iterable[Any]) -> Accesses:
    sizes = private.get("virtualized").graph.sizevars
    ranges = [size for part in node.get_ranges() for size in part] if private.has_loops(node) else []
    iterations = math.prod(int(sizes.optimization_hint(size, fallback=0)) for size in ranges)
    found: dict[str, list[Access]] = {}
    for dep in deps:
        if not isinstance(dep, private.get("ordering")):
            found.setdefault(dep.name, []).append(Access(dep, iterations))
    return dict(sorted(found.items()))


def touched(found: Accesses) -> dict[str, int]:
    """Bytes of each buffer; -1 where a size is not a number."""
    return {name: _bytes(name, one) for name, one in found.items()}


def together(parts: Sequence[Accesses]) -> dict[str, int]:
    """The bytes of all operations of a kernel together, of the buffers that several of them access."""
    shared: dict[str, list[Access]] = {}
    for part in parts:
        for name, found in part.items():
            shared.setdefault(name, []).extend(found)
    several = {name for name in shared if sum(name in part for part in parts) > 1}
    return touched({name: found for name, found in shared.items() if name in several})


def _bytes(name: str, found: Sequence[Access]) -> int:
    """No more than the buffer has. A mask leaves out elements that are counted, and what is indexed by a tensor is no
    more than there are indices.
    """
    try:
        if any(one.dep.has_unbacked_symbols() for one in found):
            return -1
        whole = private.get("whole")(name)
        size, count = int(whole.numbytes_hint()), int(whole.numel_hint())
        return min(_elements(list(dict.fromkeys(found)), count), count) * (size // count) if count else 0
    except Exception:
        return -1


def _elements(found: Sequence[Access], count: int) -> int:
    """How many elements of a buffer of so many are accessed, or more than it has."""
    numbers = [_count(one) for one in found]
    if (len(found) == 1 and numbers[0] <= count) or count in numbers:
        return max(numbers)
    if sum(numbers) <= _MOST and not any(one.dep.is_indirect() for one in found):
        try:
            return len(np.unique(np.concatenate([_indices(one.dep) for one in found])))
        except Exception:  # sizes with symbols, functions of SymPy's that NumPy has not
            pass
    return sum(numbers)


def _count(one: Access) -> int:
    """The elements of one access: as many as its loops make indices."""
    count = int(one.dep.numel_hint())
    return min(count, one.iterations) if one.dep.is_indirect() else count


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "Add": lambda *terms: sum(terms),
    "Mul": lambda *factors: math.prod(factors),
    "Pow": lambda base, exponent: base**exponent,
    "FloorDiv": lambda x, divisor: x // divisor,
    "CleanDiv": lambda x, divisor: x // divisor,
    "ModularIndexing": lambda x, divisor, modulus: x // divisor % modulus,
    "Mod": lambda x, modulus: x % modulus,
    "PythonMod": lambda x, modulus: x % modulus,
    "Identity": lambda x: x,
    "Min": lambda *values: functools.reduce(np.minimum, values),
    "Max": lambda *values: functools.reduce(np.maximum, values),
}
"""What the functions of an index compute, by their names: of whole numbers, or of arrays of these."""


def value_of(index: Any, symbols: Mapping[str, Any]) -> Any:
    """An expression of SymPy's for the values of its symbols. Raises KeyError for a function or symbol that is none."""
    if index.is_Symbol:
        return symbols[index.name]
    if index.is_Integer:
        return int(index)
    return _FUNCTIONS[type(index).__name__](*(value_of(part, symbols) for part in index.args))


def _indices(dep: Any) -> Any:
    """The elements of one access, without those before the buffer, which a mask leaves out."""
    used: dict[str, Any] = {}
    index: Any = sympy.sympify(dep.index)
    free = {symbol.name for symbol in index.free_symbols}
    wanted = [(str(name), int(size)) for name, size in dep.ranges.items() if str(name) in free]
    for at, (name, size) in enumerate(wanted):
        used[name] = np.arange(size).reshape([-1 if at == dim else 1 for dim in range(len(wanted))])
    found = np.asarray(value_of(index, used)).reshape(-1)
    return found[found >= 0]
