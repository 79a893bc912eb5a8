"""The texts of one compilation: each is read from the log when somebody looks at it, and put back where it belongs."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from irwidget.readers.grouping import Piece
from irwidget.readers.log import Log, decoded
from irwidget.readers.places import placed
from irwidget.readers.putting import PlacedText, PutTarget, defined, kind, put, span
from irwidget.readers.stages import LoggedStage
from irwidget.trace import Content, Diagnostic, Scope, predecessors, shared_scope

_ROOM = 1 << 26
"""Bytes that dumps which are put back into modules may come to together, or so many times the log:"""
_TIMES = 4
_LOOKED = 1 << 23
"""Letters of modules that are gone through for where parts belong, or so many times the log:"""
_AGAIN = 8
_KEPT = 8


@dataclass(frozen=True, slots=True)
class TextPlan:
    """Where the text of a stage comes from."""

    stage: LoggedStage
    scope: Scope
    base: int = -1
    """The stage whose module it is put into; -1: it is shown as it was printed."""
    target: PutTarget | None = None
    language: str = ""


def planned(log: Log, stages: Sequence[LoggedStage]) -> tuple[list[TextPlan], Diagnostic | None]:
    """A plan for each stage: what shows one function, or a nested module, is put back where that can be done.

    Where all of it would come to far more than the log, the rest stays by itself; then it is said that the next module
    differs by what these passes did, too.
    """
    whole: dict[str, int] = {}
    """For each language the last stage that shows a module."""
    room = max(_ROOM, _TIMES * log.size)
    modules = _Modules(log)
    made: list[TextPlan] = []
    left = -1
    """The first stage that there was no room for."""
    for stage in stages:
        if stage.like >= 0:
            scope = made[stage.like].scope
            at = shared_scope(anchor=str(stage.scope)) if scope.whole and not stage.scope.whole else stage.scope
            made.append(TextPlan(stage, at if scope.whole else scope, language=made[stage.like].language))
            continue
        language = stage.piece.printed.language
        base = whole.get(language, -1)
        fits = room >= 0 and modules.room >= 0
        target = modules.target(stage.piece) if base >= 0 and fits else None
        if target is not None:
            room -= modules.size
            modules.put(target, stage.piece)
            made.append(TextPlan(stage, shared_scope(anchor=str(target)), base, target, language))
        else:
            left = len(made) if base >= 0 and not fits and not stage.piece.whole and left < 0 else left
            made.append(TextPlan(stage, stage.scope, language=language))
        if made[-1].scope.whole:
            whole[language] = len(made) - 1
            if made[-1].base < 0:
                modules.take(stage.piece)
    return made, _told_of_room(made, left)


def _told_of_room(plans: Sequence[TextPlan], left: int) -> Diagnostic | None:
    """What to know of functions that were not put back for want of room."""
    if left < 0:
        return None
    return Diagnostic(
        "remark",
        f"From dump {left}, {plans[left].stage.name}, on, functions are shown by themselves: put back into their "
        "module they would be many times the log. A dump of the module after them differs by what they did, too",
    )


class _Modules:
    """What the module that was printed last has become, of each language: what is put into it, and where."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._texts: dict[str, Piece | PlacedText] = {}
        self._put: dict[str, dict[PutTarget, Piece]] = {}
        """What has come since the text."""
        self._known: dict[PutTarget, bool] = {}
        self._defined: dict[str, Counter[tuple[str, str]]] = {}
        self.size = 0
        """Letters of the module that was asked of last."""
        self.room = max(_LOOKED, _AGAIN * log.size)
        """Letters that may still be gone through."""

    def take(self, piece: Piece) -> None:
        """Note a module."""
        language = piece.printed.language
        self._texts[language], self._put[language] = piece, {}
        self._forget(language)

    def put(self, target: PutTarget, piece: Piece) -> None:
        """Note that a part of it has a newer text."""
        self._put[target.language].pop(target, None)
        self._put[target.language][target] = piece
        if target.child or not target.symbol:  # it may have other functions now
            self._forget(target.language)

    def _forget(self, language: str) -> None:
        self._defined.pop(language, None)
        self._known = {target: found for target, found in self._known.items() if target.language != language}

    def target(self, piece: Piece) -> PutTarget | None:
        """What of the module a dump is a newer text of; None where it is the module itself, or not to be found."""
        language = piece.printed.language
        if language not in self._texts or piece.whole or piece.printed.scope.loop or piece.printed.cut:
            return None
        if language == "llvm":
            target = PutTarget("llvm", "", piece.printed.scope.function)
        elif language == "mlir":
            target = PutTarget("mlir", piece.operation, piece.symbol, piece.child, piece.names)
        else:
            return None
        if target not in self._known:
            self._known[target] = self._has(target)
        return target if self._known[target] else None

    def _has(self, target: PutTarget) -> bool:
        if target.language not in self._defined:
            text = self._text(target.language)
            self.size = len(text)
            self._defined[target.language] = defined(text, target.language)
            self.room -= self.size
        found = self._defined[target.language].get((kind(target.operation), target.symbol), 0)
        if found == 1 or (not found and target.symbol):
            return found == 1
        self.room -= self.size
        return span(self._text(target.language), target) is not None

    def _text(self, language: str) -> str:
        text = self._texts[language]
        if isinstance(text, Piece):
            text = own(self._log, text)
        for target, piece in self._put[language].items():
            text = put(text, own(self._log, piece), target) or text
            self.room -= len(text.text)
        self._put[language] = {}
        self._texts[language] = text
        return text.text


def own(log: Log, piece: Piece) -> PlacedText:
    """The text of a dump as it was printed, without debug information, which becomes the places of its lines."""
    printed = piece.printed
    data = log.read(printed.start, printed.stop)
    if printed.prefix:
        data = b"\n".join(line.removeprefix(printed.prefix) for line in data.split(b"\n"))
    return PlacedText(*placed(printed.language, decoded(data)))


class Composer:
    """Makes the content of each stage, from the log."""

    def __init__(self, log: Log, plans: Sequence[TextPlan]) -> None:
        self._log = log
        self._plans = plans
        self._kept: OrderedDict[int, PlacedText] = OrderedDict()
        """The modules that were composed last: the next builds on one of them, most often."""
        self._before = predecessors([_Placed(plan.scope, plan.language) for plan in plans])

    def content(self, index: int) -> Content:
        """The content of a stage."""
        shown = self._text(index)
        return Content(shown.text, self._changed(index, shown), shown.places)

    def _changed(self, index: int, shown: PlacedText) -> bool:
        plan, before = self._plans[index], self._before[index]
        if plan.stage.like >= 0:
            return False
        if before < 0:
            return True
        other = self._plans[before]
        if plan.base < 0 and other.base < 0 and other.stage.like < 0:
            return plan.stage.piece.digest != other.stage.piece.digest
        return self._text(before).text != shown.text

    def _text(self, index: int) -> PlacedText:
        plan = self._plans[index]
        while plan.stage.like >= 0:
            index = plan.stage.like
            plan = self._plans[index]
        if plan.base < 0:
            return own(self._log, plan.stage.piece)
        return self._composed(index)

    def _composed(self, index: int) -> PlacedText:
        """The module of a stage: that of the stage that it builds on, with the newest text of each part."""
        newest: dict[PutTarget, int] = {}
        at = index
        while (plan := self._plans[at]).base >= 0 and at not in self._kept:
            assert plan.target
            newest.setdefault(plan.target, at)
            at = plan.base
            while self._plans[at].stage.like >= 0:
                at = self._plans[at].stage.like
        whole = self._kept.get(at) or own(self._log, self._plans[at].stage.piece)
        for target, number in sorted(newest.items(), key=lambda one: one[1]):
            whole = put(whole, own(self._log, self._plans[number].stage.piece), target) or whole
        self._kept[index] = whole
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return whole


@dataclass(frozen=True, slots=True)
class _Placed:
    scope: Scope
    language: str
