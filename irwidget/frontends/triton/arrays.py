"""Results that a cell has as arrays of NumPy's: what NumPy computes of them is followed as what PyTorch computes is."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget import private_numpy, private_torch

Follow = Callable[[str, Sequence[Any], Any], Any]
"""Is told of a computation of NumPy's: PyTorch's name of it, what it is given, its result. Returns the result."""

_UFUNCS = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "absolute": "abs",
    "fabs": "abs",
    "negative": "neg",
    "logical_not": "logical_not",
    "invert": "bitwise_not",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
} | {name: name for name in ("add", "sqrt", "square", "log", "log2", "log10")}
_REDUCING = {"maximum": "amax", "minimum": "amin", "add": "sum", "logical_and": "all", "logical_or": "any"}
"""Functions of elements by NumPy's names, and those that take elements together: what PyTorch calls the same."""


@functools.cache
def _kind() -> Any:
    """The class of arrays that are followed, which NumPy shows as it shows others: by the name `array`."""
    import numpy

    def bare(value: Any) -> Any:
        return value.view(numpy.ndarray) if isinstance(value, array) else value

    class array(numpy.ndarray):
        follow: Follow | None = None

        def __array_finalize__(self, other: Any) -> None:
            self.follow = getattr(other, "follow", None)

        def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, out: Any = (), **options: Any) -> Any:
            if out:
                getattr(ufunc, method)(*map(bare, given), out=tuple(map(bare, out)), **options)
                return out[0] if len(out) == 1 else out
            made = getattr(ufunc, method)(*map(bare, given), **options)
            name = {"__call__": _UFUNCS, "reduce": _REDUCING}.get(method, {}).get(ufunc.__name__, "")
            follow = next(one.follow for one in given if isinstance(one, array))
            return made if follow is None or isinstance(made, tuple) else follow(name, given, made)

        def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
            sides = {"norm": 1, "count_nonzero": 1, "isclose": 2}.get(function.__name__, 0)
            if self.follow is None or not sides or len(given) < sides or (sides == 1 and given[1:]):
                return super().__array_function__(function, types, given, options)
            made = function(*map(bare, given), **options)
            return self.follow(function.__name__, given[:sides], made)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return bare(self).__reduce_ex__(protocol)

        def __float__(self) -> float:
            return self._read("__float__", float(bare(self)))

        def item(self, *given: Any) -> Any:
            return self._read("item", bare(self).item(*given))

        def _read(self, how: str, value: Any) -> Any:
            return value if self.follow is None or self.ndim else self.follow(how, [self], value)

        def __repr__(self) -> str:
            return repr(bare(self) if self.ndim else self[()])

        def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
            return hash(bare(self)[()])  # a number has one; NumPy's error for others

        def __round__(self, *digits: Any) -> Any:
            return round(bare(self)[()], *digits)

        def mean(self, *given: Any, **options: Any) -> Any:
            made = bare(self).mean(*given, **options)
            return made if self.follow is None else self.follow("mean", [self], made)

    def copying(name: str) -> Callable[..., Any]:
        def copied(self: Any, *given: Any, **options: Any) -> Any:
            made = getattr(bare(self), name)(*given, **options)
            return made if self.follow is None else self.follow("clone", [self], made)

        return copied

    for name in ("astype", "copy", "flatten"):
        setattr(array, name, copying(name))
    return array


def followed(plain: Any, follow: Follow) -> Any:
    """The same array, of whose use `follow` is told."""
    made = plain.view(_kind())  # one of no dimensions is what NumPy would give as a number
    made.follow = follow
    return made


def is_result(value: Any) -> bool:
    """Whether a value is a tensor, or an array that is followed."""
    return isinstance(value, (torch.Tensor, _kind()))


def as_tensor(value: Any) -> Any:
    """An array as a tensor that shares its memory with it, and that of the tensor that it is of; others as they are.

    None for an array that no tensor can be.
    """
    import numpy

    if not isinstance(value, numpy.ndarray):
        return value
    base: Any = private_numpy.tensors(value)
    plain: Any = value.view(numpy.ndarray)
    try:
        made = torch.from_numpy(plain)
        if not isinstance(base, torch.Tensor) or base.dtype != made.dtype:
            return made
        offset = (made.data_ptr() - base.untyped_storage().data_ptr()) // made.element_size()
        return base.detach().as_strided(made.shape, made.stride(), offset)
    except (TypeError, ValueError):  # strings, numbers of other widths, and strides backwards
        return None


of: Callable[[torch.Tensor], Any] = torch.Tensor.numpy
"""A tensor as an array, of which nobody is told."""


class Lent:
    """Memory of tensors that NumPy was given, which may write there unseen."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[private_torch.StorageWeakRef, int]] = {}
        """A sum of what memory held then."""

    def give(self, tensor: torch.Tensor) -> None:
        """NumPy gets the memory of a tensor."""
        storage = tensor.untyped_storage()
        self._sums[private_torch.storage_id(tensor)] = private_torch.StorageWeakRef(storage), _sum(storage)

    def written(self, storage: torch.UntypedStorage) -> None:
        """Something else has written there: what NumPy did before does not matter."""
        self._sums.pop(private_torch.storage_key(storage), None)

    def is_as_given(self, tensor: torch.Tensor) -> bool:
        """Whether NumPy has not written into a tensor's memory, as far as it can be seen."""
        given = self._sums.get(private_torch.storage_id(tensor))
        return given is None or given[1] == _sum(tensor.untyped_storage())


def _sum(storage: torch.UntypedStorage) -> int:
    flat: Any = torch.empty(0, dtype=torch.uint8)
    return zlib.crc32(of(flat.set_(storage)))
