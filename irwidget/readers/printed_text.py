"""The text of a dump as its log has it."""

from __future__ import annotations

from irwidget.readers.grouping import Piece
from irwidget.readers.log import Log, decoded
from irwidget.readers.places import PlacedText, placed


def own(log: Log, piece: Piece) -> PlacedText:
    """The text of a dump as it was printed, without debug information, which becomes the places of its lines."""
    printed = piece.printed
    data = log.read(printed.start, printed.stop)
    if printed.prefix:
        data = b"\n".join(line.removeprefix(printed.prefix) for line in data.split(b"\n"))
    return PlacedText(*placed(printed.language, decoded(data)))
