"""A search in words: what a plan changes, which lines to paste, and the front as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irwidget.spyre.estimated import us

if TYPE_CHECKING:
    from irwidget.spyre.program import SpyreProgram
    from irwidget.spyre.search import Search


def differences(before: SpyreProgram, after: SpyreProgram) -> tuple[str, ...]:
    """What another plan changes, op by op: splits, LX, estimated time."""
    old, new = ({op.op: op for op in made.estimate().ops} for made in (before, after))
    told: list[str] = []
    for op in before.graph.ops:
        if not op.computed:
            continue
        now = next((one for one in after.graph.ops if one.name == op.name), None)
        if now is None:
            told.append(f"{op.target} = {op.func} is gone")
            continue
        said: list[str] = []
        if dict(op.splits) != dict(now.splits):
            said.append(f"split {splits(dict(op.splits))} -> {splits(dict(now.splits))}")
        was, is_ = (op.target in made.scratchpad.addresses for made in (before, after))
        if was != is_:
            said.append(
                "now in LX" if is_ else f"no longer in LX ({after.scratchpad.reasons.get(op.target, 'no plan')})"
            )
        a, b = old.get(op.name), new.get(now.name)
        if a and b and abs(a.us - b.us) > 1e-6:
            said.append(f"{us(a.us)} -> {us(b.us)}")
        if said:
            told.append(f"{op.target} = {op.func}: " + ", ".join(said))
    return tuple(told)


def splits(made: Mapping[str, int]) -> str:
    """A division in words: d0/4 d1/8."""
    return " ".join(f"{v}/{n}" for v, n in made.items() if n > 1) or "none"


def hints(program: SpyreProgram, wanted: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """The `spyre_hint` line of each op that is divided otherwise."""
    lines: list[str] = []
    for op in program.graph.ops:
        chosen = wanted.get(op.target)
        if chosen is None or not op.computed:
            continue
        place = f"line {op.line[1]}" if op.line[1] else "?"
        names = dict(op.dims)
        unnamed = [v for v, n in chosen.items() if n > 1 and v not in names]
        if unnamed:
            lines.append(
                f"# {place}, {op.target} = {op.func}: name the dims of its inputs first ({', '.join(unnamed)})"
            )
            continue
        given = ", ".join(f'"{names[v]}": {n}' for v, n in chosen.items() if n > 1)
        lines.append(f"with spyre_hint(work_div={{{given}}}):  # {place}, {op.target} = {op.func}")
    return tuple(lines)


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
