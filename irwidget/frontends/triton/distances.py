"""What a cell reads of its results as Python's own, numbers and lists: they tell what they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from irwidget.frontends.triton.user_lines import is_asked

Told = Callable[[Any, str, Any, bool], None]
"""Is told of a comparison: one side, the operator, the other side, whether it holds."""

Beside = Callable[[str, Any, Any, bool], Any]
"""Makes a number that tells of one that is added to, or subtracted from, another: the operator, the other, what comes
out, and whether the other was second."""

ToldEqual = Callable[[Any, Any, str, bool], None]
"""Is told of a comparison of lists: both, the operator, whether it holds."""

COMPARING = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
"""Operators by the names of their methods, which PyTorch's operators have too."""
_GIVING = "truediv mul rmul pow abs round".split()
"""Operators whose results are such numbers, where they leave the order of these."""


class _Distance:
    """What the two kinds of them have in common."""

    told: Told
    beside: Beside

    def __reduce__(self) -> Any:
        plain: Any = type(self).__mro__[2]
        return plain, (plain(self),)


class _Float(_Distance, float):
    __hash__ = float.__hash__


class _Int(_Distance, int):
    __hash__ = int.__hash__


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and bool(value > 0)  # pyright: ignore[reportOperatorIssue]


def _comparing(plain: Any, name: str, by: str) -> Callable[[Any, Any], Any]:
    compare = getattr(plain, f"__{name}__")

    def compared(self: _Distance, other: Any) -> Any:
        holds = compare(self, other)
        if isinstance(holds, bool) and not isinstance(other, _Distance) and is_asked():
            self.told(self, by, other, holds)
        return holds

    return compared


def _giving(plain: Any, name: str) -> Callable[..., Any]:
    give = getattr(plain, f"__{name}__")

    def given(self: _Distance, *others: Any) -> Any:
        made = give(self, *others)
        return distance(made, self.told, self.beside) if all(map(_is_positive, others)) else made

    return given


def _shifting(plain: Any, name: str) -> Callable[[Any, Any], Any]:
    shift = getattr(plain, f"__{name}__")

    def shifted(self: _Distance, other: Any) -> Any:
        made = shift(self, other)
        known = isinstance(made, int | float) and not isinstance(other, _Distance)
        return self.beside(name.removeprefix("r"), other, made, not name.startswith("r")) if known else made

    return shifted


for _class, _plain in ((_Float, float), (_Int, int)):
    for _name, _by in COMPARING.items():
        setattr(_class, f"__{_name}__", _comparing(_plain, _name, _by))
    for _name in _GIVING:
        setattr(_class, f"__{_name}__", _giving(_plain, _name))
    for _name in ("add", "radd", "sub", "rsub"):
        setattr(_class, f"__{_name}__", _shifting(_plain, _name))


def distance(value: Any, told: Told, beside: Beside) -> Any:
    """A number that tells what it is compared with; what is none as it is."""
    if type(value) not in (float, int):
        return value
    made = _Float(value) if type(value) is float else _Int(value)
    made.told, made.beside = told, beside
    return made


class Elements(list[Any]):
    """A tensor's elements as a list."""

    origin: Any = None
    """What the tensor has of launches."""
    told: ToldEqual

    def __eq__(self, other: object) -> bool:
        return self._compared(other, "eq")

    def __ne__(self, other: object) -> bool:
        return self._compared(other, "ne")

    def __reduce__(self) -> Any:
        return list, ([*self],)

    def _compared(self, other: object, name: str) -> bool:
        holds = getattr(list, f"__{name}__")(self, other)
        if isinstance(holds, bool):
            self.told(self, other, COMPARING[name], holds)
        return holds
