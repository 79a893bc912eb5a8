"""What can be asked of one lowering."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from irwidget.errors import UsageError
from irwidget.lazy import cached_property
from irwidget.queries import bounds
from irwidget.queries.history import History
from irwidget.toolchain import forked
from irwidget.trace import Dump, Location, Trace, syntax
from irwidget.views.analysis import Analysis
from irwidget.views.fallbacks import unified
from irwidget.views.packing import part_of, repeated, text_of
from irwidget.views.terminal import find_pass

Answer: TypeAlias = dict[str, Any]
"""JSON-able data."""
SEARCH_SECONDS = 10.0
"""What a search for a regular expression may take."""


class Questions:
    """The questions that can be asked of a trace; each answer is JSON-able, and waits for the texts that it needs.

    Passes are named as lists number them (`cse (2)`), or by the number of their dump, 0 being the input, -1 the last;
    lines are numbered from 1. Every question raises UsageError for a pass or a line that is not there.

    most: characters of an answer, about; a longer one ends before, and its `next` says where to go on.
    """

    def __init__(self, trace: Trace, most: int = bounds.MOST) -> None:
        self.trace = trace
        self._most = most
        self._analysis = Analysis(trace)
        self._history = History(trace, self._analysis)

    @cached_property
    def labels(self) -> list[str]:
        """The name of each dump, as lists number it."""
        return repeated([dump.name for dump in self.trace.dumps])

    def overview(self) -> Answer:
        """What was lowered, by which tools and steps, how it ended, what `--check` said, and facts beside the IR."""
        trace = self.trace
        return {
            "name": trace.name,
            "target": trace.target,
            "passes": max(len(trace.dumps) - 1, 0),
            "steps": [one.command if str(one) in one.command else f"{one}: {one.command}" for one in trace.steps],
            "tools": dict(trace.tools),
            "check": str(trace.check) if trace.check else "not asked for",
            "failure": self._failure(),
            "diagnostics": bounds.part([str(one) for one in trace.said], most=self._most // 4),
            "facts": _readable(trace.facts),
            "files": sorted(trace.sources),
        }

    def _failure(self) -> Answer | None:
        failure = self.trace.failure
        if failure is None:
            return None
        step = self.trace.step_of(failure)
        return {
            "pass": failure.pass_name,
            "step": str(step) if step else "",
            "message": bounds.short(failure.message, 2000),
            "diagnostics": [bounds.short(str(one), 1000) for one in failure.diagnostics[:5]],
            "reproducer": bounds.short(failure.reproducer, 1000),
        }

    def passes(self, first: int = 0, count: int | None = None, *, changed: bool = False) -> Answer:
        """Every pass: its name, options and milliseconds, and the lines that went and came, renumbering apart.

        changed: only those that changed something. Lines are left out where they were not compared, and said so.
        """
        bounds.check(first, count)
        rows = [self._row(i) for i in range(len(self.trace.dumps))]
        return bounds.part([row for row in rows if not changed or self._counts(row)], first, count, self._most)

    @staticmethod
    def _counts(row: Answer) -> bool:
        return "note" in row or bool(row.get("gone") or row.get("new"))

    def _row(self, at: int) -> Answer:
        dump = self.trace.dumps[at]
        row: Answer = {"number": at, "pass": self.labels[at], "language": dump.language}
        if dump.options:
            row["options"] = bounds.short(dump.options)
        if part_of(dump):
            row["scope"] = part_of(dump)
        if dump.seconds:
            row["ms"] = round(dump.seconds * 1000, 2)
        return {**row, **self._delta(at)}

    def _delta(self, at: int) -> Answer:
        old = self._analysis.before[at]
        dump = self.trace.dumps[at]
        if text_of(dump) is None:
            return {"note": "its text is not available"}
        if old < 0:
            return {"lines": len(self._analysis.lines(at))}
        if text_of(self.trace.dumps[old]) is None:
            return {"note": "not compared: the text before it is not available"}
        if self.trace.dumps[old].language != dump.language:
            return {"note": f"from {self.trace.dumps[old].language} to {dump.language}"}
        gone, new = self._analysis.delta(old, at)
        return {"gone": gone, "new": new}

    def text(self, which: str, first: int = 1, count: int | None = None) -> Answer:
        """The lines of a dump from line `first` on, each `NUMBER: text`."""
        at = self.find(which)
        bounds.check(first, count, least=1)
        lines = [f"{i}: {bounds.short(line)}" for i, line in enumerate(self._lines(at), 1)]
        answer = bounds.part(lines, first - 1, count, self._most)
        if "next" in answer:
            answer["next"] += 1
        return {"pass": self.labels[at], "language": self.trace.dumps[at].language, **answer}

    def diff(self, which: str, against: str = "", first: int = 0, count: int | None = None) -> Answer:
        """What a pass changed, as the lines of a unified diff, renumbering apart; `against`: since that pass.

        Where the language differs there is no diff: the answer says so in `note`.
        """
        bounds.check(first, count)
        at = self.find(which)
        old = self.find(against) if against else self._analysis.before[at]
        answer: Answer = {"pass": self.labels[at], "against": self.labels[old] if old >= 0 else None}
        if old < 0:
            return {**answer, "note": "it is compared with nothing: it is the input, or the first of its scope"}
        before, after = self.trace.dumps[old].language, self.trace.dumps[at].language
        if before != after:
            return {**answer, "note": f"not compared: {before} became {after}"}
        old_lines, lines = self._lines(old), self._lines(at)
        start, stop = self._analysis.beside(old, at)
        hunks = self._analysis.shown(old, at)
        shown = unified(old_lines[start:stop], lines, hunks) if hunks else []
        return {**answer, **bounds.part([bounds.short(line) for line in shown], first, count, self._most)}

    def line(self, which: str, line: int) -> Answer:
        """One line: the user's line that it came from, the pass that last changed it, and its earlier versions."""
        at = self.find(which)
        lines = self._lines(at)
        if not 1 <= line <= len(lines):
            raise UsageError(f"{self.labels[at]} has the lines 1 to {len(lines)}, not {line}")
        versions = self._history.versions(at, line - 1)
        earlier = [
            {
                "pass": self.labels[one.dump],
                "line": one.line + 1,
                "text": bounds.short(self._analysis.lines(one.dump)[one.line]),
            }
            for one in versions
        ]
        return {
            "pass": self.labels[at],
            "line": line,
            "text": bounds.short(lines[line - 1], 2000),
            "source": self._source(self.trace.dumps[at], line - 1),
            "last_changed_by": self.labels[versions[0].dump] if versions else None,
            "note": "" if versions else "not known: a text before it is not available",
            "versions": bounds.part(earlier, most=self._most),
        }

    def _source(self, dump: Dump, line: int) -> Answer | None:
        places = dump.locations
        place = places[line] if line < len(places) else None
        if place is None:
            return None
        return {"place": str(place), "code": self._code(place)}

    def _code(self, place: Location) -> str:
        lines = self.trace.sources.get(place.file, "").split("\n")
        return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""

    def made_of(self, line: int, which: str = "-1", file: str = "") -> Answer:
        """The lines of a dump (the last) that came from a line of the user's file or cell.

        file: the end of its name, where there are several.
        """
        if line < 1:
            raise UsageError(f"Lines are counted from 1: there is no line {line}")
        at = self.find(which)
        lines, places = self._lines(at), self.trace.dumps[at].locations
        found = [
            f"{i + 1}: {bounds.short(lines[i])}"
            for i, place in enumerate(places[: len(lines)])
            if place and place.line == line and place.file.endswith(file)
        ]
        answer: Answer = {"pass": self.labels[at], **bounds.part(found, most=self._most)}
        return answer if places else {**answer, "note": "no line of this dump is known to come from a line of a file"}

    def search(self, text: str, *, regex: bool = False, case: bool = False, which: str = "") -> Answer:
        """In which passes a text occurs: how many of the lines, wherever that changes from one pass to the next.

        which: in one pass only, the lines themselves.
        """
        pattern = _pattern(text, regex=regex, case=case)
        if which:
            at = self.find(which)
            lines = self._lines(at)
            found = [f"{i + 1}: {bounds.short(lines[i])}" for i in _found(pattern, [lines], regex=regex)[0]]
            return {"pass": self.labels[at], **bounds.part(found, most=self._most)}
        here = [at for at, dump in enumerate(self.trace.dumps) if text_of(dump) is not None]
        counts = map(len, _found(pattern, [self._analysis.lines(at) for at in here], regex=regex))
        rows: list[Answer] = []
        last = 0
        for at, count in zip(here, counts, strict=True):
            if count != last:
                rows.append({"number": at, "pass": self.labels[at], "lines": count})
            last = count
        answer = bounds.part(rows, most=self._most)
        if not rows:
            answer["note"] = f"in no pass of {len(here)} that are here"
        missing = len(self.trace.dumps) - len(here)
        return {**answer, **({"not_searched": missing} if missing else {})}

    def operations(self, which: str = "-1") -> Answer:
        """How many operations of each kind a dump (the last) has, most frequent first."""
        at = self.find(which)
        rules = syntax.syntax_of(self.trace.dumps[at].language)
        answer: Answer = {"pass": self.labels[at]}
        if rules is None:
            return {**answer, "note": f"operations of {self.trace.dumps[at].language} are not counted"}
        counts: dict[str, int] = {}
        for line in self._lines(at):
            if name := syntax.operation(line, rules):
                counts[name] = counts.get(name, 0) + 1
        ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        return {**answer, "operations": dict(ordered[:100]), "kinds": len(counts), "total": sum(counts.values())}

    def find(self, which: str) -> int:
        """The number of a dump, by its label or number. Raises UsageError."""
        return find_pass(self.trace, which)

    def _lines(self, at: int) -> list[str]:
        if text_of(self.trace.dumps[at]) is None:
            raise UsageError(f"The text of {self.labels[at]} is not available: the compiler that had it is gone")
        return list(self._analysis.lines(at))


def _pattern(text: str, *, regex: bool, case: bool) -> re.Pattern[str]:
    if not text:
        raise UsageError("There is nothing to search for")
    try:
        return re.compile(text if regex else re.escape(text), 0 if case else re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"{text!r} is no regular expression: {error}") from None


def _found(pattern: re.Pattern[str], texts: Sequence[Sequence[str]], *, regex: bool) -> list[list[int]]:
    """The lines of each text that a pattern is found in, from 0. One of the user's may take for ever: it is looked for
    in a copy of this process, where there can be one, for `SEARCH_SECONDS`. Raises UsageError after that.
    """

    def look() -> list[list[int]]:
        return [[i for i, line in enumerate(lines) if pattern.search(line)] for lines in texts]

    if not regex:
        return look()
    try:
        return forked.call(look, seconds=SEARCH_SECONDS, cuda=False)
    except forked.TimedOut:
        raise UsageError(
            f"{bounds.short(pattern.pattern)!r} was not found or missed within {SEARCH_SECONDS:g} s: a repetition of "
            "repetitions, such as (a+)+, takes for ever; write it without, or name one pass"
        ) from None


def _readable(value: Any) -> Any:
    """A value as JSON for readers who take it as it stands: it need not be made again from that."""
    if isinstance(value, Mapping):
        return {str(key): _readable(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_readable(one) for one in cast("Iterable[Any]", value)]
    exact = value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    return value if exact else str(value)
