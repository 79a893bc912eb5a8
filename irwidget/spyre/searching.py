"""What if the work were divided otherwise: a joint search over splits and what lies in LX (docs/spyre-time.md)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from math import exp
from typing import Any, Literal

from irwidget.errors import UsageError
from irwidget.spyre.estimate_data import us
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.plans import differences, hints
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.variants import Choices, choices

CHANGE = 0.001
"""What a change of an op costs in us, so that of equals the nearer to today is taken."""

Method = Literal["auto", "cpsat", "annealing"]
OPS = 400
"""Ops of a program that is searched at most: of a model, search a layer."""
SHARES = (0.0, 0.25, 0.5, 1.0)
"""Shares of the scratchpad that the front is asked for."""


@dataclass(frozen=True)
class Plan:
    """One way to divide a program, compiled: its estimated time and its LX peak are those of the program."""

    program: SpyreProgram
    us: float
    lx_peak: int
    """Bytes of a core's scratchpad."""
    divisions: Mapping[str, Mapping[str, int]]
    """Splits by buffer and loop variable, where they are others than today, as `compile(..., divisions=...)` takes."""
    differences: tuple[str, ...]
    hints: tuple[str, ...]
    """`spyre_hint` lines, for ops whose dims have names; for others, what to name."""


@dataclass(frozen=True)
class Search:
    """What a search has found: today's plan, and the front of estimated time against LX, the fastest first."""

    today: Plan
    front: tuple[Plan, ...]
    method: str
    seed: int
    proven: bool
    """Whether the solver has proven its choice the best of its model, for every point of the front."""

    @property
    def best(self) -> Plan:
        """The fastest; today's where nothing is faster."""
        return min((self.today, *self.front), key=lambda plan: (plan.us, plan.lx_peak))

    def __str__(self) -> str:
        return text(self)


def search(
    program: SpyreProgram, *, method: Method = "auto", seed: int = 0, steps: int = 4000, seconds: float = 10.0
) -> Search:
    """Search splits and LX residency together, and compile what is found.

    `method`: cpsat (OR-Tools; `pip install irwidget[solver]`), annealing (of `steps` steps, repeatable by `seed`), or
    auto, which is cpsat where it is installed. `seconds` limit each run of cpsat. LX holds what the program's own
    options let it hold. Raises UsageError for programs of more than 400 ops, for one that does not know what it was
    compiled from, and for cpsat that is not installed; UnsupportedError for
    a plan that cannot be compiled.
    """
    chosen = _method(method)
    if len(program.graph.ops) > OPS:
        raise UsageError(
            f"{program.name} has {len(program.graph.ops)} ops: a search takes {OPS} at most. Search one layer of it."
        )
    if program.origin is None:
        raise UsageError(f"{program.name} does not know what it was compiled from: call irwidget.spyre.compile again.")
    table = choices(program)
    today = _plan(program, {}, program)
    found: dict[tuple[object, ...], Plan] = {}
    proven = True
    for share in SHARES if program.options.lx_planning else (0.0,):
        room = int(share * program.options.lx_bytes)
        if chosen == "cpsat":
            from irwidget.spyre.cpsat import solve

            picked, sure = solve(table, room, seconds, seed)
        else:
            picked, sure = anneal(table, room, seed, steps), False
        proven = proven and sure
        made = _compiled(program, table, picked, room)
        found.setdefault((round(made.us, 6), made.lx_peak), made)
    return Search(today, _front([today, *found.values()]), chosen, seed, proven)


def _method(method: str) -> str:
    if method not in ("auto", "cpsat", "annealing"):
        raise UsageError(f"method={method!r} is not known: auto, cpsat or annealing.")
    if method == "cpsat" and not _solver():
        raise UsageError("method='cpsat' needs OR-Tools: pip install 'irwidget[solver]', or method='annealing'.")
    return ("cpsat" if _solver() else "annealing") if method == "auto" else method


def _solver() -> bool:
    return find_spec("ortools") is not None


def _front(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """Those that no other beats in time and LX alike."""
    kept: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan.us, plan.lx_peak, len(plan.divisions))):
        if not kept or plan.lx_peak < kept[-1].lx_peak:
            kept.append(plan)
    return tuple(kept)


def _compiled(program: SpyreProgram, table: Choices, picked: Mapping[str, int], room: int) -> Plan:
    """Compile the choice: what the search hoped for counts for nothing, what the compiler then places does."""
    targets = {op.name: op.target for op in program.graph.ops}
    wanted = {targets[op]: dict(table.ops[op][i].splits) for op, i in picked.items() if i}
    options: dict[str, Any] = {f.name: getattr(program.options, f.name) for f in fields(SpyreSwitches)}
    options |= {"lx_bytes": max(room, 128), "lx_planning": program.options.lx_planning and room > 0}
    options |= {"divisions": {**program.options.divisions, **wanted}, "co_optimizing_lx_planning": False}
    assert program.origin is not None
    made = program.origin.again(program.origin.function, program.origin.inputs, name=program.name, **options)
    return _plan(made, wanted, program)


def _plan(made: SpyreProgram, wanted: Mapping[str, Mapping[str, int]], before: SpyreProgram) -> Plan:
    pad = made.scratchpad
    peak = max((address + pad.blocks[name].size for name, address in pad.addresses.items()), default=0)
    return Plan(made, made.estimate().us, peak, wanted, differences(before, made), hints(made, wanted))


# -- the model of the search -----------------------------------------------------------------------


def resident(table: Choices, picked: Mapping[str, int], room: int) -> frozenset[str]:
    """Which buffers lie in LX under a choice: what all users divide alike, in order of life, while there is room."""
    used: dict[int, int] = {}
    found: set[str] = set()
    for name in sorted(table.makers, key=lambda n: (table.lives[n][0], n)):
        share = fits(table, picked, name)
        if share is None:
            continue
        first, last = table.lives[name]
        if all(used.get(t, 0) + share <= room for t in range(first, last + 1)):
            found.add(name)
            for t in range(first, last + 1):
                used[t] = used.get(t, 0) + share
    return frozenset(found)


def fits(table: Choices, picked: Mapping[str, int], name: str) -> int | None:
    """Bytes per core of a buffer that all its users divide alike; None where they do not."""
    maker = table.ops[table.makers[name]][picked[table.makers[name]]]
    if maker.partial:
        return None
    (mine,) = maker.slices[name]
    others = [table.ops[r][picked[r]] for r in table.readers[name]]
    if any(slices != mine for one in others for slices in one.slices[name]):
        return None
    return -(-table.sizes[name] // mine[0])


def cost(table: Choices, picked: Mapping[str, int], room: int) -> float:
    """The estimated us of a choice, and a little for each change, so that none is made for nothing."""
    inside = resident(table, picked, room)
    total = 0.0
    for op, i in picked.items():
        variant = table.ops[op][i]
        total += variant.costs[inside.intersection(variant.slices)] + (CHANGE if i else 0.0)
    return total


def anneal(table: Choices, room: int, seed: int, steps: int) -> dict[str, int]:
    """Simulated annealing from today's choice: the same seed gives the same result."""
    dice = random.Random(seed)
    now = dict.fromkeys(table.ops, 0)
    free = [op for op, variants in table.ops.items() if len(variants) > 1]
    best, least = dict(now), cost(table, now, room)
    current, start = least, least
    neighbours = {op: _around(table, op) for op in free}
    for step in range(steps if free else 0):
        heat = 0.05 * start * (1 - step / steps) ** 2
        op = dice.choice(free)
        trial = {**now, op: dice.randrange(len(table.ops[op]))}
        if dice.random() < 0.5:  # take the neighbours along, as a buffer stays in LX only where all divide it alike
            splits = table.ops[op][trial[op]].splits
            for other in neighbours[op]:
                trial[other] = next((i for i, v in enumerate(table.ops[other]) if v.splits == splits), trial[other])
        made = cost(table, trial, room)
        if made <= current or (heat > 0 and dice.random() < exp((current - made) / heat)):
            now, current = trial, made
            if made < least:
                best, least = dict(trial), made
    return best


def _around(table: Choices, op: str) -> list[str]:
    """Ops that share a buffer with it."""
    found: list[str] = []
    for name, maker in table.makers.items():
        several = (maker, *table.readers[name])
        if op in several:
            found += [one for one in several if one != op and len(table.ops[one]) > 1]
    return list(dict.fromkeys(found))


# -- in words ---------------------------------------------------------------------------------------


def text(made: Search) -> str:
    """The front, what its fastest plan changes, and what to paste."""
    how = "CP-SAT" if made.method == "cpsat" else f"annealing, seed {made.seed}"
    sure = ", proven the best of its model" if made.proven else ""
    rows = [("estimated", "LX peak", "ops divided otherwise", "")]
    rows += [
        (us(p.us), f"{p.lx_peak:,} B", str(len(p.divisions)), "today" if p is made.today else "") for p in made.front
    ]
    if made.today not in made.front:
        rows.append((us(made.today.us), f"{made.today.lx_peak:,} B", "0", "today"))
    best = made.best
    lines = [f"{made.today.program.name}: time against LX, estimated ({how}{sure})", *_aligned(rows), ""]
    if best is made.today:
        return "\n".join([*lines, "Nothing that was tried is estimated faster than today's plan."]) + "\n"
    lines += ["The fastest, against today:", *(f"  {line}" for line in best.differences), ""]
    lines += ["Hints:", *(f"  {line}" for line in best.hints), ""]
    given = {name: {v: n for v, n in made.items() if n > 1} for name, made in best.divisions.items()}
    return "\n".join([*lines, f"Without hints: irwidget.spyre.compile(..., divisions={given})"]) + "\n"


def rows(made: Search) -> list[dict[str, Any]]:
    """The plans for the view, the fastest first, today's among them."""
    plans = made.front if made.today in made.front else (*made.front, made.today)
    return [
        {
            "us": round(plan.us, 3),
            "lx": plan.lx_peak,
            "today": plan is made.today,
            "differences": list(plan.differences),
            "hints": list(plan.hints),
            "divisions": {name: dict(splits) for name, splits in plan.divisions.items()},
        }
        for plan in plans
    ]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
