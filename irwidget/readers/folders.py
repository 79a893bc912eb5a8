"""What readers of folders share: the files as one log, so that texts are read when they are looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from irwidget.readers.assembling import assembled
from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.found import PrintedDump
from irwidget.readers.log import Joined, Log
from irwidget.trace import Trace

MOST_FILES = 200_000
"""Files of a folder that are looked at."""


def files(folder: Path) -> Iterator[Path]:
    """The files below a folder, in the order of their names; links are not followed into other folders."""
    count = 0
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > MOST_FILES:
                return
            yield Path(root, name)


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts numbers in names by their value."""
    return tuple((int(part[:18]), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text))


def has(folder: Path | None, fits: Callable[[Path], bool]) -> bool:
    """Whether a file below the folder fits."""
    return folder is not None and any(fits(path) for path in files(folder))


class FolderReader(Reader):
    """Reads a folder in which each dump is a file.

    `file` matches the path of a file below the folder; what it does not match is left out.
    """

    file: re.Pattern[str]
    tool = ""
    """What made the folder, for the steps."""

    def recognises(self, given: ReaderInput) -> bool:
        folder = given.folder
        return has(folder, lambda path: self.file.fullmatch(path.relative_to(folder or path).as_posix()) is not None)

    def order(self, found: re.Match[str]) -> object:
        """What the dumps are sorted by."""
        return natural(found[0])

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        """The dump that a file is."""
        raise NotImplementedError

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.folder is None:
            return []
        found = [
            (match, path)
            for path in files(given.folder)
            if (match := self.file.fullmatch(path.relative_to(given.folder).as_posix())) and path.stat().st_size
        ]
        found.sort(key=lambda one: self.order(one[0]))  # pyright: ignore[reportArgumentType, reportCallIssue]
        log = Joined([path for _, path in found], given.name, given.folder)
        return self.traces(log, [(match, path, *at) for (match, path), at in zip(found, log.spans, strict=True)])

    def traces(self, log: Log, found: Sequence[tuple[re.Match[str], Path, int, int]]) -> Sequence[Trace]:
        """The lowerings of these files: each with its name, and where it begins and ends in the log of all."""
        return assembled(log, [self.printed(*one) for one in found], log.name, self.tool)
