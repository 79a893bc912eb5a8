"""Reader of the folder that TileLang's lower trace leaves: `TL_LOWER_TRACE=1`."""

from __future__ import annotations

import re
from pathlib import Path

from irwidget.readers.folders import FolderReader
from irwidget.readers.found import PrintedDump


class LowerTrace(FolderReader):
    """The TIR before and after each pass, as TVMScript, and the code that was generated."""

    name = "tilelang"
    summary = "the folder of TileLang's TL_LOWER_TRACE=1"
    tool = "tilelang"
    file = re.compile(
        r"(?P<run>(?:[^/]+/)*?)(?:(?P<phase>[^/]+)/)?(?:run(?P<again>\d+)_)?(?P<number>\d+)_(?P<pass>[^/]+)_(?P<when>before|after)"
        r"\.(?P<kind>tir|py|cpp|cu|c|hip)"
    )

    def order(self, found: re.Match[str]) -> object:
        return found["run"], int(found["again"] or 1), int(found["number"]), found["when"] == "after"

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        language = "python" if found["kind"] in ("tir", "py") else "c"
        run = found["run"].rstrip("/").split("/")[-1]
        group = f"{run or 'run'}{' ' + found['again'] if found['again'] else ''}"
        when = "after" if found["when"] == "after" else "before"
        return PrintedDump(found["pass"], start, stop, when, language, group=group, step=found["phase"] or "")


READERS = (LowerTrace(),)
