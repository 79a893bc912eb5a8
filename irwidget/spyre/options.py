"""What a user may ask of the compiler; one frozen object that every pass reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from irwidget.errors import UnsupportedError, UsageError, near
from irwidget.spyre.hardware import LX_BYTES, MAX_CORES, SEMANTICS

LAYOUT_SOLVERS = ("greedy", "firstfit", "bestfit")
RESTICKIFY_SOLVERS = ("beam", "greedy")


@dataclass(frozen=True, slots=True)
class Options:
    """The switches of the front end with their June 2026 defaults."""

    cores: int = MAX_CORES
    semantics: str = SEMANTICS
    """The only semantics so far; later ones get a value of their own here."""
    lx_planning: bool = True
    layout_solver: str = "greedy"
    """greedy, firstfit or bestfit."""
    lx_bytes: int = LX_BYTES
    allow_all_ops_in_lx_planning: bool = False
    co_optimizing_lx_planning: bool = False
    restickify_solver: str = "beam"
    """beam or greedy."""
    beam_width: int = 64
    bundle_symbolic_args: bool = False
    unroll_loops: bool = True
    chunk_large_tensors: bool = False
    core_id_k_fast_emission: bool = True
    ignore_hints: bool = False
    layouts: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Order of dims by name of a module's parameter, where not the default."""
    divisions: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Splits by buffer and loop variable (`{"buf0": {"d0": 4}}`), checked and obeyed as a work_div hint is."""
    linear_weights: bool = True
    """Whether the 2-D weights of a module's nn.Linear get their stick on out_features, as `model.to("spyre")` does."""


def make_options(cores: int, options: Mapping[str, Any]) -> Options:
    """Options from keyword arguments; UsageError for unknown names and bad values."""
    known = {f.name for f in fields(Options)} - {"cores"}
    for name in options:
        if name not in known:
            raise UsageError(f"unknown option {name!r} of the Spyre compiler. {near(name, sorted(known))}")
    check_cores(cores)
    made = Options(cores=cores, **options)
    choices = {
        "layout_solver": LAYOUT_SOLVERS,
        "restickify_solver": RESTICKIFY_SOLVERS,
        "semantics": (SEMANTICS,),
    }
    for name, allowed in choices.items():
        value = getattr(made, name)
        if value not in allowed:
            raise UsageError(f"{name}={value!r} is not known. {near(str(value), allowed)}")
    if made.beam_width < 1:
        raise UsageError(f"beam_width={made.beam_width} leaves no layout to choose: give at least 1.")
    return made


def check_cores(cores: object) -> None:
    if not isinstance(cores, int) or isinstance(cores, bool) or not 1 <= cores <= MAX_CORES:
        raise UnsupportedError(
            f"Spyre backend does not support: invalid SENCORES value {cores}. The card has {MAX_CORES} cores:"
            f" give a whole number from 1 to {MAX_CORES}."
        )
