"""The twins of the view in text and HTML, for terminals, GitHub, nbval and notebooks that have not been run.

They are short, and equal for equal dumps: no times, ids or addresses. Above `LARGE` lines in the final dump, they
leave out what would need all dumps, because the view must not wait for those.
"""

from __future__ import annotations

import difflib
import html as escaping
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any

from irwidget.trace import Trace, predecessors
from irwidget.trace.file import lines_of
from irwidget.views.packing import blank, facts_of, opening, repeated, step_name, text_of

LARGE = 5000
"""Lines of the final dump from which on the twins show only the list of passes."""
TEXT_LINES = 60
HTML_LINES = 200
_WIDTH = 160

_SYMBOL = re.compile(
    r'^\s*(?:(?:\w+\.)*(?:func|module|global)\b[^@"%]*(?:"\w*"[^@"%]*)?|(?:define|declare)\b[^@]*)'
    r'@("[^"]*"|[\w$.-]+)'
)


def is_large(trace: Trace) -> bool:
    """Whether the twins of a trace show only its list of passes."""
    return not trace.dumps or (text_of(trace.dumps[-1]) or "").count("\n") > LARGE


def text(traces: Sequence[Trace]) -> str:
    """The passes as a table, and the last change as a unified diff of at most 60 lines."""
    return "\n\n".join(_text(trace) for trace in traces)


def html(traces: Sequence[Trace]) -> str:
    """The same as HTML that reads well without styles and scripts; the diff has at most 200 lines."""
    return "\n".join(_html(trace) for trace in traces)


def _title(trace: Trace) -> str:
    counted = len(trace.dumps) - 1
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


def _rows(trace: Trace) -> list[_Row]:
    """The table of passes; a run of passes without a change is one row."""
    labels = repeated([dump.name for dump in trace.dumps])
    if is_large(trace):
        return [_Row((str(i), label, "", "")) for i, label in enumerate(labels)]
    rows: list[_Row] = []
    remembered = cache(blank)
    texts = [text_of(dump) for dump in trace.dumps]
    counted = [Counter(map(remembered, lines_of(text or ""))) for text in texts]
    before = predecessors(trace.dumps)
    states = [_state(text, texts[old] if old >= 0 else "", old < 0) for text, old in zip(texts, before, strict=True)]
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
            old = counted[before[i]] if before[i] >= 0 else Counter[str]()
            if before[i] >= 0 and trace.dumps[before[i]].scope != trace.dumps[i].scope:
                old = Counter(map(remembered, _beside(trace, before[i], i, texts)))
            gone, new = (old - counted[i]).total(), (counted[i] - old).total()
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


def _text(trace: Trace) -> str:
    rows = [("#", "pass", "gone", "new"), *_rows(trace)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [_title(trace)]
    if facts := _facts(trace):
        lines.append(facts)
    for number, name, gone, new in rows:
        line = f"{number:>{widths[0]}}  {name:<{widths[1]}}  {gone:>{widths[2]}}  {new:>{widths[3]}}"
        lines.append(line.rstrip())
    if failed := _failed(trace):
        lines += ["", f"error: {failed}"]
    if not is_large(trace):
        lines += ["", *_capped(list(_diff(trace)), TEXT_LINES)]
    return "\n".join(map(_plain, lines))


def _html(trace: Trace) -> str:
    say = _escape
    rows = "".join(
        f"<tr><td>{say(number)}</td><td><code>{say(name)}</code></td><td>{gone}</td><td>{new}</td></tr>"
        for number, name, gone, new in _rows(trace)
    )
    parts = [
        f"<p><strong>{say(_title(trace))}</strong>{say('. ' + facts) if (facts := _facts(trace)) else ''}</p>",
        f"<table><thead><tr><th>#</th><th>pass</th><th>gone</th><th>new</th></tr></thead><tbody>{rows}</tbody></table>",
    ]
    if failed := _failed(trace):
        parts.append(f"<p><strong>Error:</strong> {say(failed)}</p>")
    if not is_large(trace):
        lines = _capped(list(_diff(trace)), HTML_LINES) or [""]
        summary = lines[1].removeprefix("+++ ") if len(lines) > 1 else lines[0]
        body = "\n".join(say(line) for line in lines)
        parts.append(f"<details><summary>Last change: <code>{say(summary)}</code></summary><pre>{body}</pre></details>")
    return f"<div>{''.join(parts)}</div>"


def _escape(line: str) -> str:
    return escaping.escape(_plain(line))


def _plain(line: str) -> str:
    """The line without control characters and reversed text, and not longer than a screen is wide."""
    if len(line) > _WIDTH:
        line = line[: _WIDTH - 1] + "…"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line.expandtabs(4))


def _capped(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"... {len(lines) - most + 1} more lines"]


def _diff(trace: Trace) -> Iterator[str]:
    """The unified diff that views open with, renumbering apart; the text itself when there is one dump."""
    labels = repeated([dump.name for dump in trace.dumps])
    _, at = opening(trace)
    old = predecessors(trace.dumps)[at]
    texts = {i: text_of(trace.dumps[i]) for i in (at, old) if i >= 0}
    if None in texts.values():
        yield from (f"{labels[i]} is {_LOST}" for i, text in texts.items() if text is None)
        return
    after = lines_of(texts[at] or "")
    if old < 0:
        yield from after
        return
    before = _beside(trace, old, at, texts)
    yield f"--- {old} {labels[old]}"
    yield f"+++ {at} {labels[at]}"
    yield from _unified(before, after)


def _beside(trace: Trace, old: int, new: int, texts: Mapping[int, str | None] | Sequence[str | None]) -> list[str]:
    """The lines that a dump is compared with: of a module beside one of its functions, that function."""
    lines = lines_of(texts[old] or "")
    scope = trace.dumps[new].scope
    if scope.whole or trace.dumps[old].scope == scope:
        return lines
    shown = [name for name, _, _ in _cut(lines_of(texts[new] or "")) if name]
    if len(shown) != 1:
        return lines
    return next((lines[start:end] for name, start, end in _cut(lines) if name == shown[0]), lines)


def _unified(before: Sequence[str], after: Sequence[str], context: int = 3) -> Iterator[str]:
    matcher = _Operations(before, after)
    for group in matcher.get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        yield f"@@ -{first[1] + 1},{last[2] - first[1]} +{first[3] + 1},{last[4] - first[3]} @@"
        for tag, a0, a1, b0, b1 in group:
            if tag == "equal":
                yield from (f" {line}" for line in after[b0:b1])
            else:
                yield from (f"-{line}" for line in before[a0:a1])
                yield from (f"+{line}" for line in after[b0:b1])


class _Operations(difflib.SequenceMatcher[str]):
    """difflib, one symbol at a time: whole dumps take it minutes."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(None, [], [], autojunk=False)
        self.opcodes = list(_merged(_by_symbol(before, after)))


_Opcode = tuple[str, int, int, int, int]


def _cut(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    """Name and extent of each top-level symbol; what comes before the first has the name ""."""
    starts = [(0, "")]
    for i, line in enumerate(lines):
        if found := _SYMBOL.match(line):
            starts.append((i, found[1]))
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    return [(name, start, end) for (start, name), end in zip(starts, ends, strict=True)]


def _by_symbol(before: Sequence[str], after: Sequence[str]) -> Iterator[_Opcode]:
    left, right = _cut(before), _cut(after)
    names = difflib.SequenceMatcher(None, [name for name, _, _ in left], [name for name, _, _ in right], autojunk=False)
    for tag, i0, i1, j0, j1 in names.get_opcodes():
        if tag == "equal":
            for (_, a0, a1), (_, b0, b1) in zip(left[i0:i1], right[j0:j1], strict=True):
                yield from _segment(before, after, a0, a1, b0, b1)
        else:
            a0, a1 = (left[i0][1], left[i1 - 1][2]) if i1 > i0 else (_end(left, i0), _end(left, i0))
            b0, b1 = (right[j0][1], right[j1 - 1][2]) if j1 > j0 else (_end(right, j0), _end(right, j0))
            yield tag, a0, a1, b0, b1


def _end(segments: Sequence[tuple[str, int, int]], index: int) -> int:
    return segments[index - 1][2] if index else 0


def _segment(before: Sequence[str], after: Sequence[str], a0: int, a1: int, b0: int, b1: int) -> Iterator[_Opcode]:
    a, b = list(map(blank, before[a0:a1])), list(map(blank, after[b0:b1]))
    # A line that the other side lacks has changed in any case; popular lines beyond 200 are difflib's quadratic case.
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=len(a) + len(b) > 2000)
    for tag, i0, i1, j0, j1 in matcher.get_opcodes():
        yield tag, a0 + i0, a0 + i1, b0 + j0, b0 + j1


def _merged(codes: Iterable[_Opcode]) -> Iterator[_Opcode]:
    """Neighbouring stretches of the same sort as one, so that the context between symbols is right."""
    last: _Opcode | None = None
    for code in codes:
        if last and (last[0] == "equal") == (code[0] == "equal"):
            tag = last[0] if last[0] == code[0] else "replace"
            last = (tag, last[1], code[2], last[3], code[4])
            continue
        if last:
            yield last
        last = code
    if last:
        yield last
