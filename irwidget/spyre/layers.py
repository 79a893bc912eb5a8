"""Equal layers of a model: stretches of ops that come again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repeat:
    """Ops that are the same again and again, layers of a model: `count` times `length` ops from number `first`."""

    first: int
    length: int
    count: int


_WORTH = 12
"""Ops that are not shown a second time, for a stretch to be folded."""


def repeats(signatures: Sequence[object]) -> Iterable[Repeat]:
    """Stretches that come again right after themselves; the one that covers most, then of equals the shortest."""
    places: dict[object, list[int]] = {}
    for i, one in enumerate(signatures):
        places.setdefault(one, []).append(i)
    at = 0
    while at < len(signatures):
        best = Repeat(at, 1, 1)
        for other in places[signatures[at]]:
            length = other - at
            if length <= 0 or at + 2 * length > len(signatures):
                continue
            count = 1
            while signatures[at : at + length] == signatures[at + count * length : at + (count + 1) * length]:
                count += 1
            if count > 1 and length * count > best.length * best.count:
                best = Repeat(at, length, count)
        if (best.count - 1) * best.length >= _WORTH:
            yield best
            at += best.length * best.count
        else:
            at += 1
