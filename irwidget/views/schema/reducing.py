"""Failures that are made small in a view."""

from __future__ import annotations

from typing import Literal, TypedDict


class Reducible(TypedDict):
    """What of a failed lowering can be made small."""

    trace: int
    ir: bool
    program: bool
    """Whether what was lowered is here: a model, or a kernel with its launch."""


ReductionState = Literal["running", "done", "stopped", "failed"]


class Reduction(TypedDict):
    """A failure on its way to the smallest IR, or the smallest program, that still fails so."""

    trace: int
    """The lowering of the view that failed."""
    program: bool
    state: ReductionState
    operations: int
    """How many the best so far has."""
    before: int
    """How many there were; 0 until it is known."""
    tried: int
    """Candidates that were run."""
    text: str
    """The best so far, when all is over the text for an issue; long ones are cut."""
    message: str
    """Why there is none."""
