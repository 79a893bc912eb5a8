"""What a reader is: it recognises a format by its content, and makes traces of it.

Most formats are one log in which a compiler prints its IR after each pass: `BannerReader` needs a regular expression
for the line before each dump, `LogReader` a function that says where the dumps are. Whatever is not such a log derives
from `Reader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irwidget.readers.assembling import assembled
from irwidget.readers.found import PrintedDump, Said, When
from irwidget.readers.log import Log, trimmed
from irwidget.trace import Diagnostic, Scope, Trace

_LARGEST = 1 << 26
"""Bytes of a text in which its end is looked for; a larger one goes up to the next banner."""


@dataclass(frozen=True, slots=True)
class ReaderInput:
    """What there is to read: a log, or a folder."""

    name: str
    """What messages and lowerings without a name of their own call it."""
    log: Log | None = None
    folder: Path | None = None
    growing: bool = False
    """Whether somebody still writes it: a text that may not be all there yet is left for later."""


class Reader:
    """Reads one format."""

    name: str
    """What `format=` calls it."""
    summary: str = ""
    """What it reads, in a line."""
    any_text: bool = False
    """Whether any text of IR will do: it is asked last, after all others have seen what lines begin with left out."""

    def recognises(self, given: ReaderInput) -> bool:
        """Whether this is of the format, by its content; looks at as little of it as will do."""
        raise NotImplementedError

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        """The lowerings in it; none where there is none. Raises UsageError for what it cannot make sense of."""
        raise NotImplementedError

    def lowered(self, given: ReaderInput) -> Sequence[tuple[Trace, Mapping[str, Any]]]:
        """The lowerings in it, each with its `Lowering.results`, what there is to show beside it. Raises as `read`."""
        return [(trace, {}) for trace in self.read(given)]


class LogReader(Reader):
    """Reads a log that texts are printed into one after the other."""

    language = "mlir"
    """Of dumps and in tables: what most of its texts are."""

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        """The dumps from byte `start` on, and what stands between them, in order."""
        raise NotImplementedError

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.log is None:
            return []
        found = self.scan(given.log)
        return assembled(given.log, _settled(found) if given.growing else found, given.name)


def damaged(log: Log | None, traces: Sequence[Trace]) -> Sequence[Trace]:
    """The lowerings of a log; the last with a warning where the log is not all that was written."""
    if log is None or not log.damage or not traces:
        return traces
    said = Diagnostic("warning", log.damage)
    return [*traces[:-1], replace(traces[-1], diagnostics=(*traces[-1].diagnostics, said))]


def _settled(found: Iterable[PrintedDump | Said]) -> Iterator[PrintedDump | Said]:
    """What was found without a last dump that may go on."""
    last: PrintedDump | Said | None = None
    for one in found:
        if last is not None:
            yield last
        last = one
    if isinstance(last, Said) or (
        last is not None and not last.cut and (last.language == "mlir" or last.when == "same")
    ):
        yield last


class BannerReader(LogReader):
    """Reads a log in which each dump is the text below a banner, up to the next or to the first line that ends it.

    `banner` matches a line, as bytes. Its named groups are what the line says: `name` (the pass; required), `options`,
    `function`, `kernel`, `seconds`, and `lowering`, which names what is compiled where a log has several. A group that
    has matched may also say what the text is: `before` (the pass runs on it), `last` (the compiler's last word, of no
    pass), `unchanged` (there is none, as the pass changed nothing). `end` matches what stands behind a text: from there
    on it is remarks.
    """

    banner: re.Pattern[bytes]
    end: re.Pattern[bytes] | None = None
    when: When = "after"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and any(map(self.banner.search, given.log.head.splitlines()))

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        found: re.Match[bytes] | None = None
        begin = start
        for offset, data in log.windows(start):
            at = 0
            for line in data.splitlines(keepends=True):
                if (match := self.banner.search(line.rstrip(b"\r\n"))) is not None:
                    yield from self._between(log, found, begin, offset + at)
                    found, begin = match, offset + at + len(line)
                at += len(line)
        yield from self._between(log, found, begin, log.size)

    def _between(self, log: Log, found: re.Match[bytes] | None, begin: int, end: int) -> Iterator[PrintedDump | Said]:
        """The dump below a banner, and what stands behind it."""
        stop = begin
        if found is not None:
            said = {name: value.decode(errors="replace") for name, value in found.groupdict(b"").items()}
            if not said.get("unchanged"):
                stop = self._stop(log, begin, end)
            yield self._printed(said, begin, stop)
        if end > stop:
            yield Said(stop, end)

    def _printed(self, said: Mapping[str, str], begin: int, stop: int) -> PrintedDump:
        when, name = self.when, said.get("name", "")
        if said.get("before"):
            when = "before"
        elif said.get("last"):
            when, name = "output", name or "output"
        elif said.get("unchanged"):
            when = "same"
        scope = Scope(kernel=said.get("kernel", ""), function=said.get("function", ""))
        try:
            seconds = float(said.get("seconds", "") or 0)
        except ValueError:
            seconds = 0.0
        options, group = said.get("options", ""), said.get("lowering", "")
        return PrintedDump(name, begin, stop, when, self.language, scope, options, seconds, group)

    def _stop(self, log: Log, begin: int, end: int) -> int:
        """Where a text ends, without the blank lines below it."""
        if end - begin > _LARGEST:
            return end
        data = log.read(begin, end)
        return begin + trimmed(data, self.ends(data))

    def ends(self, data: bytes) -> int:
        """Where in what stands below a banner the text ends."""
        found = self.end.search(data) if self.end is not None else None
        return len(data) if found is None else found.start()
