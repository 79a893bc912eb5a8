"""Delta debugging: fewer and fewer parts, simpler and simpler ones, as long as a test still holds.

What a program is made of, and what may become of it, is the languages': `mlir`, `llvm`, `graph`, `python`. A candidate
need not be well-formed: one that is not fails in another way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

_logger = logging.getLogger(__name__)
_T = TypeVar("_T")
_C = TypeVar("_C", contravariant=True)


class Test(Protocol[_C]):
    """Whether candidates still fail in the way that is looked for."""

    way: str
    """What is being tried, in a word, for the account of it."""

    def __call__(self, candidate: _C, /) -> bool:
        """Whether one does."""
        ...

    def first(self, candidates: Iterable[_C | None], /) -> int | None:
        """The place of the first that does, None for none. Several may be tried at once; a None never does."""
        ...


class Plain(Generic[_T]):
    """A function as a test: one candidate after the other."""

    def __init__(self, holds: Callable[[_T], bool]) -> None:
        self._holds = holds
        self.way = ""

    def __call__(self, candidate: _T) -> bool:
        return self._holds(candidate)

    def first(self, candidates: Iterable[_T | None]) -> int | None:
        """The place of the first of which the function holds."""
        return next((at for at, one in enumerate(candidates) if one is not None and self._holds(one)), None)


Change = Callable[[], _T | None]
"""Makes a candidate; None where the change cannot be made."""


def each(best: _T, fails: Test[_T], changes: Callable[[_T], Sequence[Change[_T]]]) -> Iterator[_T]:
    """With one change after the other; yields every program that still fails.

    `changes` are those that a program can have. Once one is made, those of the new
    program are tried from that place on.
    """
    at = 0
    while True:
        made: list[_T | None] = []
        place = fails.first(_making(best, changes(best)[at:], made))
        found = None if place is None else made[place]
        if place is None or found is None:
            return
        best, at = found, at + place
        yield best


def _making(best: _T, changes: Iterable[Change[_T]], made: list[_T | None]) -> Iterator[_T | None]:
    """Candidates, made as they are asked for, and kept; None for a change that changes nothing."""
    for change in changes:
        try:
            found = change()
            made.append(None if found == best else found)
        except (ValueError, LookupError, AttributeError) as error:  # a text that is not as it is taken to be
            _logger.debug("no candidate: %s: %s", type(error).__name__, error)
            made.append(None)
        yield made[-1]


def chunks(
    best: _T, fails: Test[_T], parts: Callable[[_T], int], *without: Callable[[_T, int, int], _T | None]
) -> Iterator[_T]:
    """Without more and more parts: all, halves, quarters, down to each one; yields every program that still fails.

    `parts` counts what may go of a program, each `without(program, start, stop)` is a way to leave some of that out.
    """

    def of_size(program: _T, size: int) -> list[Change[_T]]:
        starts = range(0, parts(program), size)
        return [partial(way, program, start, start + size) for start in starts for way in without]

    size = parts(best)
    while size:
        for found in each(best, fails, partial(of_size, size=size)):
            yield (best := found)
        if size == 1:
            return
        size = (min(size, parts(best)) + 1) // 2


Shrink = Callable[[_T, Test[_T]], Iterator[_T]]
"""One way of making a program smaller."""


def smallest(best: _T, fails: Test[_T], ways: Mapping[str, Shrink[_T]]) -> Iterator[_T]:
    """All ways in turn, by their names, until none finds anything more."""
    found = True
    while found:
        found = False
        for name, way in ways.items():
            fails.way = name
            for smaller in way(best, fails):
                found = True
                yield (best := smaller)
