"""Reader of the folder that `rustc -Z dump-mir=all` makes: Rust's own IR before and after each of its passes."""

from __future__ import annotations

import re
from pathlib import Path

from irwidget.readers.folders import FolderReader
from irwidget.readers.found import PrintedDump

_TITLE = b"// MIR for "
"""What a file begins with: the function, and the pass that it stands before or after."""


class MIRDump(FolderReader):
    """A file for each function and pass; numbers give the order."""

    name = "rustc-mir"
    summary = "the folder of rustc -Z dump-mir=all"
    tool = "rustc"
    file = re.compile(
        r"(?:.*/)?(?P<of>[^/]+?)\.(?P<number>\d+(?:-\d+)+)\.(?P<pass>[\w-]+)\.(?P<when>before|after)\.mir"
    )

    def order(self, found: re.Match[str]) -> object:
        return found["of"], found["number"], found["when"] == "after"  # numbers have as many digits as each other

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        with open(path, "rb") as file:
            line = file.readline(1 << 12)
        begin = start + (len(line) if line.startswith(_TITLE) else 0)
        when = "start" if found["pass"] == "built" else "before" if found["when"] == "before" else "after"
        return PrintedDump(found["pass"], begin, stop, when, "text", group=found["of"])


READERS = (MIRDump(),)
