"""One pipeline that has run on several modules of one name, one after another: they are told by what is in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from irwidget.readers.grouping import LoggedCompilation, Piece
from irwidget.readers.log import Log, decoded
from irwidget.trace import Scope
from irwidget.trace.syntax import blank, operation, symbol

_LEAST = 3
"""Passes of a pipeline by which it is known when it begins again; one or two may well run again on their own result."""
_COMPARED = 64
"""Passes that are compared."""
_LOOKED_AT = 1 << 16
"""Bytes of a text that are compared."""
_ARGUMENT = re.compile(r"%[\w.$-]+\s*:")
_PLACE = re.compile(r" loc\(.*\)$")


def apart(log: Log, compilation: LoggedCompilation) -> list[LoggedCompilation]:
    """A compilation as those that it is of: another begins where all passes begin again, on another program.

    That is one which is written in no other dialects than the first, and whose function has more or fewer arguments
    than what was printed last, or of whose operations less than half were there.
    """
    pieces = compilation.pieces
    starts = [0, *_begins(log, pieces), len(pieces)]
    if len(starts) == 2:
        return [compilation]
    return [
        LoggedCompilation(
            pieces[start:stop],
            [(count - start, said) for count, said in compilation.said if start < count <= stop or start == count == 0],
        )
        for start, stop in pairwise(starts)
    ]


def _begins(log: Log, pieces: Sequence[Piece]) -> Iterator[int]:
    """Where another program begins, after the first."""
    passes = [(one.printed.name, one.printed.when, one.printed.scope) for one in pieces]
    shown = _Shown()
    for i, piece in enumerate(pieces):
        if piece.printed.language != "mlir" or not piece.digest or piece.printed.scope.loop or piece.child:
            continue
        before = shown.of(piece)
        if before and _repeats(passes, i) and _is_other(log, pieces[0], before, piece):
            yield i
        shown.take(piece)


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


def _repeats(passes: Sequence[tuple[str, str, Scope]], at: int) -> bool:
    """Whether the passes begin again, as far as the log goes."""
    count = min(at, len(passes) - at, _COMPARED)
    return count >= _LEAST and all(passes[i] == passes[at + i] for i in range(count))


def _is_other(log: Log, first: Piece, before: Sequence[Piece], piece: Piece) -> bool:
    """Whether a text is of another program than those that were printed before it."""
    old, new = [line for one in before for line in _lines(log, one)], _lines(log, piece)
    if not _dialects(new) <= _dialects(_lines(log, first)):
        return False
    was, now = _arguments(old), _arguments(new)
    if any(was[name] != now[name] for name in was.keys() & now.keys()):
        return True
    operations = _operations(new)
    return 2 * (_operations(old) & operations).total() < operations.total()


def _lines(log: Log, piece: Piece) -> list[str]:
    start = piece.printed.start
    return decoded(log.read(start, min(piece.printed.stop, start + _LOOKED_AT))).splitlines()


def _arguments(lines: Sequence[str]) -> dict[str, int]:
    """How many arguments each function has."""
    named = ((symbol(line), line) for line in lines if operation(line, "mlir").endswith("func"))
    return {name: len(_ARGUMENT.findall(line)) for name, line in named if name}


def _dialects(lines: Sequence[str]) -> set[str]:
    return {operation(line, "mlir").partition(".")[0] for line in lines}


def _operations(lines: Sequence[str]) -> Counter[str]:
    """The operations inside of functions, without the names of values, each as often as it is there."""
    named = ((_PLACE.sub("", line), operation(line, "mlir")) for line in lines)
    return Counter(blank(line).strip() for line, op in named if op and not op.endswith(("func", "module", "return")))
