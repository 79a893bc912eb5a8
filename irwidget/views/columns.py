"""What `irwidget.trace.syntax` finds on lines, as columns beside a table of lines.

A column has an entry for each shape (a line with a byte 255 for each number in it, see `codec`), because where a name
begins and ends does not depend on the digits in it: a few hundred shapes stand for a million lines. Spans are bytes of
the shape. The columns of a chunk are

    shape.renumbered        for each shape the number of spans, then for each the bytes since the last, and its length
    shape.symbol            for each shape 0, or 1 + where the name of the symbol begins, and its length
    shape.op.SYNTAX         for each shape 0, or 1 + where the operation begins, its length, and the number in
                            `DIALECTS` of what is to be put before it; one column for each syntax that a dump has

all as varints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from irwidget.trace import codec, syntax
from irwidget.trace.syntax import Syntax

DIALECTS = ("", "builtin.", "func.")
"""What MLIR leaves out before an operation of these dialects."""


def columns(shapes: Iterable[str], syntaxes: Iterable[Syntax]) -> Mapping[str, list[int]]:
    """The columns of a list of shapes, each with "0" for its numbers and a letter for each byte (Latin-1)."""
    shapes = list(shapes)
    found = {"shape.renumbered": _flat(map(_renumbered, shapes)), "shape.symbol": _flat(map(_symbol, shapes))}
    for one in syntaxes:
        found[f"shape.op.{one}"] = _flat(_operation(shape, one) for shape in shapes)
    return found


def of_shapes(shapes: bytes, languages: Iterable[str]) -> dict[str, bytes]:
    """The columns as sections of a chunk.

    `shapes` is what `codec.lines` makes, joined by newlines; without lines it reads as one empty shape. `languages` are
    those of the dumps that may have them.
    """
    # A lone surrogate is shown as its escape, and the browser counts the bytes of that.
    text = shapes.replace(b"\xff", b"0").decode("utf-8", "surrogatepass")
    samples = text.encode("utf-8", "backslashreplace").decode("latin-1").split("\n")
    syntaxes: set[Syntax] = {one for language in languages if (one := syntax.syntax_of(language))}
    return {name: codec.varints(np.asarray(values)) for name, values in columns(samples, sorted(syntaxes)).items()}


def _flat(entries: Iterable[list[int]]) -> list[int]:
    return [value for entry in entries for value in entry]


def _renumbered(shape: str) -> list[int]:
    spans = syntax.renumbered(shape)
    entry, end = [len(spans)], 0
    for start, stop in spans:
        entry += (start - end, stop - start)
        end = stop
    return entry


def _symbol(shape: str) -> list[int]:
    span = syntax.symbol_span(shape)
    return [1 + span[0], span[1] - span[0]] if span else [0]


def _operation(shape: str, one: Syntax) -> list[int]:
    found = syntax.operation_span(shape, one)
    if found is None:
        return [0]
    dialect, (start, stop) = found
    return [1 + start, stop - start, DIALECTS.index(dialect)]
