"""Steps and passes of the pipeline widget."""

from __future__ import annotations

from typing import Literal, TypedDict


class PipelineStep(TypedDict):
    """A step of a pipeline under edit."""

    id: int
    """0 for a step of the route, which cannot be edited."""
    tool: str
    pass_: str
    label: str
    text: str
    """The arguments as they are written."""
    options: dict[str, str]
    enabled: bool
    state: Literal["", "waiting", "running", "done", "failed", "stopped"]
    seconds: float
    stage: int
    """The stage of the lowering that it left; -1 when there is none."""


class PassOption(TypedDict):
    """An option of a pass that the page may set."""

    name: str
    kind: Literal["flag", "integer", "number", "choice", "text"]
    default: str
    choices: list[str]
    help: str


class OfferedPass(TypedDict):
    """A pass that the page may pick."""

    name: str
    help: str
    options: list[PassOption]
