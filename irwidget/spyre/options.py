"""What a user may ask of the compiler; one frozen object that every pass reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from irwidget.errors import UnsupportedError, UsageError, near
from irwidget.registry import option
from irwidget.spyre.hardware import LX_BYTES, MAX_CORES, SEMANTICS

LAYOUT_SOLVERS = ("greedy", "firstfit", "bestfit")
RESTICKIFY_SOLVERS = ("beam", "greedy")


def _of(what: str, words: tuple[str, ...]) -> str:
    return f"{what}: {', '.join(words[:-1])} or {words[-1]}"


@dataclass(frozen=True, slots=True)
class SpyreSwitches:
    """The switches of the front end with their June 2026 defaults."""

    cores: int = option(MAX_CORES, f"how many cores, 1 to {MAX_CORES}")
    semantics: str = option(SEMANTICS, "whose semantics; there is one so far", known=(SEMANTICS,), flag="")
    lx_planning: bool = option(True, "place nothing in the scratchpad")
    layout_solver: str = option("greedy", _of("how the scratchpad is laid out", LAYOUT_SOLVERS), known=LAYOUT_SOLVERS)
    lx_bytes: int = option(LX_BYTES, "bytes of a core's scratchpad")
    allow_all_ops_in_lx_planning: bool = option(False, "plan the scratchpad for ops that are not listed, too")
    co_optimizing_lx_planning: bool = option(False, "divide the ops over the cores again, for the scratchpad")
    restickify_solver: str = option("beam", _of("how layouts are chosen", RESTICKIFY_SOLVERS), known=RESTICKIFY_SOLVERS)
    beam_width: int = option(64, "how many layouts beam search keeps")
    bundle_symbolic_args: bool = option(False, "symbolic addresses, as arguments of the bundle")
    unroll_loops: bool = option(True, "keep the loops of a bundle as scf.for")
    chunk_large_tensors: bool = option(False, "cut pointwise ops that no division brings under 256 MiB a core")
    core_id_k_fast_emission: bool = option(True, "a matmul's reduced dim need not vary fastest over the core ids")
    ignore_hints: bool = option(False, "ignore the hints of spyre_hint")
    host_for_refused: bool = option(False, "run on the host what the front end refuses, marked, instead of an error")
    layouts: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Order of dims by name of a module's parameter, where not the default."""
    divisions: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Splits by buffer and loop variable (`{"buf0": {"d0": 4}}`), checked and obeyed as a work_div hint is."""
    linear_weights: bool = option(True, "leave the weights of nn.Linear in their default layout")
    """Whether the 2-D weights of a module's nn.Linear get their stick on out_features, as `model.to("spyre")` does."""


def make_options(cores: int, options: Mapping[str, Any]) -> SpyreSwitches:
    """Options from keyword arguments; UsageError for unknown names and bad values."""
    known = {f.name for f in fields(SpyreSwitches)} - {"cores"}
    for name in options:
        if name not in known:
            raise UsageError(f"unknown option {name!r} of the Spyre compiler. {near(name, sorted(known))}")
    check_cores(cores)
    made = SpyreSwitches(cores=cores, **options)
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
