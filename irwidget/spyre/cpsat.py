"""The joint search as a model of OR-Tools' CP-SAT; imported where it is installed only."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from irwidget.spyre.variants import Choices

_NANO = 1000
"""Costs are whole nanoseconds, and one for each change."""


def solve(table: Choices, room: int, seconds: float, seed: int) -> tuple[dict[str, int], bool]:
    """Which variant each op takes, and whether that is proven to be the best of this model.

    Space in LX is counted, not laid out: what the compiler then has no room for stays in device memory.
    """
    from ortools.sat.python import cp_model  # pyright: ignore[reportMissingImports]

    model: Any = cp_model.CpModel()
    takes: dict[tuple[str, int], Any] = {}
    inside = {name: model.new_bool_var(f"lx {name}") for name in table.makers}
    terms: list[Any] = []
    for op, variants in table.ops.items():
        for i in range(len(variants)):
            takes[op, i] = model.new_bool_var(f"{op} {i}")
        model.add_exactly_one([takes[op, i] for i in range(len(variants))])
        for i, variant in enumerate(variants):
            states: list[Any] = []
            for state, us in variant.costs.items():
                literal = model.new_bool_var(f"{op} {i} {sorted(state)}")
                states.append(literal)
                terms.append((round(us * _NANO) + (i > 0)) * literal)
                for name in variant.slices:
                    model.add_implication(literal, inside[name] if name in state else inside[name].negated())
            model.add(sum(states) == takes[op, i])
    shares = {name: _alike(model, table, takes, inside, name) for name in table.makers}
    for t in sorted({t for first, last in table.lives.values() for t in (first, last)}):
        live = [name for name, (first, last) in table.lives.items() if first <= t <= last]
        used = [bytes_ * literal for name in live for literal, bytes_ in shares[name]]
        if used:
            model.add(sum(used) <= room)
    model.minimize(sum(terms))
    solver: Any = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.random_seed = seed
    solver.parameters.num_workers = 1  # so that the same seed gives the same result
    solver.parameters.catch_sigint_signal = False  # else Ctrl-C would end the process from the first solve on
    status = _interruptible(solver, model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return dict.fromkeys(table.ops, 0), False
    return {op: i for (op, i), literal in takes.items() if solver.value(literal)}, status == cp_model.OPTIMAL


def _interruptible(solver: Any, model: Any) -> Any:
    """Solve on another thread, since the native search looks at no interrupt of Python's."""
    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(solver.solve, model)
        try:
            return status.result()
        except BaseException:
            solver.stop_search()
            raise


def _alike(
    model: Any, table: Choices, takes: Mapping[tuple[str, int], Any], inside: Mapping[str, Any], name: str
) -> list[tuple[Any, int]]:
    """The ways that its maker divides a buffer, with their bytes per core: in LX, all its users take the same one."""
    maker = table.makers[name]
    ways = {v.slices[name][0] for v in table.ops[maker] if not v.partial}
    literals: list[tuple[Any, int]] = []
    for way in sorted(ways):
        literal = model.new_bool_var(f"lx {name} {way}")
        literals.append((literal, -(-table.sizes[name] // way[0])))
        for op in (maker, *table.readers[name]):
            fit = [
                takes[op, i]
                for i, v in enumerate(table.ops[op])
                if all(slices == way for slices in v.slices[name]) and not (op == maker and v.partial)
            ]
            model.add(sum(fit) == 1).only_enforce_if(literal)
    model.add(sum(literal for literal, _ in literals) == inside[name])
    return literals
