"""The texts of one compilation: each is read from the log when somebody looks at it, and put back where it belongs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from irwidget.readers import mlir
from irwidget.readers.grouping import Piece
from irwidget.readers.log import Log, decoded
from irwidget.readers.putting import Target, Text, put, span
from irwidget.readers.stages import Stage
from irwidget.toolchain import locations
from irwidget.trace import Content, Scope, predecessors

_ROOM = 1 << 28
"""Bytes that dumps which are put back into modules may come to together, or so many times the log:"""
_TIMES = 4
_DEBUG = "loc("


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the text of a stage comes from."""

    stage: Stage
    scope: Scope
    base: int = -1
    """The stage whose module it is put into; -1: it is shown as it was printed."""
    target: Target | None = None


def planned(log: Log, stages: Sequence[Stage]) -> list[Plan]:
    """A plan for each stage: what shows one function, or a nested module, is put back where that can be done.

    Where all of it would come to far more than the log, functions stay by themselves, and before the next module there
    is what they made of the last.
    """
    whole: dict[str, int] = {}
    """For each language the last stage that shows a module."""
    room = max(_ROOM, _TIMES * log.size)
    modules = _Modules(log)
    made: list[Plan] = []
    for stage in stages:
        if stage.like >= 0:
            scope = made[stage.like].scope
            at = Scope(anchor=str(stage.scope)) if scope.whole and not stage.scope.whole else stage.scope
            made.append(Plan(stage, at if scope.whole else scope))
            continue
        language = stage.piece.printed.language
        base = whole.get(language, -1)
        target = modules.target(stage.piece) if base >= 0 else None
        if target is not None and room >= 0:
            room -= modules.size
            made.append(Plan(stage, Scope(anchor=_anchor(target)), base, target))
        else:
            made.append(Plan(stage, stage.scope))
        if made[-1].scope.whole:
            whole[language] = len(made) - 1
            if made[-1].base < 0:
                modules.take(stage.piece)
    return made


def _anchor(target: Target) -> str:
    return f"{target.operation} @{target.symbol}" if target.language == "mlir" else target.symbol


class _Modules:
    """What the module that was printed last has, of each language."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._last: dict[str, Piece] = {}
        self._texts: dict[str, str] = {}
        self._spans: dict[Target, bool] = {}
        self._counts: dict[str, Counter[tuple[str, str]]] = {}
        self.size = 0
        """Bytes of the module that was asked of last."""

    def take(self, piece: Piece) -> None:
        """Note a module."""
        language = piece.printed.language
        self._last[language] = piece
        self._texts.pop(language, None)
        self._spans = {target: found for target, found in self._spans.items() if target.language != language}

    def target(self, piece: Piece) -> Target | None:
        """What of the module a dump is a newer text of; None where it is the module itself, or not to be found."""
        language = piece.printed.language
        if language not in self._last or piece.printed.scope.loop:
            return None
        target = self._named(piece)
        if target is None:
            return None
        text = self._text(language)
        self.size = len(text)
        if target not in self._spans:
            self._spans[target] = span(text, target) is not None
        return target if self._spans[target] else None

    def _named(self, piece: Piece) -> Target | None:
        if piece.whole:
            return None
        if piece.printed.language == "llvm":
            return Target("llvm", "", piece.printed.scope.function)
        return Target("mlir", piece.operation, piece.symbol) if piece.symbol else None

    def _text(self, language: str) -> str:
        if language not in self._texts:
            printed = self._last[language].printed
            self._texts[language] = decoded(self._log.read(printed.start, printed.stop))
        return self._texts[language]


class Composer:
    """Makes the content of each stage, from the log."""

    def __init__(self, log: Log, plans: Sequence[Plan]) -> None:
        self._log = log
        self._plans = plans
        self._last: tuple[int, Text] | None = None
        """The module that was composed last, on which the next often builds."""
        self._before = predecessors([_Placed(plan.scope, plan.stage.piece.printed.language) for plan in plans])

    def content(self, index: int) -> Content:
        """The content of a stage."""
        shown = self._text(index)
        return Content(shown.text, self._changed(index, shown), shown.places)

    def _changed(self, index: int, shown: Text) -> bool:
        plan, before = self._plans[index], self._before[index]
        if plan.stage.like >= 0:
            return False
        if before < 0:
            return True
        other = self._plans[before]
        if plan.base < 0 and other.base < 0 and other.stage.like < 0:
            return plan.stage.piece.digest != other.stage.piece.digest
        return self._text(before).text != shown.text

    def _text(self, index: int) -> Text:
        plan = self._plans[index]
        while plan.stage.like >= 0:
            index = plan.stage.like
            plan = self._plans[index]
        if plan.base < 0:
            return self._own(plan)
        return self._composed(index)

    def _own(self, plan: Plan) -> Text:
        printed = plan.stage.piece.printed
        text = decoded(self._log.read(printed.start, printed.stop))
        if printed.language == "mlir" and _DEBUG in text:
            return Text(*locations.strip(text))
        return Text(text)

    def _composed(self, index: int) -> Text:
        """The module of a stage: that of the stage that it builds on, with the newest text of each part."""
        if self._last is not None and self._last[0] == index:
            return self._last[1]
        newest: dict[Target, int] = {}
        at = index
        while (plan := self._plans[at]).base >= 0 and (self._last is None or self._last[0] != at):
            assert plan.target
            newest.setdefault(plan.target, at)
            at = plan.base
            while self._plans[at].stage.like >= 0:
                at = self._plans[at].stage.like
        whole = self._last[1] if self._last is not None and self._last[0] == at else self._own(self._plans[at])
        for target, number in sorted(newest.items(), key=lambda one: one[1]):
            whole = put(whole, self._own(self._plans[number]), target) or whole
        self._last = index, whole
        return whole


@dataclass(frozen=True, slots=True)
class _Placed:
    scope: Scope
    language: str


