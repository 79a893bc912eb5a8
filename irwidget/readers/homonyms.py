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


def told_apart(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The dumps of a compilation; those of functions whose name others have, too, under a longer one.

    A function is in what was printed last around one of its operation and its name.
    """
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
    for i, (operation, container) in found.items():
        symbol = pieces[i].symbol
        several = len(places[symbol, operation]) > 1
        if several or len(kinds[symbol]) > 1:
            name = f"{operation} @{symbol}" + (f" in @{container}" if several and container else "")
            made[i] = replace(pieces[i], printed=replace(pieces[i].printed, scope=Scope(function=name)))
    return made
