"""A picture and the texts of a program as they are sent: what layers repeat is there once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def shared(made: Mapping[str, Any]) -> dict[str, Any]:
    """A picture as it is sent: tiles and slices that several ops have are in `shared` once, and named by number."""
    table: list[Any] = []
    numbers: dict[int, int] = {}

    def number(one: list[Any]) -> int:
        if id(one) not in numbers:
            numbers[id(one)] = len(table)
            table.append(one)
        return numbers[id(one)]

    ops = [
        op
        | {
            "slices": number(op["slices"]),
            "tensors": [tensor | {"tiles": number(tensor["tiles"])} for tensor in op["tensors"]],
        }
        for op in made["ops"]
    ]
    return {**made, "ops": ops, "shared": table}


def shared_texts(made: Mapping[str, Any]) -> dict[str, Any]:
    """The texts as they are sent: SuperDSC files in pieces, each of which is there once."""
    table: dict[str, int] = {}
    files = [
        one | {"text": [table.setdefault(piece, len(table)) for piece in _pieces(one["text"])]} for one in made["files"]
    ]
    return {**made, "files": files, "pieces": list(table)}


_CUTS = (('{"nodeType_"', 0), ('"labeledDs_"', 0), ('": {"sdscFoldProps_"', 4), ('"N_"', 0))
"""Where a SuperDSC file may be cut, characters into these: its tensors, and what is before and after them."""


def _pieces(text: str) -> list[str]:
    """A text in pieces. JSON has no NUL of its own, and looking for these words is faster than an expression."""
    for word, at in _CUTS:
        text = text.replace(word, f"{word[:at]}\0{word[at:]}")
    return [piece for piece in text.split("\0") if piece]
