"""What a plan changes in words, and which lines to paste."""

from __future__ import annotations

from collections.abc import Mapping

from irwidget.spyre.estimate_data import us
from irwidget.spyre.program import SpyreProgram


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
