"""Experiments: what is edited, what is planned, what came of it."""

from __future__ import annotations

from typing import Literal, TypedDict


class TextEdit(TypedDict):
    """The lines that an experiment has in place of some of a dump."""

    first: int
    """The first line that is another one, from 0."""
    gone: int
    """How many lines of the dump are not there."""
    lines: list[str]
    of: str
    """A digest of the dump's text."""


class ArrangedPass(TypedDict):
    """A pass that an experiment runs."""

    place: int
    """Its position among those that the lowering ran after the dump."""
    options: dict[str, str]
    """Those that have another value."""


class PlannedPass(TypedDict):
    """A pass that a lowering ran after a dump."""

    name: str
    step: str
    stage: int
    """The dump that it left; -1 for none."""
    options: dict[str, str]
    """What can be changed of it."""


class Plan(TypedDict):
    """What a page asks for before it edits a dump."""

    passes: list[PlannedPass]
    parser: bool
    """Whether something here reads the language."""


class Problem(TypedDict):
    """What the parser or the verifier says of a text."""

    line: int
    """From 1; 0 where it says none."""
    column: int
    message: str


class ComparedPass(TypedDict):
    """A pass of two lowerings, or of one."""

    name: str
    left: int
    """Its dump in the left one, for an experiment in what it starts from; -1 for none."""
    right: int
    """That in the right one, the experiment."""
    state: Literal["same", "differs", "only left", "only right", "not compared"]


class ComparisonOutcome(TypedDict):
    """Two lowerings side by side: an experiment and what it starts from, or any other two."""

    told: list[str]
    """All that is said above both: of two that a search found, what that says before the summary."""
    summary: str
    """Where they differ, in a sentence."""
    passes: list[ComparedPass]
    facts: list[tuple[str, str, str]]
    """Name and both values; what was not computed says so."""


ExperimentState = Literal["kept", "running", "done", "failed", "stopped"]


class Experiment(TypedDict):
    """A lowering that goes on from an edited dump, or with other passes; kept with the notebook."""

    id: int
    """From 1."""
    name: str
    parent: int
    """The experiment whose dump it starts from; 0 for a dump of a lowering of the view."""
    lowering: int
    """Which lowering of the view it, or the first of its parents, starts from."""
    stage: int
    """The dump that it starts from, by its number there; -1 for the cell, with another text."""
    after: str
    """The pass that left that dump."""
    edit: TextEdit | None
    """null where the text is the dump's."""
    passes: list[ArrangedPass] | None
    """What runs, in order; null for what the lowering ran."""
    check: bool
    state: ExperimentState
    """`kept`: it has not run since the lowering was made."""
    trace: int
    """Its lowering among those of the view; -1 where there is none."""
    message: str
    pipeline: str
    """What runs, as a custom pipeline; "" where nothing does or it is not known."""
    toolchain: str
    """The other releases that it runs with; "" for those of the kernel."""
    switches: list[str]
    """What it has besides in a command of its own: `--no-elide`, `--external`."""
    cell: str
    """The options of its magic, of one that starts from the cell; "" for others."""
    outcome: ComparisonOutcome | None
    """null until all of it is there."""
