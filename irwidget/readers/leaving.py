"""What tools left, in a log of several runs: a module that no banner is above, where the dumps of a compilation end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irwidget.readers.found import Said
from irwidget.readers.grouping import LoggedCompilation, functions_of, looked_at
from irwidget.readers.log import Log

_NO_WORK = "ignored"
"""What LLVM says of a pass that is none, as that which prints the output."""


def with_outputs(log: Log, compilations: Sequence[LoggedCompilation]) -> Sequence[LoggedCompilation]:
    """The compilations of a log, each with the module that was printed below its last dump, as one more dump.

    Below the last dump of the log that is found already, where LLVM says no more of its passes.
    """
    return [_with_output(log, one) for one in compilations]


def _with_output(log: Log, compilation: LoggedCompilation) -> LoggedCompilation:
    pieces, heard = compilation.pieces, compilation.said
    number = next((i for i in reversed(range(len(heard))) if heard[i][1].module), -1)
    if number < 0 or (printed := heard[number][1].module) is None or pieces[0].printed.group:
        return compilation
    count, said = heard[number]
    below = pieces[count:]
    if any(piece.digest or piece.printed.options != _NO_WORK for piece in below):
        return compilation
    piece = looked_at(log, printed, {})
    known = frozenset[str]().union(*map(functions_of, pieces))
    if known and (own := functions_of(piece)) and not known & own:
        return compilation  # another process has left it
    before = [(count, Said(said.start, printed.start))] if said.start < printed.start else []
    after = [(count + 1, Said(printed.stop, said.stop))] if printed.stop < said.stop else []
    later = [(at + 1, one) for at, one in heard[number + 1 :]]
    said_now = [*heard[:number], *before, *after, *later]
    return replace(compilation, pieces=[*pieces[:count], piece, *below], said=said_now)
