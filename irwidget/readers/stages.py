"""From what a log has of one compilation to its dumps, in order: what each is called, and where its text is from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from irwidget.readers import homonyms
from irwidget.readers.found import AS_DIFFERENCE, NO_TEXT
from irwidget.readers.grouping import LoggedCompilation, Piece
from irwidget.readers.log import Log
from irwidget.toolchain.llvm_passes import joined
from irwidget.trace import WHOLE, Diagnostic, Scope, shared_scope

_FILTERED = "filtered out"
_LEFT_OUT = (
    "{} times a pass was filtered out (-filter-passes, -filter-print-funcs): what it did looks like the work of the "
    "next that is printed of the same function, and what it did to functions that are never printed does not show"
)

_INLINED = (
    "Passes on functions right before inline may have been run by it: what it inlined then shows as their work, not as "
    "its own (--mlir-print-ir-before-all beside -after-all tells them apart)"
)


@dataclass(frozen=True, slots=True)
class LoggedStage:
    """A dump to be."""

    name: str
    piece: Piece
    """Whose text it has; where `like` is given, who says that nothing changed."""
    scope: Scope
    step: int = 0
    """-1 for an input."""
    options: str = ""
    like: int = -1
    """The stage whose text it has, too."""


@dataclass(slots=True)
class Told:
    """The stages of a compilation."""

    stages: list[LoggedStage] = field(default_factory=list[LoggedStage])
    numbers: list[int] = field(default_factory=list[int])
    """For each piece, the stage that it became, or the last before it; -1 before the first."""
    failed: Piece | None = None
    running: str = ""
    """The pass that had begun, of a log that has the text before it and ends there."""
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    unseen: Counter[str] = field(default_factory=Counter[str])
    """What is said of passes whose text the log lacks, and how often."""
    changes: defaultdict[int, list[Scope]] = field(default_factory=lambda: defaultdict[int, list[Scope]](list))
    """For stages, what may have changed before them that the log has no text of."""
    filtered: int = 0
    """How many passes were filtered out."""


def stages(log: Log, compilation: LoggedCompilation) -> Told:
    """The stages of one compilation."""
    after = {_family(piece) for piece in compilation.pieces if piece.printed.when in ("after", "failed", "same")}
    told = Told()
    pending: dict[Scope, Piece] = {}
    last: dict[tuple[str, Scope], tuple[bytes, int]] = {}
    pieces, said = homonyms.told_apart(log, compilation.pieces)
    told.remarks += (Diagnostic("remark", one) for one in (*said, *_inlining(pieces)))
    alone = _without_result(pieces) if "mlir" in after else {}
    for i, piece in enumerate(pieces):
        when = piece.printed.when
        scope = _scope(piece)
        key = (_family(piece), _bare(scope))
        if key[0] not in after and (when == "before" or (when == "output" and pending)):
            _before_only(told, piece, pending)
        elif when == "before":
            told.running = piece.printed.name
            fresh = not any(one in last for one in _around(key))  # nothing has been printed that it may be a part of
            if last.get(key, (b"", 0))[0] != piece.digest and (fresh or key in last):
                called = f"before {piece.printed.name}" if told.stages else "input"
                told.stages.append(LoggedStage(called + _cut(piece), piece, scope, -1))
        elif when == "same":
            told.running = ""
            _unchanged(told, piece, key, last)
        elif when == "inside":
            told.stages.append(LoggedStage(piece.printed.name, piece, scope))
        elif when == "start" and piece.digest == last.get(key, (b"", 0))[0]:
            told.running = ""  # it was printed before the first pass already
        else:
            told.running = ""
            told.failed = piece if when == "failed" else told.failed
            step = -1 if when == "start" else 0
            told.stages.append(LoggedStage(piece.printed.name + _cut(piece), piece, scope, step, piece.printed.options))
        if piece.digest and told.stages:
            last[key] = piece.digest, len(told.stages) - 1
            if scope.whole:  # what was known of its functions is older than it
                last = {one: known for one, known in last.items() if one[0] != key[0] or one == key}
            elif len(piece.defines) > 1:
                last = {one: known for one, known in last.items() if one[1].function not in piece.defines}
        if i in alone:
            _take_alone(told, piece, last, unchanged=alone[i])
        told.numbers.append(len(told.stages) - 1)
    _remark(told, pending)
    return told


def _inlining(pieces: Sequence[Piece]) -> Sequence[str]:
    """What to say of MLIR's inliner where the log has no text before passes: the passes that it runs come before it."""
    mlir = [piece for piece in pieces if _family(piece) == "mlir"]
    if any(piece.printed.when == "before" for piece in mlir):
        return ()
    pairs = ((one, other) for one, other in pairwise(mlir) if other.printed.name == "inline")
    return (_INLINED,) if any(not one.whole or "func" in one.printed.scope.anchor for one, _ in pairs) else ()


def _without_result(pieces: Sequence[Piece]) -> dict[int, bool]:
    """The texts before passes of MLIR's of which the log has none after them, by their numbers: whether the next text
    of what they ran on is the same. --mlir-print-ir-after-change prints none where nothing changed.
    """
    found: dict[int, bool] = {}
    results: Counter[tuple[str, Scope]] = Counter()
    following: dict[Scope, bytes] = {}
    for i in reversed(range(len(pieces))):
        printed, scope = pieces[i].printed, _bare(_scope(pieces[i]))
        ran = printed.name, scope
        if printed.language != "mlir":
            continue
        if printed.when != "before":
            results[ran] += printed.when in ("after", "failed", "same")
        elif results[ran]:
            results[ran] -= 1
        else:
            found[i] = following.get(scope) == pieces[i].digest
        if pieces[i].digest:
            following[scope] = pieces[i].digest
    return found


def _take_alone(told: Told, piece: Piece, last: dict[tuple[str, Scope], tuple[bytes, int]], *, unchanged: bool) -> None:
    """A pass of which there is only the text before it, which is among the `last`."""
    if unchanged and told.stages:
        scope = _scope(piece)
        known = last[_family(piece), _bare(scope)]
        if piece.symbol and scope.function == piece.symbol:
            scope = shared_scope(function=f"{piece.operation} @{piece.symbol}")
        told.stages.append(LoggedStage(piece.printed.name, piece, scope, 0, piece.printed.options, like=known[1]))
    elif not unchanged:
        on = "" if piece.printed.scope.whole else f" on {piece.printed.scope}"
        told.unseen[
            f"{piece.printed.name}{on}: the log has the text before it only; what it did shows in the next"
        ] += 1


def _remark(told: Told, pending: dict[Scope, Piece]) -> None:
    """Say what the log does not have; `pending` are the passes whose result it lacks."""
    for said, times in told.unseen.items():
        told.remarks.append(Diagnostic("remark", said if times == 1 else f"{said} ({times} times)"))
    if told.filtered:
        told.remarks.append(Diagnostic("remark", _LEFT_OUT.format(told.filtered)))
    if pending:
        if any(one.function for one in pending):  # what ran on the module is what the functions were before theirs
            pending.pop(WHOLE, None)
        names = joined(one.printed.name for one in pending.values())
        told.running = names
        said = f"The log has the IR before passes only: what {names} made of it, the last, is not in it"
        told.remarks.append(Diagnostic("remark", said))


def _cut(piece: Piece) -> str:
    """What is said beside the name of a dump whose text is not all there."""
    return " (cut off)" if piece.printed.cut else ""


def _scope(piece: Piece) -> Scope:
    """What a dump shows; operations without a symbol are told apart by one in them."""
    if piece.nested and piece.symbol:
        return shared_scope(function=f"{piece.operation} @{piece.symbol}")
    if piece.nested or (piece.child and not piece.symbol and piece.printed.scope.function):
        return shared_scope(function=f"{piece.operation} of @{piece.child}")
    return piece.printed.scope


def _family(piece: Piece) -> str:
    return "mlir" if piece.printed.language == "mlir" else "llvm"


def _bare(scope: Scope) -> Scope:
    return shared_scope(scope.kernel, scope.function, scope.loop)


def _before_only(told: Told, piece: Piece, pending: dict[Scope, Piece]) -> None:
    """The text before a pass is that after the one before it, of the same function where only that is printed.

    The first of a loop is what a pass on its function left, and that of a function what one on the module did.
    """
    scope, cut = _bare(_scope(piece)), _cut(piece)
    if not pending:
        called = "input" if not told.stages else f"before {piece.printed.name}"
        told.stages.append(LoggedStage(called + cut, piece, _scope(piece), -1))
    elif scope == WHOLE:
        first = next(iter(pending.values()))
        ran = first.printed.scope if len(pending) == 1 else WHOLE
        options = first.printed.options if len(pending) == 1 else ""
        name = joined(one.printed.name for one in pending.values()) + cut
        told.stages.append(LoggedStage(name, piece, ran if ran.whole else WHOLE, 0, options))
        pending.clear()
    elif scope in pending:
        ran = [pending.pop(one) for one in [*pending] if one == scope or _is_in(one, scope)]
        name, options = joined(one.printed.name for one in ran), ran[0].printed.options if len(ran) == 1 else ""
        told.stages.append(LoggedStage(name + cut, piece, _scope(piece), 0, options))
    elif (scope.function or not scope.loop) and (
        around := next((one for _, one in _around(("", scope)) if one in pending), None)
    ):
        told.stages.append(LoggedStage(pending[around].printed.name + cut, piece, _scope(piece)))
    else:
        told.stages.append(LoggedStage(f"before {piece.printed.name}{cut}", piece, _scope(piece), -1))
    if piece.printed.when == "before":
        pending[scope] = piece


def _is_in(loop: Scope, function: Scope) -> bool:
    """Whether this is a loop of a function, or one of which the log does not say that it is another's."""
    return bool(loop.loop) and not function.loop and loop.function in ("", function.function)


def _unchanged(
    told: Told, piece: Piece, key: tuple[str, Scope], last: dict[tuple[str, Scope], tuple[bytes, int]]
) -> None:
    """A pass without a text: what it left is known where the log says that nothing changed, and what was before it."""
    if piece.printed.options:
        if piece.printed.options == AS_DIFFERENCE:
            told.changes[len(told.stages)].append(WHOLE)
        if piece.printed.options == _FILTERED:
            told.changes[len(told.stages)].append(_scope(piece))
            told.filtered += 1
        if piece.printed.options in ("deleted what it ran on", "invalidated", NO_TEXT):
            on = "" if piece.printed.scope.whole else f" on {piece.printed.scope}"
            told.unseen[f"{piece.printed.name}{on}: {piece.printed.options}; the log has no text of it"] += 1
            told.changes[len(told.stages)].append(WHOLE)
        return
    known = last.get(key) or next((last[one] for one in _around(key) if one in last), None)
    if known is not None:
        told.stages.append(LoggedStage(piece.printed.name, piece, _scope(piece), 0, like=known[1]))


def _around(key: tuple[str, Scope]) -> Iterable[tuple[str, Scope]]:
    scope: Scope | None = key[1]
    while scope is not None:
        yield key[0], scope
        scope = scope.outer
