"""What each option of `lower` may be: one table, which Python calls, the magics and the command line all go by."""

from __future__ import annotations

import numbers
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from irwidget.errors import UsageError, near

ROUTES = ("robust", "explorer")
LEVELS = ("0", "1", "2", "3")


@dataclass(frozen=True, slots=True)
class Rule:
    """What an option may be."""

    says: str
    allows: Callable[[Any], bool]
    known: tuple[str, ...] = ()
    """The words it may be, for near matches."""
    read: Callable[[str], Any] = str
    """Its value from a word of a command line. Raises ValueError."""

    def problem(self, name: str, value: Any) -> str:
        """Why the option cannot have this value; empty when it can."""
        if self.allows(value):
            return ""
        hint = f" {near(value, self.known)}" if self.known and isinstance(value, str) else ""
        return f"{name} is {self.says}, not {_short(value)}.{hint}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _above_zero(most: float) -> Callable[[Any], bool]:
    def allows(value: Any) -> bool:
        if value is None:
            return True
        return not _flag(value) and isinstance(value, numbers.Real) and 0 < float(value) <= most

    return allows


def _text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _level(value: Any) -> bool:
    return not isinstance(value, bool) and str(value).removeprefix("O") in LEVELS


_SWITCH = Rule("True or False", _flag)
RULES: Mapping[str, Rule] = {
    "timeout": Rule("a number of seconds above 0", _above_zero(threading.TIMEOUT_MAX), read=float),
    "memory": Rule("a number of GiB above 0", _above_zero(2**32), read=float),
    "check": Rule("True, False or 'each'", lambda value: _flag(value) or value == "each", ("each",)),
    "route": Rule("'robust' or 'explorer'", lambda value: isinstance(value, str) and value in ROUTES, ROUTES),
    "pipeline": Rule("one line of text, as in 'mlir-opt --cse | opt -O2'", _text),
    "name": Rule("a text", _text),
    "kwargs": Rule("a mapping from names to values", lambda value: value is None or _by_name(value)),
    "progress": Rule("a function", lambda value: value is None or callable(value)),
    "O": Rule("0, 1, 2 or 3", _level),
    "arch": Rule("a text, as in 'sm_90' or 'gfx942'", _text),
    "aten": Rule("a text, as in 'linalg-on-tensors'", _text),
    **dict.fromkeys(("dumps", "elide", "isolate", "external", "kernels", "llvm_passes"), _SWITCH),
}


def _by_name(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)  # pyright: ignore[reportUnknownVariableType]


def check(given: Mapping[str, Any]) -> None:
    """Raise UsageError for the first option that cannot have its value. Options without a rule are left alone."""
    for name, value in given.items():
        if name in RULES and (problem := RULES[name].problem(name, value)):
            raise UsageError(problem)


def from_word(name: str) -> Callable[[str], Any]:
    """What reads the option from a word of a command line. It raises UsageError for what the option cannot be."""
    rule = RULES[name]

    def read(word: str) -> Any:
        try:
            value = rule.read(word)
        except ValueError:
            value = word
        check({name: value})
        return value

    return read


def targets(to: Any, known: Iterable[str]) -> list[str]:
    """The names of IR types in `to`, a name or several. Raises UsageError for anything else, and for none."""
    first = next(iter(known))
    names: list[Any] = [to] if isinstance(to, str) else list(to) if isinstance(to, list | tuple | set | Mapping) else []
    if not names:
        raise UsageError(f"Say what to lower to: to={first!r}, or a list of names; to is {_short(to)}")
    for name in names:
        if not isinstance(name, str):
            kind = f"the name of an IR type, as in {first!r}, or a list of names"
            raise UsageError(f"to is {kind}; {_short(name)} is none")
    return names


def memory_bytes(gib: float | None) -> int | None:
    """A memory limit in bytes."""
    return int(float(gib) * 2**30) if gib else None
