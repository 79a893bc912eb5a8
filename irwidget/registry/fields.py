"""Options as fields of frozen dataclasses: type, default, help and what is allowed, written once.

The check of values, the command line, completion, help, the tables of the docs and the stub for editors read them here.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from irwidget.errors import UsageError, near

_KEY = "irwidget.option"
_SHOWN = 60
"""Letters of a value that an error message shows."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of what has none."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as all that offer it see it."""

    name: str
    default: Any
    help: str
    kind: str
    """Its type, as the dataclass has it."""
    says: str
    """What it may be, in words; empty when its own front end says so."""
    allows: Callable[[Any], bool]
    known: tuple[str, ...] = ()
    """The words it may be, for near matches."""
    read: Callable[[str], Any] | None = None
    """Its value from a word of a command line (raises ValueError); None for a switch, and for what is Python's only."""
    flag: str = ""
    """What the command line calls it; empty when it is Python's only."""
    bare: Any = None
    """Its value when the flag has no word after it; None when it wants one."""
    metavar: str = ""

    def problem(self, value: Any) -> str:
        """Why it cannot have this value; empty when it can."""
        if self.allows(value):
            return ""
        hint = f" {near(value, self.known)}" if self.known and isinstance(value, str) else ""
        return f"{self.name} is {self.says}, not {short(value)}.{hint}"

    def from_word(self, word: str) -> Any:
        """Its value from a word of a command line. Raises UsageError for what it cannot be."""
        try:
            value = self.read(word) if self.read else word
        except ValueError:
            value = word
        if problem := self.problem(value):
            raise UsageError(problem)
        return value


def short(value: Any) -> str:
    """A value in an error message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def option(
    default: Any,
    help: str,
    *,
    says: str = "",
    allows: Callable[[Any], bool] | None = None,
    known: tuple[str, ...] = (),
    read: Callable[[str], Any] | None = None,
    flag: str | None = None,
    bare: Any = None,
    metavar: str = "",
) -> Any:
    """A field of an option dataclass.

    What it may be follows from its type (bool, int, float, str, a Literal, or one of them or None) unless `allows`
    and `says` (`"a number above 0"`) tell; `known` are words for near matches. `flag` is what the command line calls
    it, empty to leave it to Python; `read` makes a value of a word, `bare` is the value of the flag by itself.
    A `default` that is a type, as `dict`, is called for each new object.
    """
    metadata = {
        _KEY: {
            "help": help,
            "says": says,
            "allows": allows,
            "known": known,
            "read": read,
            "flag": flag,
            "bare": bare,
            "metavar": metavar,
        }
    }
    if isinstance(default, type):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What follows from the type of a field."""

    says: str = ""
    allows: Callable[[Any], bool] = lambda _: True
    known: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: Mapping[Any, _Kind] = {
    bool: _Kind("True or False", lambda value: isinstance(value, bool)),
    int: _Kind("a whole number", _whole, read=int),
    float: _Kind("a number", _number, read=float),
    str: _Kind("a text", lambda value: isinstance(value, str), read=str),
}


def _kind(hint: Any) -> _Kind:
    """What a type allows. Types that no word can give are left to the front end."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [one for one in typing.get_args(hint) if one is not type(None)]
        kind = _kind(inner[0]) if len(inner) == 1 else _Kind()
        return dataclasses.replace(kind, allows=lambda value: value is None or kind.allows(value))
    if typing.get_origin(hint) is Literal:
        return _one_of(typing.get_args(hint))
    return _KINDS.get(hint, _Kind())


def _one_of(values: tuple[Any, ...]) -> _Kind:
    """One of some values, as a Literal has it."""
    words = {str(value): value for value in values}
    *first, last = map(repr, values)

    def read(word: str) -> Any:
        return words.get(word, word)

    return _Kind(f"{', '.join(first)} or {last}" if first else last, lambda value: value in values, tuple(words), read)


@functools.cache
def described(options: type) -> Mapping[str, Option]:
    """The options of a dataclass by name, in their order."""
    hints = typing.get_type_hints(options)
    return {one.name: _described(one, hints[one.name]) for one in dataclasses.fields(options)}


def _described(one: dataclasses.Field[Any], hint: Any) -> Option:
    told: dict[str, Any] = one.metadata.get(_KEY, {})
    default = one.default if one.default is not dataclasses.MISSING else None
    kind = _kind(hint)
    read = told.get("read") or kind.read
    bare = told.get("bare")
    if isinstance(default, bool) and bare is None and hint is bool:
        read, bare = None, not default
    flag = told.get("flag")
    if flag is None:
        readable = read is not None or bare is not None
        flag = f"--{'no-' if default is True else ''}{one.name.replace('_', '-')}" if readable else ""
    return Option(
        one.name,
        default,
        told.get("help", ""),
        _written(one.type),
        told.get("says") or kind.says,
        told.get("allows") or kind.allows,
        told.get("known") or kind.known,
        read,
        flag,
        bare,
        told.get("metavar", ""),
    )


def _written(kind: Any) -> str:
    """A type as its dataclass writes it."""
    if isinstance(kind, str):
        return kind
    plain = isinstance(kind, type) and not typing.get_args(kind)
    return kind.__name__ if plain else str(kind).replace("typing.", "")


def check(options: type | Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Raise UsageError for the first option that cannot have its value. Names that are no options are left alone."""
    known = described(options) if isinstance(options, type) else options
    for name, value in given.items():
        if name in known and (problem := known[name].problem(value)):
            raise UsageError(problem)
