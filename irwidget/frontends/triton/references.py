"""The cell's own references: what it compares with what launches have written."""

from __future__ import annotations

import contextlib
import functools
import math
import unittest
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional

from irwidget import private_numpy, private_torch
from irwidget.frontends.triton.asserted import Use
from irwidget.frontends.triton.comparisons import Comparisons
from irwidget.frontends.triton.differences import Differences, answered, kept_beside, number, told
from irwidget.frontends.triton.distances import Teller, Telling, are_positive, converted, telling
from irwidget.frontends.triton.elements import Element
from irwidget.frontends.triton.kept import Answer, Kept, Run, Says
from irwidget.frontends.triton.ledger import LEDGER, name_of, unwatched
from irwidget.frontends.triton.outside import Outside
from irwidget.frontends.triton.provenance import Origin
from irwidget.frontends.triton.scopes import as_it_is, replaced
from irwidget.toolchain import triton_private
from irwidget.trace import Location

_COMPARING = ("allclose", "equal")
"""Operators that say whether all elements agree."""
_SHOWN = ("item", "__float__", "__int__", "__repr__", "__format__")
"""Methods by which a cell reads one number."""
_CONVERTING = ("__float__", "__int__")
"""Those by which Python takes a number of its own class, and no other."""


class References:
    """Watches what a cell compares by functions and operators of PyTorch and NumPy, and by numbers that it reads."""

    def __init__(self, comparisons: Comparisons) -> None:
        self._comparisons = comparisons
        self._provenance = comparisons.provenance
        self._differences = Differences(comparisons.found, comparisons.is_result)
        self._outside = Outside(comparisons, self._differences, self._read, self._element)

    @contextlib.contextmanager
    def watched(self) -> Generator[None]:
        """Note what a cell compares as long as it runs."""
        testing = triton_private.testing()
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(self._comparisons, "running", True))
            for context in (
                replaced(LEDGER, "watching", self._watching),
                private_torch.comparisons_wrapped(self._noting),
                private_numpy.comparisons_wrapped(self._noting, self._noting_truth),
                replaced(testing, "assert_close", self._noting(testing.assert_close)),
                replaced(torch, "isclose", self._noting_close(torch.isclose)),
                replaced(torch.Tensor, "isclose", self._noting_close(torch.Tensor.isclose)),
                replaced(math, "isclose", self._noting_numbers(math.isclose)),
                replaced(math, "fabs", _fabs),
                replaced(math, "sqrt", _root),
                replaced(unittest.TestCase, "assertAlmostEqual", self._noting_almost(_ALMOST)),
                replaced(torch, "cosine_similarity", self._noting_direction(torch.cosine_similarity)),
                replaced(functional, "cosine_similarity", self._noting_direction(functional.cosine_similarity)),
                *(replaced(torch.Tensor, name, self._noting_shown(getattr(torch.Tensor, name))) for name in _SHOWN),
                self._outside.watched(),
            ):
                stack.enter_context(context)
            yield

    def _watching(self, func: Any, args: Any, kwargs: Any) -> Callable[[Any], None]:
        done = self._provenance.operation(func, args, kwargs)
        answer = self._differences.operation(func, args, kwargs)
        found = self._comparisons.found(args[:2]) if name_of(func) in _COMPARING else []

        def noted(made: Any) -> None:
            done(made)
            if found:
                name = name_of(func)
                bits = name == "equal" and args[0].is_floating_point()
                self._comparisons.note(Answer(found, made, "" if made else f"{name} says no", bits=bits))
            elif said := answer(made):
                self._comparisons.note(said)

        return noted

    def _noting_close(self, isclose: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """`isclose`, whose result is looked at when it is taken together, at once where it is one element."""

        def noting(*args: Any, **kwargs: Any) -> torch.Tensor:
            with replaced(LEDGER, "watching", unwatched):
                result = isclose(*args, **kwargs)
            with as_it_is():
                kept = Kept(self._comparisons.found([*args, *kwargs.values()][:2]), Says.AGREES, "isclose")
                if result.numel() == 1 and kept.found:
                    self._comparisons.note(answered(kept, bool(result), "isclose says no"))
                else:
                    self._differences.keep(result, kept)
            return result

        return noting

    def _noting_numbers(self, isclose: Callable[..., bool]) -> Callable[..., bool]:
        """`math.isclose`, of numbers that tell what they are compared with."""

        @functools.wraps(isclose)
        def noting(*args: Any, **kwargs: Any) -> bool:
            holds = isclose(*args, **kwargs)
            one, other = (kwargs[name] if name in kwargs else args[at] for at, name in enumerate("ab"))
            if not isinstance(one, Telling):
                one, other = other, one
            if self._comparisons.running and isinstance(one, Telling) and (kept := one.teller.close(other)):
                kept = replace(kept, by="isclose", nan=one != one)
                self._comparisons.note(answered(kept, holds, "isclose says no"))
            return holds

        return noting

    def _noting_almost(self, almost: Callable[..., None]) -> Callable[..., None]:
        """`assertAlmostEqual` of unittest's, of numbers that tell what they are compared with."""

        @functools.wraps(almost)
        def noting(case: Any, first: Any, second: Any, *args: Any, **kwargs: Any) -> None:
            one, other = (first, second) if isinstance(first, Telling) else (second, first)
            kept = one.teller.close(other) if isinstance(one, Telling) and self._comparisons.running else None
            said = ""
            try:
                with replaced(self._comparisons, "running", False):
                    almost(case, first, second, *args, **kwargs)
            except AssertionError as error:
                said = _line(error)
                raise
            finally:
                if kept is not None:
                    answer = answered(replace(kept, nan=one != one), not said, said)
                    self._comparisons.note(answer, Use(True, ends=True))

        return noting

    def _noting_direction(self, similarity: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """`cosine_similarity`, whose result says how near results are to their reference, but for their length."""

        def noting(*args: Any, **kwargs: Any) -> torch.Tensor:
            found = self._comparisons.found([*args, *kwargs.values()][:2])
            result = similarity(*args, **kwargs)
            with as_it_is():
                self._differences.keep(result, Kept(found, Says.HOW_NEAR, blind=True))
            return result

        return noting

    def _noting_shown(self, show: Callable[..., Any]) -> Callable[..., Any]:
        """A method by which a cell reads one number; where that is how far results are off, it goes on to tell."""

        def shown(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            kept = self._differences.of(tensor) if self._comparisons.running else None
            with replaced(self._comparisons, "running", False) if kept else contextlib.nullcontext():
                value = show(tensor, *args, **kwargs)
            with as_it_is():
                says = kept is not None and kept.says in (Says.HOW_FAR, Says.HOW_NEAR)
                far = number(tensor) if says and tensor.numel() == 1 else None
                cuts = _cuts(show.__name__, tensor)
                reads = self._comparisons.running and show.__name__ in ("item", *_CONVERTING) and not says
                origin = self._provenance.origin(tensor) if reads else None
            if kept and far is not None:
                return self._read(replace(kept, blind=kept.blind or cuts), show.__name__, far, value)
            if not origin or not origin.of:
                return value
            if show.__name__ == "item":
                return telling(value, self._element(origin))
            self._element(origin).converted(value, cuts)
            return value

        return shown

    def _read(self, kept: Kept | None, how: str, far: Any, value: Any) -> Any:
        """Note that the cell reads how far, or near, results are: this value, given so that it goes on to tell."""
        if kept is None or kept.says not in (Says.HOW_FAR, Says.HOW_NEAR):
            return value
        if kept.says is Says.HOW_FAR:
            self._comparisons.looked_at(kept, far)
        if how in _CONVERTING:
            converted(self._telling(kept, value))
        return self._telling(kept, value) if how == "item" else value

    def _telling(self, kept: Kept, value: Any) -> Any:
        """A number that tells what it is compared with, also when another is added to it or subtracted."""
        return telling(value, _HowFar(kept, self._differences, self._compared, self._telling))

    def _element(self, origin: Origin[Run]) -> Element:
        """The teller of numbers that have this of launches."""
        return Element(origin, self._comparisons, self._telling)

    def _compared(
        self,
        kept: Kept,
        one: Any,
        by: str,
        other: Any,
        holds: bool,
        use: Use | None = None,
        place: Location | None = None,
    ) -> None:
        """Note what the cell compares a number with."""
        beside = kept_beside(kept, by, other)
        if beside is not None and self._comparisons.running:
            answer = answered(replace(beside, nan=one != one), holds, told(one, by, other, holds))
            self._comparisons.note(answer, use, place)

    def _noting(self, compare: Callable[..., Any]) -> Callable[..., Any]:
        """A comparison that raises AssertionError where values differ, or returns what differs."""

        def noting(*args: Any, **kwargs: Any) -> Any:
            if LEDGER.watching is unwatched:
                return compare(*args, **kwargs)
            pairs = {at: self._comparisons.found(sides) for at, sides in _pairs(*[*args, *kwargs.values()][:2])}

            def note(wrong: Mapping[Any, str]) -> None:
                for at, one in pairs.items():
                    self._comparisons.note(Answer(one, at not in wrong, wrong.get(at, "")), Use(True, ends=True))

            try:
                with replaced(LEDGER, "watching", unwatched):  # it compares by `isclose` itself
                    found = compare(*args, **kwargs)
            except AssertionError as error:
                note(dict.fromkeys(pairs, _line(error)))
                raise
            note({one.id: _line(one.to_error()) for one in found or ()})
            return found

        return noting

    def _noting_truth(self, compare: Callable[..., bool], name: str) -> Callable[..., bool]:
        """A function that says whether all elements agree."""

        def noting(*args: Any, **kwargs: Any) -> bool:
            found = self._comparisons.found([*args, *kwargs.values()][:2])
            with replaced(LEDGER, "watching", unwatched):
                holds = compare(*args, **kwargs)
            said = "" if holds else f"{name} says no"
            self._comparisons.note(Answer(found, bool(holds), said, bits=name == "array_equal"))
            return holds

        return noting


@dataclass
class _HowFar:
    """The teller of a number that says how far, or near, results are."""

    kept: Kept
    differences: Differences
    note: Callable[[Kept, Any, str, Any, bool, Use | None, Location | None], None]
    again: Callable[[Kept, Any], Any]
    """Makes another such number."""

    def compared(
        self, one: Any, by: str, other: Any, holds: bool, use: Use | None = None, place: Location | None = None
    ) -> None:
        self.note(self.kept, one, by, other, holds, use, place)

    def converted(self, made: Any, cut: bool) -> None:
        converted(self.again(replace(self.kept, blind=self.kept.blind or cut), made))

    def close(self, other: Any) -> Kept | None:
        return None if isinstance(other, Telling) else kept_beside(self.kept, "==", other)

    def beside(self, name: str, other: Any, made: Any, second: bool) -> Any:
        if isinstance(other, Telling):
            return self._added(other.teller, made) if name == "add" else made
        if name == "add" and other == 0:  # as `sum` begins
            return self.again(self.kept, made)
        said = self.differences.beside(name, self.kept, (made, other) if second else (other, made), first=second)
        return self.again(said, made) if said else made

    def _added(self, other: Teller, made: Any) -> Any:
        """How far results are together, where neither may outweigh the other."""
        both = [self.kept, *([other.kept] if isinstance(other, _HowFar) else [])]
        if len(both) < 2 or any(one.says is not Says.HOW_FAR or one.signed for one in both):
            return made
        found = [*self.kept.found, *(one for one in both[1].found if one not in self.kept.found)]
        return self.again(replace(self.kept, found=found, blind=any(one.blind for one in both)), made)

    def given(self, name: str, made: Any, others: Sequence[Any]) -> Any:
        """The same, where that leaves the order of such numbers."""
        return self.again(self.kept, made) if are_positive(others) and name not in ("neg", "rtruediv") else made


def _cuts(how: str, tensor: torch.Tensor) -> bool:
    """Whether a method makes a number of a tensor without its digits."""
    return how == "__int__" and tensor.is_floating_point()


_ALMOST = unittest.TestCase.assertAlmostEqual
_absolute, _square_root = math.fabs, math.sqrt


def _fabs(value: Any) -> float:
    """`math.fabs`, of a number that tells what becomes of it too."""
    made = _absolute(value)
    return value.teller.given("abs", made, []) if isinstance(value, Telling) else made


def _root(value: Any) -> float:
    """`math.sqrt`, of a number that tells what becomes of it too."""
    made = _square_root(value)
    return value.teller.given("pow", made, [0.5]) if isinstance(value, Telling) else made


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _pairs(one: Any, other: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], tuple[Any, Any]]]:
    """What is compared with what, of values that may hold others, by its place as PyTorch names that."""
    both = one, other
    if all(isinstance(side, Sequence) and not isinstance(side, str) for side in both) and len(one) == len(other):
        for number, parts in enumerate(zip(one, other, strict=True)):
            yield from _pairs(*parts, (*at, number))
    elif all(isinstance(side, Mapping) for side in both) and one.keys() == other.keys():
        for key in one:
            yield from _pairs(one[key], other[key], (*at, key))
    else:
        yield at, both
