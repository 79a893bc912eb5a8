"""Why one-shot-bufferize gave operands buffers of their own."""

from __future__ import annotations

from typing import TypedDict


class BufferPlace(TypedDict):
    """An operand, result or argument of an operation; `line` is of the dump before the pass, from 1."""

    line: int
    said: str
    user: str
    """The user's file, or empty; `place` is its line."""
    place: int


class BufferConflict(TypedDict):
    """`write` would overwrite what `definition` made before `read` has read it."""

    definition: BufferPlace
    write: BufferPlace
    read: BufferPlace


class OwnBuffer(TypedDict):
    """An operand that is not written in place; `related` are conflicts that its operation takes part in otherwise."""

    operand: BufferPlace
    conflicts: list[BufferConflict]
    related: list[BufferConflict]


class Bufferization(TypedDict):
    """What the analysis found."""

    own: list[OwnBuffer]
    not_writable: list[BufferPlace]
