"""Reader of what GCC leaves beside its output: `gcc -fdump-tree-all -fdump-ipa-all -fdump-rtl-all`."""

from __future__ import annotations

import re
from pathlib import Path

from irwidget.readers.folders import FolderReader
from irwidget.readers.found import PrintedDump

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


READERS = (GCCDump(),)
