"""Which functions a log has no text of as they are by now: a loop pass changed them, or a pass whose text it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from irwidget.trace import Diagnostic, Scope


@dataclass(slots=True)
class Unknown:
    """What is not known of one language's module."""

    _functions: set[str] = field(default_factory=set[str])
    _all: bool = False
    """Whether only those are known that have been printed since:"""
    _printed: set[str] = field(default_factory=set[str])

    def change(self, scope: Scope) -> None:
        """Something of what this scope shows may have changed, and the log does not say what."""
        if scope.function:
            self._functions.update(scope.function.split(", "))  # several of the call graph
            return
        self._all = True
        self._printed.clear()

    def take(self, scope: Scope, functions: Iterable[str], *, module: bool, apart: bool) -> None:
        """Note a text: of the whole `module`, or of this scope, with these functions; `apart`, if it is not put back
        into what it is of.
        """
        if module:
            self._functions.clear()
            self._all = False
        elif scope.loop:
            if apart:
                self._functions.add(scope.function)
        elif scope.function:
            self._functions.difference_update((scope.function, *functions))
            self._printed.update((scope.function, *functions))

    def has(self, scope: Scope) -> bool:
        """Whether what this scope shows by now is in no text."""
        if not scope.function:
            return bool(self._functions) or self._all
        return scope.function in self._functions or (self._all and scope.function not in self._printed)


def renumbered(count: int, left_out: Sequence[int]) -> list[int]:
    """For each of so many stages, its number when some are left out, or that of the last before it; -1 before all."""
    gone = set(left_out)
    numbers: list[int] = []
    for i in range(count):
        numbers.append((numbers[-1] if numbers else -1) + (i not in gone))
    return numbers


def told_of(names: Sequence[str]) -> Diagnostic:
    """What to know of passes that are left out."""
    different = list(dict.fromkeys(names))
    return Diagnostic(
        "remark",
        f"{len(names)} passes that changed nothing are left out: what a pass on a loop, one that invalidated it, or "
        "one that was filtered out made of a function is in the log with its next text only ("
        f"{', '.join(different[:4])}{', ...' if len(different) > 4 else ''})",
    )
