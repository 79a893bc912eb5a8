"""The course of a lowering."""

from __future__ import annotations

from typing import TypedDict


class ProgressPhase(TypedDict):
    """A part of a lowering that goes on."""

    name: str
    seconds: float
    over: bool


class ProgressPass(TypedDict):
    """The pass under way."""

    pass_: str
    step: str
    seconds: float
    """Since it began; where it is `over`, since it ended."""
    over: bool
    """Whether only passes that have ended are told of: which one runs is not known."""


class ProgressBefore(TypedDict):
    """How the same lowering went the time before."""

    seconds: float
    passes: int


class Progress(TypedDict):
    """Where a lowering is; seconds are those at the time of sending."""

    name: str
    seconds: float
    phases: list[ProgressPhase]
    passes: int
    """How many passes have begun."""
    running: ProgressPass | None
    last: ProgressBefore | None
