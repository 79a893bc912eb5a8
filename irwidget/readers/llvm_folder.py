"""Reader of the folder that LLVM's `-ir-dump-directory` names: a file for each dump, which begins with its banner."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from irwidget.readers import banners
from irwidget.readers.assembling import assembled
from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.folders import files, has
from irwidget.readers.log import Joined
from irwidget.trace import Trace

_FILE = re.compile(
    r"(?P<number>\d+)-(?P<module>[0-9a-f]{16})-(?P<ran>(?:module|(?:function|loop|scc)-[0-9a-f]{16})-.+)-"
    r"(?P<when>before|after|invalidated)\.ll"
)
_ORDER = {"before": 0, "after": 1, "invalidated": 2}


class LLVMFolder(Reader):
    """The log that LLVM would print, in files: numbers give the order, one number for before and after a pass."""

    name = "llvm-dir"
    summary = "the folder of LLVM's -print-after-all -ir-dump-directory=DIR"

    def recognises(self, given: ReaderInput) -> bool:
        return has(given.folder, lambda path: _FILE.fullmatch(path.name) is not None)

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.folder is None:
            return []
        found = [(match, path) for path in files(given.folder) if (match := _FILE.fullmatch(path.name))]
        begun = {(int(one["number"]), one["ran"]) for one, _ in found if one["when"] == "before"}
        found.sort(key=lambda one: _place(one[0], begun))
        log = Joined([path for _, path in found], given.name, given.folder)
        return assembled(log, banners.scan(log, 0, banners.found(log)), given.name, "llvm")


def _place(file: re.Match[str], begun: Collection[tuple[int, str]]) -> tuple[str, int, int]:
    """Where a dump belongs. A pass that invalidated its loop has the number before its own, in LLVM 22."""
    number = int(file["number"])
    number += file["when"] == "invalidated" and (number + 1, file["ran"]) in begun
    return file["module"], number, _ORDER[file["when"]]


READERS = (LLVMFolder(),)
