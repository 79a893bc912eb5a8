"""Elements of results as Python's numbers: what the cell computes of them, and compares that with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irwidget.frontends.triton.asserted import Use
from irwidget.frontends.triton.comparisons import Comparisons, apart
from irwidget.frontends.triton.differences import answered, told
from irwidget.frontends.triton.distances import Telling, converted, telling
from irwidget.frontends.triton.kept import Found, Kept, Run, Says
from irwidget.frontends.triton.provenance import Origin, together
from irwidget.trace import Location

_OTHERS: Origin[Run] = Origin({}, True)
"""What numbers have of launches that are of no result."""


@dataclass
class Element:
    """The teller of a number that is an element of a result, or computed from some."""

    origin: Origin[Run]
    comparisons: Comparisons
    how_far: Callable[[Kept, Any], Any]
    """Makes a number that tells how far results are off."""
    blind: bool = False
    """Whether digits are cut."""

    def compared(
        self, one: Any, by: str, other: Any, holds: bool, use: Use | None = None, place: Location | None = None
    ) -> None:
        """Note whether it is equal to what is of no result."""
        if self.comparisons.running and (kept := self._equal(one, by, other)):
            self.comparisons.note(answered(kept, holds, told(one, by, other, holds)), use, place)

    def converted(self, made: Any, cut: bool) -> None:
        """Note whether what the cell computes of it is equal, or how near, to what is of no result."""
        if self.comparisons.running:
            converted(telling(made, replace(self, blind=self.blind or cut)))

    def _equal(self, one: Any, by: str, other: Any) -> Kept | None:
        """What it says, or a number `one` that is made of it, if it is compared by `==` or `!=`."""
        if by not in ("==", "!=") or not isinstance(other, int | float):
            return None
        says = Says.AGREES if by == "==" else Says.DIFFERS
        bits = isinstance(one, float)
        return Kept(self._beside(other), says, by, bits=bits, blind=self.blind, nan=one != one)

    def beside(self, name: str, other: Any, made: Any, second: bool) -> Any:
        """A number that is another one's difference from it, or as `given`."""
        known = isinstance(other, int | float) and math.isfinite(other)
        if name == "sub" and known and self.comparisons.running and (found := self._beside(other)):
            return telling(made, _Apart(found, self.how_far))
        return self.given(name, made, [other])

    def given(self, name: str, made: Any, others: Sequence[Any]) -> Any:
        """A number that is computed from it, and from others."""
        tellers = [one.teller for one in others if isinstance(one, Telling)]
        origins = [one.origin for one in tellers if isinstance(one, Element)]
        return telling(made, replace(self, origin=replace(together([self.origin, *origins]), exact=False)))

    def close(self, other: Any) -> Kept:
        """What it says if it is close to what is of no result."""
        return Kept(self._beside(other), Says.AGREES)

    def _beside(self, other: Any) -> Found:
        """The launches that it has to do with, and the other number has not."""
        teller = other.teller if isinstance(other, Telling) else None
        if teller is None:
            return apart([self.origin, _OTHERS])
        return apart([self.origin, teller.origin]) if isinstance(teller, Element) else []


@dataclass
class _Apart:
    """The teller of the difference of a result's element from a number, which says how far they are apart by `abs`."""

    found: Found
    how_far: Callable[[Kept, Any], Any]

    def compared(
        self, one: Any, by: str, other: Any, holds: bool, use: Use | None = None, place: Location | None = None
    ) -> None:
        pass

    def beside(self, name: str, other: Any, made: Any, second: bool) -> Any:
        return made

    def given(self, name: str, made: Any, others: Sequence[Any]) -> Any:
        squared = name == "pow" and [*others] == [2]
        return self.how_far(Kept(self.found, Says.HOW_FAR), made) if name == "abs" or squared else made

    def converted(self, made: Any, cut: bool) -> None:
        pass

    def close(self, other: Any) -> Kept | None:
        return Kept(self.found, Says.AGREES) if other == 0 else None
