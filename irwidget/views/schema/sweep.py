"""The cells of a sweep."""

from __future__ import annotations

from typing import TypedDict


class SweepCell(TypedDict):
    """One lowering of a sweep."""

    model: str
    target: str
    status: str
    mark: str
    """What the cell of the heat map says."""
    message: str
    step: str
    pass_: str
    op: str
    place: str
    seconds: float
    passes: int
    lines: int
    dumps: bool
    """Whether its dumps were kept."""


class SweepData(TypedDict):
    """A sweep as a heat map."""

    models: list[str]
    targets: list[str]
    cells: list[SweepCell]
    tools: list[str]
