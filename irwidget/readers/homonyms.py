"""Functions of MLIR that have one name, in modules inside of a module, or as operations of two dialects: told apart.

A compiler that prints only what a pass ran on does not say which `@main` it is. A function that cannot be put back
into its module would be compared with another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace

from irwidget.readers.grouping import Piece
from irwidget.trace import Scope

_SEVERAL = "Which of several {} its texts are, the log does not say: they are not compared with each other"
_BY_TYPES = "Texts of several {} are told apart by what these take and return"
_STALE = ". Dumps of their module have each as the module had it (--mlir-print-ir-module-scope shows all of it)"


def told_apart(pieces: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[str]]:
    """The dumps of a compilation; those of functions whose name others have, too, under a longer one. And what to
    know of them.

    A function is in what was printed last around one of its operation and its name, or in the one of which the module
    has it with these arguments and results. Where the log has not said so of one that the module has several of, each
    dump has a name of its own, which no other is compared with, but for the one before and the one after a pass.
    """
    double = {one.name for piece in pieces for one in piece.twice}
    found = _places(pieces, double)
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    places: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)
    for i, (operation, container) in found.items():
        kinds[pieces[i].symbol].add(operation)
        places[pieces[i].symbol, operation].add(container)
    made = list(pieces)
    unknown: dict[str, bool] = {}
    texts = _Texts()
    for i, (operation, container) in found.items():
        symbol = pieces[i].symbol
        name = f"{operation} @{symbol}"
        several = len(places[symbol, operation]) > 1
        nowhere = container is None and name in double
        if name in double:
            unknown[name] = unknown.get(name, False) or nowhere
        if nowhere:
            name += f" (text {texts.number(i, pieces[i])})"
        elif several or name in double:
            name += f" in @{container}" if container else ""
        if nowhere or several or len(kinds[symbol]) > 1 or name in double:
            made[i] = replace(pieces[i], printed=replace(pieces[i].printed, scope=Scope(function=name)))
    return made, [f"{(_SEVERAL if lost else _BY_TYPES).format(name)}{_STALE}" for name, lost in unknown.items()]


def _places(pieces: Sequence[Piece], double: Container[str]) -> dict[int, tuple[str, str | None]]:
    """For each dump of a function its operation and what it is in; None where that is not known."""
    around: dict[str, Piece] = {}
    module = next((piece for piece in pieces if piece.twice), None)
    found: dict[int, tuple[str, str | None]] = {}
    for i, piece in enumerate(pieces):
        around |= dict.fromkeys(piece.members, piece)
        module = piece if piece.twice else module
        if not piece.operation.endswith("func") or piece.printed.scope.function != piece.symbol:
            continue
        name = f"{piece.operation} @{piece.symbol}"
        inside = around.get(name)
        container = inside.symbol if inside else None
        if inside is None and module and name in double:
            same = [one.container for one in module.twice if (one.name, one.signature) == (name, piece.signature)]
            container = same[0] if len(same) == 1 else None
        found[i] = piece.operation, container
    return found


class _Texts:
    """The numbers of texts that nothing tells apart; those before and after a pass have one."""

    def __init__(self) -> None:
        self._before: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)

    def number(self, at: int, piece: Piece) -> int:
        """That of a dump."""
        waiting = self._before[piece.operation, piece.symbol, piece.printed.name]
        if piece.printed.when == "before":
            waiting.append(at)
            return at
        one, sure = (waiting[-1], len(waiting) == 1) if waiting else (at, False)
        waiting.clear()
        return one if sure else at
