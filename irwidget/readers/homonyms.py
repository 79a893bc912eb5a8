"""Functions of MLIR that have one name, in modules inside of a module, or as operations of two dialects: told apart.

A compiler that prints only what a pass ran on does not say which `@main` it is. A function that cannot be put back
into its module would be compared with another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from irwidget.readers.grouping import Piece
from irwidget.trace import Scope

_SEVERAL = "Which of several {} its texts are, the log does not say: they are not compared with each other"


def told_apart(pieces: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[str]]:
    """The dumps of a compilation; those of functions whose name others have, too, under a longer one. And what to
    know of them.

    A function is in what was printed last around one of its operation and its name. Where the log has not said so
    of one that the module has several of, each dump has a name of its own, which no other is compared with.
    """
    double = frozenset[str]().union(*(piece.twice for piece in pieces))
    around: dict[str, Piece] = {}
    found: dict[int, tuple[str, str]] = {}
    for i, piece in enumerate(pieces):
        around |= dict.fromkeys(piece.members, piece)
        if piece.operation.endswith("func") and piece.printed.scope.function == piece.symbol:
            container = around.get(f"{piece.operation} @{piece.symbol}")
            found[i] = piece.operation, container.symbol if container else ""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    places: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for i, (operation, container) in found.items():
        kinds[pieces[i].symbol].add(operation)
        places[pieces[i].symbol, operation].add(container)
    made = list(pieces)
    unknown: dict[str, None] = {}
    for i, (operation, container) in found.items():
        symbol = pieces[i].symbol
        name = f"{operation} @{symbol}"
        several = len(places[symbol, operation]) > 1
        nowhere = not container and name in double
        if nowhere:
            unknown[name] = None
            name += f" (text {i})"
        elif several and container:
            name += f" in @{container}"
        if nowhere or several or len(kinds[symbol]) > 1:
            made[i] = replace(pieces[i], printed=replace(pieces[i].printed, scope=Scope(function=name)))
    return made, [_SEVERAL.format(name) for name in unknown]
