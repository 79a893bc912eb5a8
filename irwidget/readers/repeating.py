"""One pipeline that has run on several modules of one name, one after another: they are told by what is in them."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

from irwidget.readers.grouping import LoggedCompilation, Piece, functions_of, looked_at
from irwidget.readers.log import Log, decoded
from irwidget.trace import Scope
from irwidget.trace.syntax import Syntax, blank, operation, symbol

_LEAST = 3
"""Passes of a pipeline by which it is known when it begins again; of fewer, the log has to have nothing else."""
_FIRST = 3
"""Passes of LLVM's on a module that are compared: those that follow run on functions, of any name."""
_COMPARED = 64
"""Passes that are compared otherwise."""
_LOOKED_AT = 1 << 16
"""Bytes of a text that are compared."""
_ARGUMENT = re.compile(r"%[\w.$-]+\s*:\s*([^\s,()]*)")
_TWICE = (
    "The log has the same {} times, one after the other: passes that ran again and changed nothing, or another "
    "compilation of the same program, whose passes may have changed what they did before"
)
_NO_WORK = ("func", "module", "return", "define", ".constant")
"""What the names of operations end in that do nothing."""
_PLACE = re.compile(r" loc\(.*\)$")


def apart(log: Log, compilation: LoggedCompilation) -> list[LoggedCompilation]:
    """A compilation as those that it is of: another begins where all passes begin again, on another program.

    That is one which is written in no other dialects than the first, and whose function has other arguments than what
    was printed last, or of whose operations less than half were there, or which has again all that had gone since the
    passes began last. The same program begins again where what the tool left of it stands above its first text.
    """
    pieces = compilation.pieces
    left = {count: looked_at(log, said.module, {}) for count, said in compilation.said if said.module}
    starts = [0, *_begins(log, pieces, left), len(pieces)]
    if len(starts) == 2:
        return [compilation]
    return [
        LoggedCompilation(
            pieces[start:stop],
            [(count - start, said) for count, said in compilation.said if start < count <= stop or start == count == 0],
        )
        for start, stop in pairwise(starts)
    ]


def doubt(compilation: LoggedCompilation) -> str:
    """What to say of dumps that come again as they were, up to the end of the log; nothing of others."""
    dumps = [
        (one.printed.name, one.printed.when, one.printed.scope, one.digest)
        for one in compilation.pieces
        if one.printed.when != "output"
    ]
    for length in range(1, len(dumps) // 2 + 1):
        if len(dumps) % length == 0 and all(map(operator.eq, dumps, islice(dumps, length, None))):
            return _TWICE.format(len(dumps) // length)
    return ""


def _begins(log: Log, pieces: Sequence[Piece], left: Mapping[int, Piece]) -> Iterator[int]:
    """Where another program begins, after the first; `left` are the modules without a pass that stand above dumps."""
    passes = [(one.printed.name, one.printed.when, one.printed.scope) for one in pieces]
    period = _period(passes)
    shown, begun = _Shown(), 0
    several = {one.name for piece in pieces for one in piece.twice}  # which their module has at once
    for i, piece in enumerate(pieces):
        printed = piece.printed
        if i in left and (_is_begun(passes, begun, i, pieces) or _is_strange(pieces[begun], left[i], piece)):
            shown, begun = _Shown(), i
            yield i
            shown.take(piece)
            continue
        if printed.language not in ("mlir", "llvm") or not piece.digest or printed.scope.loop or piece.child:
            continue
        if f"{piece.operation} @{piece.symbol}" in several and not piece.whole:
            continue
        before = shown.of(piece)
        most = _FIRST if printed.language == "llvm" and piece.whole else _COMPARED
        again = (period and i % period == 0) or _repeats(passes, i, most)
        if before and again and _is_other(log, (pieces[0], pieces[begun]), before, piece):
            begun = i
            yield i
        shown.take(piece)


def _period(passes: Sequence[tuple[str, str, Scope]]) -> int:
    """After how many passes all of them come again, up to the end of the log; 0 for never, and where that are many."""
    return next(
        (
            length
            for length in range(1, min(_LEAST, len(passes)))
            if all(one == other for one, other in zip(passes, passes[length:], strict=False))
        ),
        0,
    )


class _Shown:
    """What was printed last of a module: all of it, and functions of it since then."""

    def __init__(self) -> None:
        self._pieces: dict[str, Piece] = {}

    def take(self, piece: Piece) -> None:
        """Note a text."""
        if piece.whole:
            self._pieces.clear()
        self._pieces[piece.printed.scope.function] = piece

    def of(self, piece: Piece) -> list[Piece]:
        """What the program of a text looked like before it."""
        if piece.whole:
            return list(self._pieces.values())
        found = self._pieces.get(piece.printed.scope.function, self._pieces.get(""))
        return [] if found is None else [found]


def _repeats(passes: Sequence[tuple[str, str, Scope]], at: int, most: int) -> bool:
    """Whether the passes begin again, as far as the log goes or so many of them."""
    count = min(at, len(passes) - at, most)
    return count >= _LEAST and all(passes[i] == passes[at + i] for i in range(count))


def _is_begun(passes: Sequence[tuple[str, str, Scope]], begun: int, at: int, pieces: Sequence[Piece]) -> bool:
    """Whether the text with which the passes began last comes again, and these passes as far as the log goes."""
    same = pieces[at].digest == pieces[begun].digest
    return same and all(one == other for one, other in zip(passes[begun:at], passes[at:], strict=False))


def _is_strange(first: Piece, left: Piece, piece: Piece) -> bool:
    """Whether the first pass comes again, on a function that the module which was left has not."""
    one, other = functions_of(left), functions_of(piece)
    again = (first.printed.name, first.printed.when) == (piece.printed.name, piece.printed.when)
    return again and bool(one and other) and not one & other


def _is_other(log: Log, first: tuple[Piece, Piece], before: Sequence[Piece], piece: Piece) -> bool:
    """Whether a text is of another program than those that were printed before it.

    `first` are the first of the log, and the one with which the passes began last.
    """
    syntax = "llvm" if piece.printed.language == "llvm" else "mlir"
    old, new = [line for one in before for line in _lines(log, one)], _lines(log, piece)
    if syntax == "mlir" and not _dialects(new) <= _dialects(_lines(log, first[0])):
        return False
    was, now = _arguments(old), _arguments(new)
    if any(was[name] != now[name] for name in was.keys() & now.keys()):
        return True
    operations, left = _operations(new, syntax), _operations(old, syntax)
    if 2 * (left & operations).total() < operations.total():
        return True
    began = first[1]
    if before == [began] or began.printed.scope.function != piece.printed.scope.function:
        return False
    gone = _operations(_lines(log, began), syntax) - left
    return gone.total() > 0 and gone <= operations - left


def _lines(log: Log, piece: Piece) -> list[str]:
    start = piece.printed.start
    return decoded(log.read(start, min(piece.printed.stop, start + _LOOKED_AT))).splitlines()


def _arguments(lines: Sequence[str]) -> dict[str, list[str]]:
    """The arguments that each function of MLIR has, by their types."""
    named = ((symbol(line), line) for line in lines if operation(line, "mlir").endswith("func"))
    return {name: _ARGUMENT.findall(line) for name, line in named if name}


def _dialects(lines: Sequence[str]) -> set[str]:
    return {operation(line, "mlir").partition(".")[0] for line in lines}


def _operations(lines: Sequence[str], syntax: Syntax) -> Counter[str]:
    """The operations inside of functions, but constants, without the names of values, each as often as it is there."""
    named = ((_PLACE.sub("", line), operation(line, syntax)) for line in lines)
    return Counter(blank(line).strip() for line, op in named if op and not op.endswith(_NO_WORK))
