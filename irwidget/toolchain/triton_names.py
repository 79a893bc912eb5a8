"""Locations of block arguments, which carry the names of loop variables and of what a loop hands on.

MLIR's text leaves them out of `scf.for` and `scf.while`, and libtriton writes no bytecode: a module that is sent as
text would lose the user's names in its first pass. So they go with the text, as a comment at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Arguments = tuple[tuple[int, int, str], ...]
"""Of each block argument: the number of its block in the order of a walk, its own number, its location as text."""

_MARK = "\n// irwidget: block arguments "
_LEFT_OUT = ("scf.", "ttg.warp_specialize")
"""What marks operations that are printed without the locations of their block arguments."""


def text(module: Any) -> str:
    """A module of libtriton as text with all its locations."""
    printed = module.str()
    return join(printed, collect(module, printed))


def join(printed: str, arguments: Arguments) -> str:
    """A module's text with its block arguments, as `split` takes it apart."""
    return f"{printed}{_MARK}{json.dumps(arguments)}\n" if arguments else printed


def split(text: str) -> tuple[str, Arguments]:
    """A module's text as libtriton prints it, and its block arguments."""
    printed, mark, rest = text.partition(_MARK)
    return printed, tuple((block, index, place) for block, index, place in json.loads(rest)) if mark else ()


def collect(module: Any, printed: str) -> Arguments:
    """The block arguments of a module, unless what it was `printed` as says all of their locations itself."""
    if not any(word in printed for word in _LEFT_OUT):
        return ()
    return tuple(
        (number, index, str(argument.get_loc()))
        for number, index, argument in _arguments(module)
        if hasattr(argument, "get_loc")  # not before Triton 3.5
    )


def restore(module: Any, arguments: Arguments, builder: Any) -> None:
    """Give the block arguments of a module that was parsed the locations that they had."""
    places = {(block, index): place for block, index, place in arguments}
    for number, index, argument in _arguments(module):
        made = _location(builder, places.get((number, index), ""))
        if made is not None:
            argument.set_loc(made)


def _arguments(module: Any) -> Iterator[tuple[int, int, Any]]:
    """The block arguments of a module with the numbers of their blocks."""
    blocks: dict[int, Any] = {}

    def visit(operation: Any) -> None:
        block = operation.get_block()
        if block is not None:
            blocks.setdefault(block.id(), block)

    module.walk(visit)
    for number, block in enumerate(blocks.values()):
        for index in range(block.get_num_arguments()):
            yield number, index, block.get_argument(index)


_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\((.*)\))?', re.S)
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_ESCAPED = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")


def _location(builder: Any, place: str) -> Any:
    """A location from its text: a place in a file, with names around it; None for anything else."""
    if place.startswith("loc("):
        place = place[4:-1]
    if match := _FILE.fullmatch(place):
        return builder.create_loc(_plain(match[1]), int(match[2]), int(match[3]))
    match = _NAMED.fullmatch(place)
    if match is None:
        return None
    inner = _location(builder, match[2]) if match[2] else None
    return None if match[2] and inner is None else builder.create_name_loc(_plain(match[1]), inner)


def _plain(escaped: str) -> str:
    """A string of MLIR's without its escapes, which stand for bytes by two hexadecimal digits."""
    plain = _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]) if len(match[1]) == 2 else match[1], escaped.encode())
    return plain.decode(errors="replace")
