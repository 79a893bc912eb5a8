"""The texts of one compilation: each is read from the log when somebody looks at it, and put back where it belongs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irwidget.readers.functions import Functions, symbols
from irwidget.readers.log import Log
from irwidget.readers.metadata import used
from irwidget.readers.places import PlacedText
from irwidget.readers.planning import TextPlan
from irwidget.readers.printed_text import own
from irwidget.readers.putting import PutTarget, put
from irwidget.trace import Content, Scope, predecessors

_KEPT = 8
_COMPARED = 3
"""A dump, the one before it, and that one's own."""


class Composer:
    """Makes the content of each stage, from the log."""

    def __init__(self, log: Log, plans: Sequence[TextPlan]) -> None:
        self._log = log
        self._plans = plans
        self._kept: OrderedDict[int, PlacedText] = OrderedDict()
        """The modules that were composed last: the next builds on one of them, most often."""
        self._stripped: OrderedDict[int, PlacedText] = OrderedDict()
        self._functions = Functions(log, plans)
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
        if plan.base < 0 and other.base < 0 and other.stage.like < 0 and not _is_stripped(plan, shown):
            return plan.stage.piece.digest != other.stage.piece.digest
        return self._text(before).text != shown.text

    def _text(self, index: int) -> PlacedText:
        plan = self._plans[index]
        while plan.stage.like >= 0:
            index = plan.stage.like
            plan = self._plans[index]
        return self._own(index) if plan.base < 0 else self._composed(index)

    def _own(self, index: int) -> PlacedText:
        """The text of a stage as it was printed; one without its locations is kept, as the next is compared with it."""
        if index in self._stripped:
            return self._stripped[index]
        text = own(self._log, self._plans[index].stage.piece)
        if _is_stripped(self._plans[index], text):
            self._stripped[index] = text
            while len(self._stripped) > _COMPARED:
                self._stripped.popitem(last=False)
        return text

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
        whole = self._with_functions(whole, newest) if plan.language == "llvm" else self._with(whole, newest)
        self._kept[index] = whole
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return whole

    def _with(self, whole: PlacedText, newest: Mapping[PutTarget, int]) -> PlacedText:
        for target, number in sorted(newest.items(), key=lambda one: one[1]):
            whole = put(whole, own(self._log, self._plans[number].stage.piece), target) or whole
        return whole

    def _with_functions(self, whole: PlacedText, newest: Mapping[PutTarget, int]) -> PlacedText:
        functions: dict[str, int] = {}
        for target, number in newest.items():
            functions |= {one: max(number, functions.get(one, -1)) for one in symbols(target)}
        for symbol, number in functions.items():
            part = PlacedText(self._functions.text(number, symbol))
            whole = put(whole, part, PutTarget("llvm", "", symbol)) or whole
        return used(whole)


def _is_stripped(plan: TextPlan, shown: PlacedText) -> bool:
    """Whether a text may be shorter than what was printed, by locations, which may be all that changed."""
    printed = plan.stage.piece.printed
    return printed.language == "mlir" and len(shown.text) < printed.stop - printed.start


@dataclass(frozen=True, slots=True)
class _Placed:
    scope: Scope
    language: str
