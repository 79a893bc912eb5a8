"""What a case of the corpus is: an input that something in a compiler may not bear, why it is here, what must be said.

Cases are functions that make the input when they run, so that listing hundreds of them costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import irwidget

TIMEOUT = 10.0
"""Seconds that a case gives its lowering, unless it is one that only a limit ends."""


@dataclass(frozen=True)
class Case:
    """One hostile input."""

    name: str
    why: str
    """What it tries: where the danger lies."""
    run: Callable[[], object]
    match: str = ""
    """What the message of the error must contain, as a pattern; empty where it may succeed."""
    fits: bool = False
    """Whether it must succeed: odd, but right."""
    never: tuple[str, ...] = ()
    """What the message must not contain: causes that are not the cause."""
    timeout: float = TIMEOUT
    heavy: bool = False
    exhaustive: bool = False
    """One of many of its kind, left to `make exhaustive`."""

    def __str__(self) -> str:
        return self.name


@dataclass
class Corpus:
    """The cases of a file, in order."""

    cases: list[Case] = field(default_factory=list[Case])

    def lower(
        self,
        title: str,
        why: str,
        obj: object,
        /,
        *inputs: object,
        match: str = "",
        fits: bool = False,
        never: tuple[str, ...] = (),
        heavy: bool = False,
        exhaustive: bool = False,
        **options: Any,
    ) -> None:
        """A call of `irwidget.lower`; what is callable and marked `made` is called for the object."""
        options = {"timeout": TIMEOUT, **options}

        def run() -> object:
            thing = obj() if isinstance(obj, Made) else obj
            given = tuple(one() if isinstance(one, Made) else one for one in inputs)
            return irwidget.lower(thing, *given, **options)

        timeout = options["timeout"] if isinstance(options["timeout"], int | float) else TIMEOUT
        self.add(Case(title, why, run, match, fits, never, timeout, heavy, exhaustive))

    def add(self, case: Case) -> None:
        assert case.name not in {one.name for one in self.cases}, case.name
        self.cases.append(case)


@dataclass(frozen=True)
class Made:
    """An input that is large or odd: made when its case runs."""

    make: Callable[[], Any]

    def __call__(self) -> Any:
        return self.make()
