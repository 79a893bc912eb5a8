"""The fallbacks of the view in text and HTML, for terminals, GitHub, nbval and notebooks that have not been run.

They are short, and equal for equal dumps: no times, ids or addresses. Above `LARGE` lines in the final dump, or where
there is very much text, they leave out what would need all dumps, because the view must not wait for those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from irwidget.trace import Dump, Trace
from irwidget.views import graph_text
from irwidget.views.analysis import Analysis
from irwidget.views.diff import Hunk
from irwidget.views.markup import aligned, capped, folded, joined, shortened, table, tag
from irwidget.views.packing import facts_of, letters, opening, repeated, step_name, text_of

LARGE = 5000
"""Lines of the final dump from which on the fallbacks show only the list of passes."""
LETTERS = 4_000_000
"""Letters of all dumps from which on they do, too."""
_ALL_LETTERS = 4 * LETTERS
"""The same of several lowerings together."""
MOST_ROWS = 2000
"""Passes that the lists of all lowerings name above that; a lowering without room is its title."""
MOST_TITLES = 200
"""Lowerings that are named at most, once there is no room for their passes."""
TEXT_LINES = 60
HTML_LINES = 200
REMARKS = 8
ABSENT = "Not compared: the texts had not come when this was written"


def is_large(trace: Trace) -> bool:
    """Whether a trace is too much text for the fallbacks."""
    if not trace.dumps or (text_of(trace.dumps[-1]) or "").count("\n") > LARGE:
        return True
    return letters([trace], LETTERS) > LETTERS


def is_awaited(trace: Trace) -> bool:
    """Whether the texts of a trace are waited for: not those of an interrupted run, which are made again."""
    interrupted = trace.failure is not None and trace.failure.kind == "interrupt"
    return not interrupted or all(dump.ready for dump in trace.dumps)


def _in_full(trace: Trace) -> bool:
    """Whether the fallbacks of a trace show more than its list of passes."""
    return is_awaited(trace) and not is_large(trace)


def text(traces: Sequence[Trace], *, listed: bool = False) -> str:
    """The passes as a table, and the last change as a unified diff of at most 60 lines.

    `listed`: only the list of passes, which needs no text.
    """
    told, left = _told(traces, _text, listed)
    return "\n\n".join([*told, *([left] if left else [])])


def html(traces: Sequence[Trace], *, listed: bool = False) -> str:
    """The same as HTML that reads well without styles and scripts; the diff has at most 200 lines."""
    told, left = _told(traces, _html, listed)
    return "\n".join([*told, *([tag("p", left)] if left else [])])


def _told(
    traces: Sequence[Trace], tell: Callable[[Trace, int | None, Sequence[str]], str], listed: bool
) -> tuple[list[str], str]:
    """What there is to tell of each lowering, and how many have no room."""
    rooms, remarks = _rooms(traces, listed), _remarks(traces, listed)
    told = [tell(trace, room, said) for trace, room, said in zip(traces, rooms, remarks, strict=False)]
    return told, f"... {len(traces) - len(told)} more lowerings" if len(told) < len(traces) else ""


def _remarks(traces: Sequence[Trace], listed: bool) -> Iterator[list[str]]:
    """Of each what there is to say though it did not fail: what was left out, or not checked and why. Each once."""
    seen: set[str] = set()
    for trace in traces:
        said = (f"{one.severity}: {one.message}" for one in trace.said if one.severity in ("remark", "warning"))
        new = [one for one in dict.fromkeys(said) if one not in seen]
        seen |= set(new)
        yield [*([ABSENT] if listed or not is_awaited(trace) else []), *capped(new, REMARKS)]


def _too_much(traces: Sequence[Trace]) -> bool:
    """Whether all of them together are so much text that none of it is read."""
    return len(traces) > 1 and letters(traces, _ALL_LETTERS) > _ALL_LETTERS


def _rooms(traces: Sequence[Trace], listed: bool) -> list[int | None]:
    """For each lowering the passes that its list has room for; None where all there is to say is said.

    Those for which there is no more room, not even for titles, are left out.
    """
    all_listed = listed or _too_much(traces)
    rooms: list[int | None] = []
    left, titles = MOST_ROWS, MOST_TITLES
    for trace in traces:
        if not all_listed and _in_full(trace):
            rooms.append(None)
        elif left:
            rooms.append(left)
            left -= min(left, len(trace.dumps))
        elif titles:
            rooms.append(0)
            titles -= 1
        else:
            break
    return rooms


def _is_input(dump: Dump) -> bool:
    """Whether a dump is what a lowering starts from, and not what its first pass made."""
    return dump.step < 0 or dump.name == "input"


def _title(trace: Trace) -> str:
    counted = len(trace.dumps) - (1 if trace.dumps and _is_input(trace.dumps[0]) else 0)
    passes = f"{counted} pass" if counted == 1 else f"{counted} passes"
    return f"{trace.name} -> {trace.target}: {passes}" if trace.name else f"{trace.target}: {passes}"


def _facts(trace: Trace) -> str:
    return "; ".join(f"{name} {value}" for name, value in facts_of(replace(trace, facts=_exact(trace.facts))))


def _exact(facts: Any) -> Any:
    """The facts without measured numbers, which differ from machine to machine, and without empty ones."""
    match facts:
        case Mapping():
            kept = {name: value for name, value in facts.items() if not isinstance(value, float)}
            return {name: _exact(value) for name, value in kept.items() if value not in (None, "")}
        case list() | tuple():
            return [_exact(fact) for fact in facts]
        case _:
            return facts


class _Row(tuple[str, str, str, str]):
    """Number, pass, lines gone, lines new."""

    __slots__ = ()


def _rows(trace: Trace, room: int | None) -> list[_Row]:
    """The table of passes; a run of passes without a change is one row. With `room`, only their names."""
    labels = repeated([dump.name for dump in trace.dumps])
    if room is not None:
        listed = [_Row((str(i), label, "", "")) for i, label in enumerate(labels[:room])]
        left = len(labels) - len(listed)
        return [*listed, _Row(("", f"... {left} more passes", "", ""))] if left else listed
    rows: list[_Row] = []
    analysis = Analysis(trace)
    texts = [text_of(dump) for dump in trace.dumps]
    before = analysis.before
    inputs = [old < 0 and _is_input(dump) for dump, old in zip(trace.dumps, before, strict=True)]
    known = ["" if first else texts[old] if old >= 0 else None for first, old in zip(inputs, before, strict=True)]
    states = [_state(text, old, first) for text, old, first in zip(texts, known, inputs, strict=True)]
    for state, group in groupby(range(len(labels)), key=states.__getitem__):
        stages = list(group)
        if state in (_LOST, _UNKNOWN):
            rows += [_Row((str(i), f"{labels[i]}, {state}", "", "")) for i in stages]
            continue
        if state == _SAME:
            names = f"{len(stages)} passes, no change" if len(stages) > 1 else f"{labels[stages[0]]}, no change"
            span = f"{stages[0]}-{stages[-1]}" if len(stages) > 1 else str(stages[0])
            rows.append(_Row((span, names, "", "")))
            continue
        for i in stages:
            gone, new = analysis.delta(before[i], i) if before[i] >= 0 else (0, len(analysis.lines(i)))
            rows.append(_Row((str(i), labels[i], f"-{gone}" if gone else "", f"+{new}" if new else "")))
    return rows


_SAME, _CHANGED, _LOST, _UNKNOWN = "no change", "changed", "not available", "not compared"


def _state(text: str | None, before: str | None, first: bool) -> str:
    """What there is to say of a dump beside the one before it."""
    if text is None:
        return _LOST
    if before is None:
        return _UNKNOWN
    return _CHANGED if first or text != before else _SAME


def _failed(trace: Trace) -> str:
    failure = trace.failure
    if failure is None:
        return ""
    return f"{failure.pass_name or step_name(trace, failure)} failed: {failure.message}"


def _text(trace: Trace, room: int | None, remarks: Sequence[str]) -> str:
    lines = [_title(trace)]
    if facts := _facts(trace):
        lines.append(facts)
    lines += remarks
    if room != 0:
        lines += aligned([("#", "pass", "gone", "new"), *_rows(trace, room)], right=(0, 2, 3))
    if failed := _failed(trace):
        lines += ["", *f"error: {failed}".split("\n")]
    if room is None:
        lines += ["", *capped(list(_diff(trace)), TEXT_LINES)]
    return "\n\n".join(["\n".join(map(shortened, lines)), *graph_text.graphs(trace.attachments)])


def _html(trace: Trace, room: int | None, remarks: Sequence[str]) -> str:
    facts, failed = _facts(trace), _failed(trace)
    parts = [
        tag("p", tag("strong", shortened(_title(trace))), shortened(f". {facts}") if facts else ""),
        *(tag("p", shortened(remark)) for remark in remarks),
    ]
    if room != 0:
        rows = [(number, tag("code", shortened(name)), gone, new) for number, name, gone, new in _rows(trace, room)]
        parts.append(table(("#", "pass", "gone", "new"), rows))
    if failed:
        parts.append(tag("p", tag("strong", "Error:"), " ", shortened(failed)))
    if room is None:
        lines = list(map(shortened, capped(list(_diff(trace)), HTML_LINES) or [""]))
        summary = lines[1].removeprefix("+++ ") if len(lines) > 1 else lines[0]
        parts.append(folded(joined(["Last change: ", tag("code", summary)]), tag("pre", "\n".join(lines))))
    for graph in graph_text.graphs(trace.attachments):
        parts.append(folded(graph.split("\n")[0], tag("pre", graph)))
    return tag("div", *parts)


def _diff(trace: Trace) -> Iterator[str]:
    """The unified diff that views open with; the text itself when there is one dump."""
    labels = repeated([dump.name for dump in trace.dumps])
    analysis = Analysis(trace)
    _, at = opening(trace)
    old = analysis.before[at]
    if lost := [i for i in (at, old) if i >= 0 and text_of(trace.dumps[i]) is None]:
        yield from (f"{labels[i]} is {_LOST}" for i in lost)
        return
    if old < 0:
        yield from analysis.lines(at)
        return
    yield f"--- {old} {labels[old]}"
    yield f"+++ {at} {labels[at]}"
    start, stop = analysis.beside(old, at)
    yield from unified(analysis.lines(old)[start:stop], analysis.lines(at), analysis.shown(old, at))


def unified(before: Sequence[str], after: Sequence[str], hunks: Sequence[Hunk], context: int = 3) -> Iterator[str]:
    """A unified diff of lines, with so many equal ones around each change; those are as in `after`."""
    for group in _near(hunks, 2 * context):
        first, last = group[0], group[-1]
        lead, trail = min(context, first.a0), min(context, len(before) - last.a1)
        a0, b0 = first.a0 - lead, first.b0 - lead
        yield f"@@ -{a0 + 1},{last.a1 + trail - a0} +{b0 + 1},{last.b1 + trail - b0} @@"
        for one in group:
            yield from (f" {line}" for line in after[b0 : one.b0])
            yield from (f"-{line}" for line in before[one.a0 : one.a1])
            yield from (f"+{line}" for line in after[one.b0 : one.b1])
            b0 = one.b1
        yield from (f" {line}" for line in after[b0 : b0 + trail])


def _near(hunks: Sequence[Hunk], most: int) -> Iterator[list[Hunk]]:
    """The hunks in groups with at most so many equal lines between two."""
    group: list[Hunk] = []
    for one in hunks:
        if group and one.a0 - group[-1].a1 > most:
            yield group
            group = []
        group.append(one)
    if group:
        yield group
