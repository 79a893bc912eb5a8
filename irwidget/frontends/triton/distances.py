"""What a cell reads of its results as Python's own, numbers and lists: they tell what they are compared with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, Protocol

import torch

from irwidget.frontends.triton.asserted import Use
from irwidget.frontends.triton.kept import Kept
from irwidget.frontends.triton.user_lines import bounding, is_asked
from irwidget.trace import Location


class Teller(Protocol):
    """Knows what a number says, and is told what becomes of it."""

    def compared(
        self, one: Any, by: str, other: Any, holds: bool, use: Use | None = None, place: Location | None = None
    ) -> None:
        """The cell compares it: the number, the operator, the other side, whether that holds.

        What for, and where, unless it does so now.
        """

    def beside(self, name: str, other: Any, made: Any, second: bool) -> Any:
        """What is made of it by `add` or `sub`, as the cell gets it; whether it is the second side."""

    def given(self, name: str, made: Any, others: Sequence[Any]) -> Any:
        """What is made of it by another operator, alone or with these."""

    def converted(self, made: Any, cut: bool) -> None:
        """The cell makes a number of it, by `int(...)` or `float(...)`; whether digits are cut."""

    def close(self, other: Any) -> Kept | None:
        """What it says if it is close to a number; None where that says nothing."""


ToldEqual = Callable[[Any, Any, str, bool], None]
"""Is told of a comparison of lists: both, the operator, whether it holds."""

COMPARING = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
"""Operators by the names of their methods, which PyTorch's operators have too."""
_GIVING = "truediv rtruediv mul rmul pow abs neg round".split()
"""Operators that make other numbers of such."""
_SHIFTING = ("add", "radd", "sub", "rsub")


class Telling:
    """A number that tells its teller what becomes of it."""

    teller: Teller

    def __reduce__(self) -> Any:
        plain: Any = type(self).__mro__[2]
        return plain, (plain(self),)


class _Float(Telling, float):
    __hash__ = float.__hash__


class _Int(Telling, int):
    __hash__ = int.__hash__


def are_positive(values: Sequence[Any]) -> bool:
    """Whether all are numbers above zero."""
    return all(isinstance(one, Real) and bool(one > 0) for one in values)  # pyright: ignore[reportOperatorIssue]


def _comparing(plain: Any, name: str, by: str) -> Callable[[Any, Any], Any]:
    compare = getattr(plain, f"__{name}__")

    def compared(self: Telling, other: Any) -> Any:
        holds = compare(self, other)
        if isinstance(holds, bool) and not isinstance(other, Telling) and is_asked():
            self.teller.compared(self, by, other, holds)
        return holds

    return compared


def _giving(plain: Any, name: str) -> Callable[..., Any]:
    give = getattr(plain, f"__{name}__")

    def given(self: Telling, *others: Any) -> Any:
        made = give(self, *others)
        return self.teller.given(name, made, others) if isinstance(made, int | float) else made

    return given


def _shifting(plain: Any, name: str) -> Callable[[Any, Any], Any]:
    shift = getattr(plain, f"__{name}__")

    def shifted(self: Telling, other: Any) -> Any:
        made = shift(self, other)
        known = isinstance(made, int | float)
        return self.teller.beside(name.removeprefix("r"), other, made, not name.startswith("r")) if known else made

    return shifted


def _converting(plain: Any, name: str) -> Callable[[Any], Any]:
    convert = getattr(plain, name)

    def converted(self: Telling) -> Any:
        made = convert(self)
        self.teller.converted(made, plain is float and name == "__int__")
        return made

    return converted


for _class, _plain in ((_Float, float), (_Int, int)):
    for _name in ("__int__", "__float__"):
        setattr(_class, _name, _converting(_plain, _name))
    for _name, _by in COMPARING.items():
        setattr(_class, f"__{_name}__", _comparing(_plain, _name, _by))
    for _name in _GIVING:
        setattr(_class, f"__{_name}__", _giving(_plain, _name))
    for _name in _SHIFTING:
        setattr(_class, f"__{_name}__", _shifting(_plain, _name))


def telling(value: Any, teller: Teller) -> Any:
    """A number that tells what becomes of it; what is none as it is."""
    if type(value) not in (float, int):
        return value
    made = _Float(value) if type(value) is float else _Int(value)
    made.teller = teller
    return made


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {by: getattr(operator, name) for name, by in COMPARING.items()}


def converted(number: Any) -> None:
    """Tell what the cell compares with a number that Python makes of a telling one, and which tells nothing itself."""
    if asked := bounding(number):
        (one, by, other, use, *_), place = asked
        if use is not None and isinstance(one, Telling) and not isinstance(other, Telling | torch.Tensor):
            one.teller.compared(one, by, other, _HOLDS[by](one, other), use, place)


class Elements(list[Any]):
    """A tensor's elements as a list, of lists where it has several dimensions."""

    origin: Any = None
    """What the tensor has of launches."""
    told: ToldEqual
    teller: Teller

    @classmethod
    def of(cls, values: list[Any], origin: Any, told: ToldEqual, teller: Teller) -> Elements:
        """The elements of a tensor that has this, which tell what they are compared with, together or one by one."""
        made = cls(cls.of(one, origin, told, teller) if isinstance(one, list) else one for one in values)
        made.origin, made.told, made.teller = origin, told, teller
        return made

    def __iter__(self) -> Iterator[Any]:
        return (telling(one, self.teller) for one in super().__iter__())

    def __getitem__(self, at: Any) -> Any:
        return telling(super().__getitem__(at), self.teller)

    def __eq__(self, other: object) -> bool:
        return self._compared(other, "eq")

    def __ne__(self, other: object) -> bool:
        return self._compared(other, "ne")

    def __reduce__(self) -> Any:
        return list, (_bare(self),)

    def _compared(self, other: object, name: str) -> bool:
        holds = getattr(list, f"__{name}__")(_bare(self), _bare(other))
        if isinstance(holds, bool):
            self.told(self, other, COMPARING[name], holds)
        return holds


def _bare(values: Any) -> Any:
    return [*map(_bare, list.__iter__(values))] if isinstance(values, list) else values  # pyright: ignore[reportUnknownVariableType]
