"""A lowering as text for a terminal that asks for less or more than the fallback: the table of passes, or one diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irwidget.errors import UsageError, near
from irwidget.trace import Trace
from irwidget.views.analysis import Analysis
from irwidget.views.fallbacks import unified
from irwidget.views.markup import aligned, visible
from irwidget.views.packing import repeated, text_of


def timed(trace: Trace, _: object = None) -> str:
    """Every pass with the lines that went and came, renumbering apart, and its time.

    What is not known of a pass is left empty, and said.
    """
    labels, analysis = repeated([dump.name for dump in trace.dumps]), Analysis(trace)
    rows = [("#", "pass", "gone", "new", "ms", "")]
    for i, dump in enumerate(trace.dumps):
        gone, new, said = _counted(trace, analysis, i)
        rows.append((str(i), labels[i], gone, new, f"{dump.seconds * 1000:.1f}" if dump.seconds else "", said))
    return "\n".join([f"{trace.name or 'IR'} -> {trace.target}", *aligned(rows, right=(0, 2, 3, 4))])


class Rows:
    """The passes of lowerings that grow, a line for each, as `timed` has them."""

    def __init__(self) -> None:
        self._said: list[int] = []
        """For each lowering how many dumps have been said."""

    def new(self, traces: Sequence[Trace]) -> Iterator[str]:
        """The lines for what has come since the last time; all again where it has become less."""
        if len(traces) < len(self._said) or any(
            len(one.dumps) < said for one, said in zip(traces, self._said, strict=False)
        ):
            self._said = []
        for at, trace in enumerate(traces):
            if at == len(self._said):
                self._said.append(0)
                yield f"{trace.name or 'IR'} -> {trace.target}"
            labels, analysis = repeated([dump.name for dump in trace.dumps]), Analysis(trace)
            for i in range(self._said[at], len(trace.dumps)):
                said = "  ".join(part for part in _counted(trace, analysis, i) if part)
                yield f"{i:>6}  {visible(labels[i])}  {said}".rstrip()
            self._said[at] = len(trace.dumps)


def _counted(trace: Trace, analysis: Analysis, at: int) -> tuple[str, str, str]:
    """Lines gone, lines new, and what there is to say instead."""
    old = analysis.before[at]
    if text_of(trace.dumps[at]) is None:
        return "", "", "not available"
    if old < 0:
        return "", f"+{len(analysis.lines(at))}", ""
    if text_of(trace.dumps[old]) is None:
        return "", "", "not compared"
    if trace.dumps[old].language != trace.dumps[at].language:
        return "", "", f"{trace.dumps[old].language} to {trace.dumps[at].language}"
    gone, new = analysis.delta(old, at)
    return f"-{gone}" if gone else "", f"+{new}" if new else "", ""


def changed_by(trace: Trace, wanted: str) -> str:
    """What a pass has changed, whole, as a unified diff; of another language, the text that it has made.

    `wanted` is its name, as lists number it (`cse (2)`), or its number. Raises UsageError for a pass that is not there.
    """
    at, labels = find_pass(trace, wanted), repeated([dump.name for dump in trace.dumps])
    analysis = Analysis(trace)
    old = analysis.before[at]
    for i in (at, old):
        if i >= 0 and text_of(trace.dumps[i]) is None:
            return f"{labels[i]} is not available"
    if old < 0 or trace.dumps[old].language != trace.dumps[at].language:
        return "\n".join(map(visible, analysis.lines(at)))
    start, stop = analysis.beside(old, at)
    hunks = analysis.shown(old, at)
    head = [f"--- {old} {labels[old]}", f"+++ {at} {labels[at]}"]
    if not hunks:
        return "\n".join([*head, "no change"])
    return "\n".join([*head, *map(visible, unified(analysis.lines(old)[start:stop], analysis.lines(at), hunks))])


_DIGITS = 20
"""Of a number of a dump, at most; of some thousands Python makes none."""


def find_pass(trace: Trace, wanted: str) -> int:
    """The number of the dump after a pass, by its name, as lists number it, or its number; -1 is the last.

    Raises UsageError for a pass that is not there.
    """
    labels = repeated([dump.name for dump in trace.dumps])
    if wanted in labels:
        return labels.index(wanted)
    if len(wanted) < _DIGITS and wanted.removeprefix("-").isdecimal() and -len(labels) <= int(wanted) < len(labels):
        return int(wanted) % len(labels)
    raise UsageError(f"{trace.name or 'IR'} -> {trace.target} has no pass {wanted!r}. {near(wanted, labels)}")
