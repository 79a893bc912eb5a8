"""Coordinates as sums of floor/mod terms of one loop variable each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Term:
    """`num * ((var mod modulus) // den)`; a modulus of 0 means none."""

    var: str
    num: int = 1
    modulus: int = 0
    den: int = 1

    def at(self, value: int) -> int:
        inner = value % self.modulus if self.modulus else value
        return self.num * (inner // self.den)

    def __str__(self) -> str:
        if self.den == 1:
            inner = f"Mod({self.var}, {self.modulus})" if self.modulus else self.var
        elif self.modulus:
            inner = f"Mod(floor({self.var}/{self.den}), {self.modulus // self.den})"
        else:
            inner = f"floor({self.var}/{self.den})"
        return inner if self.num == 1 else f"{self.num}*{inner}"


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A sum of terms and a constant; `indirect` names the index tensor of a gather."""

    terms: tuple[Term, ...] = ()
    offset: int = 0
    indirect: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term.var for term in self.terms))

    @property
    def is_zero(self) -> bool:
        return not self.terms and not self.offset and not self.indirect

    def at(self, values: Mapping[str, int]) -> int:
        return self.offset + sum(term.at(values[term.var]) for term in self.terms)

    def of(self, variable: str, values: Iterable[int]) -> tuple[int, ...]:
        """What the terms of one variable add up to at each of its values."""
        return tuple(sum(term.at(value) for term in self.terms if term.var == variable) for value in values)

    def bounds(self, ranges: Mapping[str, int]) -> tuple[int, int]:
        """The smallest and the largest value while each variable v runs over range(ranges[v])."""
        high = self.offset
        for term in self.terms:
            last = ranges[term.var] - 1
            high += term.num * ((min(last, term.modulus - 1) if term.modulus else last) // term.den)
        return self.offset, high

    def renamed(self, name: Callable[[str], str]) -> Coordinate:
        return replace(self, terms=tuple(replace(term, var=name(term.var)) for term in self.terms))

    def __str__(self) -> str:
        parts = [f"IndirectAccess({self.indirect})"] if self.indirect else []
        parts += [str(term) for term in self.terms]
        if self.offset:
            parts.append(str(self.offset))
        return " + ".join(parts) or "0"


ZERO = Coordinate()
