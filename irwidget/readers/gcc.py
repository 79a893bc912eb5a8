"""Reader of what GCC leaves beside its output: `gcc -fdump-tree-all -fdump-ipa-all -fdump-rtl-all`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from irwidget.errors import UsageError
from irwidget.readers.assembling import assembled
from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.folders import FolderReader
from irwidget.readers.found import PrintedDump
from irwidget.trace import Trace

_LANGUAGES = {"t": "gimple", "i": "gimple", "r": "rtl"}
_STEPS = {"t": "tree", "i": "ipa", "r": "rtl"}


class GCCDump(FolderReader):
    """A file for each pass, of all functions."""

    name = "gcc"
    summary = "the files of GCC's -fdump-tree-all and -fdump-rtl-all"
    tool = "gcc"
    file = re.compile(r"(?P<source>.+)\.(?P<number>\d{3})(?P<kind>[tir])\.(?P<pass>[\w.-]+)(?<!\.dot)")

    def order(self, found: re.Match[str]) -> object:
        return found["source"], int(found["number"]), found["kind"]

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        language = _LANGUAGES[found["kind"]]
        return PrintedDump(
            found["pass"], start, stop, "after", language, group=found["source"], step=_STEPS[found["kind"]]
        )


_FUNCTION = re.compile(rb"^;; Function .+ \(.*$", re.M)


class GCCText(Reader):
    """What GCC prints of one pass. Of several it says no names, nor what belongs together."""

    name = "gcc-text"
    summary = "what gcc -fdump-tree-optimized=stdout prints, of one pass"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and _FUNCTION.search(given.log.head) is not None

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        """Raises UsageError for several passes."""
        log = given.log
        if log is None:
            return []
        seen: set[bytes] = set()
        for function in (found[0] for _, data in log.windows() for found in _FUNCTION.finditer(data)):
            if function in seen:
                raise UsageError(
                    f"{given.name} has what GCC prints of several passes, and does not name them: without =stdout or "
                    "=stderr, -fdump-tree-all writes a file for each, whose folder can be opened"
                )
            seen.add(function)
        language = "rtl" if _RTL.search(log.head) else "gimple"
        return assembled(log, [PrintedDump("output", 0, log.size, "output", language)], given.name, "gcc")


_RTL = re.compile(rb"^\((?:note|insn|jump_insn) \d+ ", re.M)

READERS = (GCCDump(), GCCText())
