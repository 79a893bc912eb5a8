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
from irwidget.frontends.triton.kept import Answer, Compared, Found, Kept, Run
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
        self.provenance: Provenance[Run] = Provenance()
        self.lent = Lent()
        self.running = False
        """Whether the cell runs."""
        self._doubt = ""

    def wrote(
        self, name: str, compared: Compared, storages: Sequence[torch.UntypedStorage], given: Sequence[Any]
    ) -> None:
        """A launch that was given this has written these; comparisons with them go to its list, to no earlier one's."""
        with as_it_is():
            before = together(self.provenance.origin(one) for value in given for one in tensors(value)).of.values()
            through = frozenset([id(compared)]).union(*(run.through for run in before))
            self.provenance.wrote(Run(name, compared, tuple(before), through), storages)
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
        for compared in {id(run.compared): run.compared for run, _ in kept.found}.values():
            compared.append(LaunchComparison(calling_line(), None, f"{far:.6g}", self._doubt, False))

    def note(self, answer: Answer, use: Use | None = None, place: Location | None = None) -> None:
        """Note an answer, if the cell does not use it for something else, at a place or the line that runs."""
        if not answer.found:
            return
        use = use or using()
        opposite = use is not None and use.wanted not in (None, answer.wanted)
        if use is None or (opposite and use.ends) or (use.partly and not answer.equal):
            return
        if answer.number and not use.ends:
            return
        known = answer.equal, answer.said, self._doubt, False, use.ends, answer.bits
        seen = LaunchComparison(place or calling_line(), *known, open=opposite and not answer.equal)
        direct: dict[int, Found] = {}
        for run, as_written in answer.found:
            direct.setdefault(id(run.compared), []).append((run, as_written))
        for found in direct.values():
            exact = all(as_written for _, as_written in found)
            exact &= answer.equal or len(direct) == 1  # of several, nobody knows which is wrong
            said = answer.said and answer.said + _before([run for run, _ in found])
            found[0][0].compared.append(replace(seen, said=said, exact=exact))
        earlier = {id(one.compared): one.compared for run, _ in answer.found for one in run.earlier.values()}
        for at in earlier.keys() - direct.keys():
            earlier[at].append(seen)


def _before(runs: Sequence[Run]) -> str:
    """Who else may be wrong: the launches before runs of one whose own results were not found right."""
    own = runs[0].compared
    others = [
        one.name
        for run in runs
        for one in run.earlier.values()
        if one.compared is not own and not any(each.equal and each.exact for each in one.compared)
    ]
    names = ", ".join(dict.fromkeys(others))
    return f" (it was given results of {names}, which may be what is wrong)" if names else ""


def apart(origins: Sequence[Origin[Run]]) -> Found:
    """The runs that one of two sides has to do with, and the other with none of their launches; whether as they are."""
    through = [frozenset[int]().union(*(run.through for run in one.of.values())) for one in origins]
    return [
        (run, one.exact)
        for one, other, others in zip(origins, reversed(origins), reversed(through), strict=True)
        for run in one.of.values()
        if one is not other and id(run.compared) not in others
    ]
