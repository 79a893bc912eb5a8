"""Results that leave PyTorch, as arrays of NumPy's and as lists, and what comes back of them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from irwidget import private_numpy
from irwidget.frontends.triton import arrays
from irwidget.frontends.triton.comparisons import Comparisons, apart
from irwidget.frontends.triton.differences import Differences, answered
from irwidget.frontends.triton.distances import Elements, Teller
from irwidget.frontends.triton.kept import Kept, Run, Says
from irwidget.frontends.triton.ledger import LEDGER, plain, unwatched
from irwidget.frontends.triton.provenance import Origin, together
from irwidget.frontends.triton.scopes import as_it_is, replaced

Read = Callable[[Kept | None, str, Any, Any], Any]
"""Is told of a number that the cell reads: what it says, by which method, the number, and how the cell gets it."""

TellerOf = Callable[[Origin[Run]], Teller]
"""Gives the teller of numbers that have this of launches."""

_ARRAYS = ("numpy", "__array__")
_MAKING = ("from_numpy", "as_tensor", "tensor")
_BY_ARRAYS = ("isclose", "count_nonzero")
_OF_TENSORS = ("abs", "absolute", "fabs", "square", "sqrt")
_COPYING = ("array", "asarray", "asanyarray", "ascontiguousarray")


class Outside:
    """Follows results through NumPy and lists."""

    def __init__(self, comparisons: Comparisons, differences: Differences, read: Read, element: TellerOf) -> None:
        self._comparisons = comparisons
        self._provenance = comparisons.provenance
        self._differences = differences
        self._read = read
        self._element = element

    @contextlib.contextmanager
    def watched(self) -> Generator[None]:
        """While it lasts, results are followed."""
        import numpy

        with contextlib.ExitStack() as stack:
            for context in (
                replaced(torch.Tensor, "tolist", self._listing(torch.Tensor.tolist)),
                *(replaced(torch, name, self._taking(getattr(torch, name))) for name in _MAKING),
                *(replaced(torch.Tensor, name, self._giving(getattr(torch.Tensor, name))) for name in _ARRAYS),
                *(replaced(numpy, name, self._copying(getattr(numpy, name))) for name in _COPYING),
                *(replaced(numpy, name, self._by_arrays(getattr(numpy, name))) for name in _BY_ARRAYS),
                *(replaced(numpy, name, self._of_tensors(getattr(numpy, name))) for name in _OF_TENSORS),
                replaced(numpy.linalg, "norm", self._by_arrays(numpy.linalg.norm)),
            ):
                stack.enter_context(context)
            yield

    def _listing(self, give: Callable[..., Any]) -> Callable[..., Any]:
        """`tolist` of a tensor, whose result goes on to tell what it is compared with."""

        def listing(tensor: torch.Tensor) -> Any:
            values = give(tensor)
            with as_it_is():
                running = self._comparisons.running
                origin = together(map(self._provenance.origin, plain(tensor))) if running else None
            if origin is None or not origin.of or not isinstance(values, list):
                return values
            return Elements.of(values, origin, self._lists, self._element(origin))

        return listing

    def _lists(self, one: Elements, other: object, by: str, holds: bool) -> None:
        """Note what the cell compares a tensor's elements with."""
        if not self._comparisons.running or not isinstance(other, list):
            return
        found = apart([one.origin, getattr(other, "origin", None) or Origin({}, True)])
        bits = any(isinstance(value, float) for value in _flat(one))
        said = f"{by} of lists says {'yes' if holds else 'no'}"
        kept = Kept(found, Says.AGREES if by == "==" else Says.DIFFERS, by, bits)
        self._comparisons.note(answered(kept, holds, said))

    def _giving(self, give: Callable[..., Any]) -> Callable[..., Any]:
        """A method that gives a tensor's memory to NumPy."""

        def given(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            array = give(tensor, *args, **kwargs)
            with as_it_is():
                return self._lent(array) if self._comparisons.running else array

        return given

    def _copying(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """A function of NumPy's that makes an array of a tensor, or of another array."""

        def made(*args: Any, **kwargs: Any) -> Any:
            array = make(*args, **kwargs)
            is_list = args and isinstance(args[0], Elements)
            if not args or not self._comparisons.running or not (is_list or arrays.is_result(args[0])):
                return array
            with as_it_is():
                if is_list:
                    return self._of_list(args[0], array)
                shared = isinstance(private_numpy.tensors(array), torch.Tensor)
                return self._lent(array) if shared else self._array("clone", args[:1], array)

        return made

    def _by_arrays(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """A function of NumPy's that takes what there is of a tensor; it gets results as arrays that are followed."""

        @functools.wraps(compute)
        def computed(*args: Any, **kwargs: Any) -> Any:
            if not self._comparisons.running:
                return compute(*args, **kwargs)
            return compute(*(one.__array__() if isinstance(one, torch.Tensor) else one for one in args), **kwargs)

        return computed

    def _of_list(self, values: Elements, array: Any) -> Any:
        """An array of a tensor's elements, followed as the tensor is."""
        tensor = arrays.as_tensor(array)
        if tensor is None:
            return array
        self._provenance.made(tensor, values.origin)
        self._comparisons.lent.give(tensor)
        return arrays.followed(arrays.of(tensor), self._array)

    def _of_tensors(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """A function of NumPy's that gives a tensor for one: it shares its memory with the array that is followed."""

        @functools.wraps(compute)
        def computed(*args: Any, **kwargs: Any) -> Any:
            if not self._comparisons.running or len(args) != 1 or kwargs or not isinstance(args[0], torch.Tensor):
                return compute(*args, **kwargs)
            made = compute(args[0].__array__())
            with as_it_is():
                tensor = arrays.as_tensor(made)
            return compute(args[0]) if tensor is None else tensor

        return computed

    def _lent(self, array: Any) -> Any:
        """An array that has the memory of a tensor, followed where that is a result."""
        known = plain(private_numpy.tensors(array))
        if not any(map(self._comparisons.is_result, known)):
            return array
        for one in known:
            self._comparisons.lent.give(one)
        return arrays.followed(array, self._array)

    def _array(self, name: str, given: Sequence[Any], made: Any) -> Any:
        """Note what NumPy has computed; gives it so that it is followed on."""
        if not self._comparisons.running or LEDGER.watching is unwatched:
            return made
        with as_it_is():
            args = [arrays.as_tensor(one) for one in given]
            known, result = plain(args), arrays.as_tensor(made)
            if any(one is None for one in args) or not all(map(self._comparisons.lent.is_as_given, known)):
                return made
            read = self._differences.of(args[0]) if name in ("item", "__float__") else None
        if name in ("item", "__float__"):
            return self._read(read, name, made, made)
        with as_it_is():
            kept = self._differences.made(name, args, {}) if name else None
            if name == "isclose":
                kept = Kept(self._comparisons.found(args), Says.AGREES, name)
            if not isinstance(result, torch.Tensor):
                if kept is None:
                    return made
                result = torch.from_numpy(private_numpy.array(made))
            origin = together(map(self._provenance.origin, known))
            self._provenance.made(result, replace(origin, exact=origin.exact and name == "clone"))
            if answer := self._differences.answer(name, kept, args, result):
                self._comparisons.note(answer)
                return made
            self._comparisons.lent.give(result)
            return arrays.followed(arrays.of(result), self._array)

    def _taking(self, take: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """A function that makes a tensor of an array, or of a list."""

        def taking(*args: Any, **kwargs: Any) -> torch.Tensor:
            tensor = take(*args, **kwargs)
            if self._comparisons.running and args and not isinstance(args[0], torch.Tensor):
                with as_it_is():
                    known = [self._provenance.origin(one) for one in plain(private_numpy.tensors(args[0]))]
                    origins = [args[0].origin] if isinstance(args[0], Elements) else known
                    for one in plain(tensor) if origins else ():
                        self._provenance.made(one, together(origins))
            return tensor

        return taking


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        yield from _flat(value) if isinstance(value, list) else (value,)
