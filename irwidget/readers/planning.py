"""What each dump of a compilation will show: its own text, or a module that this is put back into."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from irwidget.readers.grouping import Piece
from irwidget.readers.knowing import Unknown, renumbered, told_of
from irwidget.readers.log import Log
from irwidget.readers.loops import put_loop
from irwidget.readers.places import PlacedText
from irwidget.readers.printed_text import own
from irwidget.readers.putting import PutTarget, defined, kind, put, span
from irwidget.readers.stages import LoggedStage, Told
from irwidget.trace import Diagnostic, Scope, shared_scope

_ROOM = 1 << 26
"""Bytes that dumps which are put back into modules may come to together, or so many times the log:"""
_TIMES = 4
_LOOKED = 1 << 23
"""Letters of modules that are gone through for where parts belong, or so many times the log:"""
_AGAIN = 8
_NO_ROOM = (
    "functions are shown by themselves: put back into their module they would be many times the log. A dump of the "
    "module after them differs by what they did, too"
)
_APART = (
    "there are loops that are shown by themselves, as their log has them: the next text of their function differs by "
    "what passes on them did, too (-print-module-scope has all of it)"
)
_INLINED = (
    "a function that was inlined wherever it was called may be shown as it was printed last, up to the next dump of "
    "the module: the log has only what it was inlined into (-print-module-scope has all of it)"
)
_NUMBERS = (
    "functions were printed alone, in which LLVM numbers metadata (!3) and attributes (#5) anew: by the lines that are "
    "the same they have the numbers of the module printed last, else such as nothing explains; what changes only "
    "numbers there does not show (-print-module-scope has all of it)"
)
_NUMBERED = re.compile(r"[!#]\d")


@dataclass(frozen=True, slots=True)
class TextPlan:
    """Where the text of a stage comes from."""

    stage: LoggedStage
    scope: Scope
    base: int = -1
    """The stage whose module it is put into; -1: it is shown as it was printed."""
    target: PutTarget | None = None
    language: str = ""


@dataclass(frozen=True, slots=True)
class Plans:
    """How the stages of a compilation are shown."""

    told: Told
    """What the log tells, without stages that it has no text of."""
    texts: Sequence[TextPlan]
    remarks: Sequence[Diagnostic]


def planned(log: Log, told: Told) -> Plans:
    """A plan for each stage: what shows one function, a loop or a nested module is put back where that can be done.

    Where all of it would come to far more than the log, the rest stays by itself; then it is said that the next module
    differs by what these passes did, too. A pass that changed nothing is left out where the log lacks what it ran on.
    """
    planner = _Planner(log)
    for i, stage in enumerate(told.stages):
        for scope in told.changes.get(i, ()):
            planner.unknown.change(scope)
        planner.take(stage)
    made, left_out = planner.made, planner.left_out
    if not left_out:
        return Plans(told, made, planner.remarks())
    number = renumbered(len(made), left_out)
    gone = set(left_out)

    def moved(at: int) -> int:
        return number[at] if at >= 0 else -1

    texts = [
        replace(plan, base=moved(plan.base), stage=replace(plan.stage, like=moved(plan.stage.like)))
        for i, plan in enumerate(made)
        if i not in gone
    ]
    remarks = [*planner.remarks(), told_of([made[i].stage.name for i in left_out])]
    kept = replace(told, stages=[plan.stage for plan in texts], numbers=[moved(one) for one in told.numbers])
    return Plans(kept, texts, remarks)


class _Planner:
    """Plans stage by stage."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.made: list[TextPlan] = []
        self.left_out: list[int] = []
        """The stages whose text is not in the log."""
        self.unknown = Unknown()
        self._whole: dict[str, int] = {}
        """For each language the last stage that shows a module."""
        self._room = max(_ROOM, _TIMES * log.size)
        self._modules = _Modules(log)
        self._first: dict[str, int] = {}
        """The first stages of which these are to be said: no room, loops apart, inlining, numbers."""

    def take(self, stage: LoggedStage) -> None:
        """Plan the next stage."""
        if stage.like >= 0:
            self._take_unchanged(stage)
            return
        piece = stage.piece
        language = piece.printed.language
        base = self._whole.get(language, -1)
        fits = self._room >= 0 and self._modules.room >= 0
        known = not (piece.printed.scope.loop and self.unknown.has(piece.printed.scope))
        target = self._modules.target(piece) if base >= 0 and fits and known else None
        number = len(self.made)
        if target is not None:
            self._room -= self._modules.size
            if language == "llvm":
                self._note_llvm(stage, number)
            self._modules.put(target, piece)
            self.made.append(
                TextPlan(stage, shared_scope(anchor=stage.scope.anchor or str(target)), base, target, language)
            )
        else:
            if base >= 0 and not fits and not piece.whole:
                self._first.setdefault(_NO_ROOM, number)
            if piece.printed.scope.loop:
                self._first.setdefault(_APART, number)
            self.made.append(TextPlan(stage, stage.scope, language=language))
        module = target is None and stage.scope.whole
        self.unknown.take(piece.printed.scope, piece.defines, module=module, apart=target is None)
        if self.made[-1].scope.whole:
            self._whole[language] = number
            if module:
                self._modules.take(piece)

    def _note_llvm(self, stage: LoggedStage, number: int) -> None:
        """Note what is to be said of a function that is put back."""
        if "Inliner" in stage.name and self._modules.several("llvm"):
            self._first.setdefault(_INLINED, number)
        if _NUMBERS not in self._first and _NUMBERED.search(own(self._log, stage.piece).text):
            self._first[_NUMBERS] = number

    def _take_unchanged(self, stage: LoggedStage) -> None:
        """Nothing changed: of what shows the module that is the module as it is by now, whatever was put into it."""
        same = self.made[stage.like]
        whole = same.scope.whole
        if self.unknown.has(stage.piece.printed.scope) and (whole or same.scope != stage.scope or not same.scope.loop):
            self.left_out.append(len(self.made))
        like = self._whole.get(same.language, stage.like) if whole else stage.like
        anchored = shared_scope(anchor=str(stage.scope)) if whole and not stage.scope.whole else stage.scope
        self.made.append(TextPlan(replace(stage, like=like), anchored if whole else same.scope, language=same.language))

    def remarks(self) -> list[Diagnostic]:
        """What to know of all of it."""
        said = [(self._first[what], what) for what in (_NO_ROOM, _APART, _INLINED, _NUMBERS) if what in self._first]
        return [Diagnostic("remark", f"From dump {at}, {self.made[at].stage.name}, on, {what}") for at, what in said]


class _Modules:
    """What the module that was printed last has become, of each language: what is put into it, and where."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._texts: dict[str, Piece | PlacedText] = {}
        self._put: dict[str, dict[PutTarget, Piece]] = {}
        """What has come since the text."""
        self._known: dict[PutTarget, bool] = {}
        self._defined: dict[str, Counter[tuple[str, str]]] = {}
        self._functions: dict[PutTarget, str] = {}
        """The texts of functions of LLVM that loops were put into."""
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
        for one in (target, *(PutTarget(target.language, "", symbol) for symbol in target.several)):
            self._functions.pop(one, None)
            self._put[target.language].pop(one, None)
        self._put[target.language][target] = piece
        if target.child or not target.symbol:  # it may have other functions now
            self._forget(target.language)

    def _forget(self, language: str) -> None:
        self._defined.pop(language, None)
        self._functions.clear()
        self._known = {target: found for target, found in self._known.items() if target.language != language}

    def several(self, language: str) -> bool:
        """Whether it has more than one function; asked after `target`."""
        return self._defined[language].total() > 1

    def target(self, piece: Piece) -> PutTarget | None:
        """What of the module a dump is a newer text of; None where it is the module itself, or not to be found."""
        language = piece.printed.language
        if language not in self._texts or piece.whole or piece.printed.cut:
            return None
        if piece.printed.scope.loop:
            return self._loop(piece)
        if language == "llvm":
            return self._llvm(piece)
        if language != "mlir":
            return None
        target = PutTarget("mlir", piece.operation, piece.symbol, piece.child, piece.names, container=piece.container)
        if target not in self._known:
            self._known[target] = self._has(target)
        return target if self._known[target] else None

    def _llvm(self, piece: Piece) -> PutTarget | None:
        """The function, or those of the call graph or of a filter; None where one is not here."""
        symbols = tuple(sorted(piece.defines)) or (piece.printed.scope.function,)
        targets = [PutTarget("llvm", "", symbol) for symbol in symbols]
        for one in targets:
            if one not in self._known:
                self._known[one] = self._has(one)
        if not all(self._known[one] for one in targets):
            return None
        return targets[0] if len(targets) == 1 else PutTarget("llvm", "", "", several=symbols)

    def _loop(self, piece: Piece) -> PutTarget | None:
        """The loop of a function that is here; None where it cannot be put into that."""
        scope = piece.printed.scope
        if piece.printed.language != "llvm":
            return None
        function = PutTarget("llvm", "", scope.function)
        if function not in self._known:
            self._known[function] = self._has(function)
        if not self._known[function]:
            return None
        text = put_loop(self._function(function), own(self._log, piece).text)
        if text is None:
            return None
        self._functions[function] = text
        return replace(function, loop=scope.loop, at=piece.printed.start)

    def _function(self, target: PutTarget) -> str:
        """The text of a function as it is by now."""
        if target not in self._functions:
            if target in self._put[target.language]:
                self._functions[target] = own(self._log, self._put[target.language][target]).text
            else:
                found = span(self._text(target.language), target)
                self._functions[target] = self._text(target.language)[found[0] : found[1]] if found else ""
        return self._functions[target]

    def _has(self, target: PutTarget) -> bool:
        if target.language not in self._defined:
            text = self._text(target.language)
            self.size = len(text)
            self._defined[target.language] = defined(text, target.language)
            self.room -= self.size
        found = self._defined[target.language].get((kind(target.operation), target.symbol), 0)
        if (found == 1 and target.container is None) or (not found and target.symbol):
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
