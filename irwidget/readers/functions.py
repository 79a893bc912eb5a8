"""The functions of a module of LLVM as passes leave them, each in the numbers that the module has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from irwidget.readers.log import Log
from irwidget.readers.loops import put_loop
from irwidget.readers.metadata import Free, as_before, free
from irwidget.readers.planning import TextPlan
from irwidget.readers.printed_text import own
from irwidget.readers.putting import PutTarget, span

_KEPT = 64


class Functions:
    """Makes the text of a function at a stage of those that it had since the module was printed, whoever asks when."""

    def __init__(self, log: Log, plans: Sequence[TextPlan]) -> None:
        self._log = log
        self._plans = plans
        self._before: dict[tuple[int, str], int] = {}
        """For a stage and a function of it, the stage that has the function's text before."""
        self._kept: OrderedDict[tuple[int, str], tuple[str, Mapping[str, Free]]] = OrderedDict()
        """Texts, and the numbers that are free in their module."""
        last: dict[str, int] = {}
        module = -1
        for i, plan in enumerate(plans):
            if plan.language != "llvm" or plan.stage.like >= 0:
                continue
            if plan.base < 0 or plan.target is None:
                if plan.scope.whole:
                    module, last = i, {}
                continue
            for symbol in symbols(plan.target):
                self._before[i, symbol] = last.get(symbol, module)
                last[symbol] = i

    def text(self, index: int, symbol: str) -> str:
        """The text of a function at a stage that has it; nothing where its module has it not, or twice."""
        waiting = [index]
        while (waiting[-1], symbol) not in self._kept and (waiting[-1], symbol) in self._before:
            waiting.append(self._before[waiting[-1], symbol])
        at = waiting.pop()
        text, spare = self._kept.get((at, symbol)) or self._of_module(at, symbol)
        for number in reversed(waiting):
            text = self._after(number, symbol, text, spare)
            self._keep(number, symbol, text, spare)
        return text

    def _of_module(self, at: int, symbol: str) -> tuple[str, Mapping[str, Free]]:
        module = own(self._log, self._plans[at].stage.piece).text
        found = span(module, PutTarget("llvm", "", symbol))
        return (module[found[0] : found[1]], free(module, found[0])) if found else ("", free("", 0))

    def _after(self, number: int, symbol: str, before: str, spare: Mapping[str, Free]) -> str:
        plan = self._plans[number]
        assert plan.target
        part = own(self._log, plan.stage.piece).text
        if plan.target.several:
            found = span(part, PutTarget("llvm", "", symbol))
            if found is None:
                return before
            part = part[found[0] : found[1]]
        part = as_before(part, before, spare)
        return (put_loop(before, part) or before) if plan.target.loop else part

    def _keep(self, number: int, symbol: str, text: str, spare: Mapping[str, Free]) -> None:
        self._kept[number, symbol] = text, spare
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def symbols(target: PutTarget) -> tuple[str, ...]:
    """The functions that a target is of."""
    return target.several or (target.symbol,)
