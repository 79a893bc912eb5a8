"""Beside which launches of a cell its comparisons are noted: those whose results they look at."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from irwidget import private_numpy
from irwidget.frontends.triton.arrays import Lent
from irwidget.frontends.triton.asserted import Use
from irwidget.frontends.triton.kept import Answer, Compared, Found, Kept
from irwidget.frontends.triton.launch import LaunchComparison
from irwidget.frontends.triton.ledger import plain
from irwidget.frontends.triton.provenance import Origin, Provenance, together
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.frontends.triton.stand_ins import tensors
from irwidget.frontends.triton.user_lines import calling_line, using
from irwidget.trace import Location


class Comparisons:
    """What a cell compares, noted beside the launches whose results, or what it makes of them, it looks at."""

    def __init__(self) -> None:
        self.provenance: Provenance[Compared] = Provenance()
        self.lent = Lent()
        self.running = False
        """Whether the cell runs."""
        self._doubt = ""
        self._launches: dict[int, tuple[str, dict[int, Compared]]] = {}
        """Names of launches, by the `id` of their list, and the lists of those that they were given results of."""

    def wrote(
        self, name: str, compared: Compared, storages: Sequence[torch.UntypedStorage], given: Sequence[Any]
    ) -> None:
        """A launch that was given this has written these; comparisons with them go to its list, to no earlier one's."""
        with as_it_is():
            before = [one for value in given for one in tensors(value)]
            self._launches.setdefault(id(compared), (name, {}))[1].update(
                together(map(self.provenance.origin, before)).through
            )
            self.provenance.wrote(compared, storages, before)
            for storage in storages:
                self.lent.written(storage)

    def doubted(self, reason: str) -> None:
        """What launches write from now on may be left to chance."""
        self._doubt = self._doubt or reason

    def is_result(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor has something of a launch."""
        return bool(self.provenance.origin(tensor).of)

    def found(self, sides: Sequence[Any]) -> Found:
        """The launches that have to do with one side of a comparison, and not with the other, their reference."""
        with as_it_is():
            known = [plain(private_numpy.tensors(side)) for side in sides]
            if not all(map(self.lent.is_as_given, itertools.chain(*known))):
                return []
            origins = [together(map(self.provenance.origin, side)) for side in known]
        return apart(origins)

    def looked_at(self, kept: Kept, far: Any) -> None:
        """Note how far results are apart from what the cell computes, which is compared with nothing so far."""
        for compared, _ in kept.found:
            compared.append(LaunchComparison(calling_line(), None, f"{far:.6g}", self._doubt, False))

    def note(self, answer: Answer, use: Use | None = None, place: Location | None = None) -> None:
        """Note an answer, if the cell does not use it for something else, at a place or the line that runs."""
        if not answer.found:
            return
        use = use or using()
        opposite = use is not None and use.wanted not in (None, answer.wanted)
        if use is None or (opposite and use.ends) or (use.partly and not answer.equal):
            return
        known = answer.equal, answer.said, self._doubt, False, use.ends, answer.bits
        seen = LaunchComparison(place or calling_line(), *known, open=opposite and not answer.equal)
        for compared, exact in answer.found:
            exact = exact and (answer.equal or len(answer.found) == 1)  # of several, nobody knows which is wrong
            compared.append(replace(seen, said=answer.said and answer.said + self._before(compared), exact=exact))
        direct = {id(compared) for compared, _ in answer.found}
        before = {at: one for compared, _ in answer.found for at, one in self._launches[id(compared)][1].items()}
        for at in before.keys() - direct:
            before[at].append(seen)

    def _before(self, compared: Compared) -> str:
        """Who else may be wrong: the launches before one whose own results were not found right."""
        _, before = self._launches[id(compared)]
        others = [
            self._launches[at][0]
            for at, one in before.items()
            if one is not compared and not any(each.equal and each.exact for each in one)
        ]
        names = ", ".join(dict.fromkeys(others))
        return f" (it was given results of {names}, which may be what is wrong)" if names else ""


def apart(origins: Sequence[Origin[Compared]]) -> Found:
    """The launches that one of two sides has to do with, and not the other, and whether as they are."""
    return [
        (compared, one.exact)
        for one, other in zip(origins, reversed(origins), strict=True)
        for at, compared in one.of.items()
        if one is not other and at not in other.through
    ]
