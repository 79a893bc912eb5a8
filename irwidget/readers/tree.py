"""Reader of the folder that `--mlir-print-ir-tree-dir` makes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irwidget.readers import mlir
from irwidget.readers.assembling import assembled
from irwidget.readers.base import ReaderInput
from irwidget.readers.folders import FolderReader, files
from irwidget.readers.found import PrintedDump
from irwidget.readers.log import Log
from irwidget.trace import Diagnostic, Scope, Trace

_HEAD = 1 << 16
_MODULE = "builtin_module"
"""What the folder of the outermost operation begins with."""


class Tree(FolderReader):
    """A folder for each operation that passes ran on, and a file for each pass; numbers give the order."""

    name = "mlir-tree"
    summary = "the folder of --mlir-print-ir-tree-dir"
    tool = "mlir"
    file = re.compile(r"(?P<folder>(?:[^/]+/)*)(?P<counters>\d+(?:_\d+)*)_(?P<pass>[^/]+)\.mlir")

    def recognises(self, given: ReaderInput) -> bool:
        """By the numbers in names: one for each folder from the module's on, of which `given` may be one."""
        if given.folder is None:
            return False
        names = (self.file.fullmatch(path.relative_to(given.folder).as_posix()) for path in files(given.folder))
        above = {1 + one["counters"].count("_") - one["folder"].count("/") for one in names if one}
        if len(above) != 1 or (count := above.pop()) < 0:
            return False
        around = given.folder.resolve().parts
        return count == 0 or (count < len(around) and around[-count].startswith(_MODULE))

    def order(self, found: re.Match[str]) -> object:
        return tuple(map(int, found["counters"].split("_"))), found["folder"]

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        traces = super().read(given)
        if given.folder is None or (mixed := self._mixed(given.folder)) is None:
            return traces
        said = (
            f"{given.name} has files of more than one run, {' and '.join(mixed)} have one number: what two runs left "
            "stands side by side here, and a dump may differ by what another run did. Empty the folder before each run"
        )
        return [replace(one, diagnostics=(*one.diagnostics, Diagnostic("warning", said))) for one in traces]

    def traces(self, log: Log, found: Sequence[tuple[re.Match[str], Path, int, int]]) -> Sequence[Trace]:
        """As any folder; what has one name in several folders is called by the folder around it, too."""
        places: defaultdict[str, set[str]] = defaultdict(set)
        for one, *_ in found:
            *_, name = _folders(one)
            places[name].add(one["folder"])
        printed: list[PrintedDump] = []
        for one in found:
            dump, (*_, around, name) = self.printed(*one), ("", *_folders(one[0]))
            if len(places[name]) > 1 and not dump.scope.whole:
                dump = replace(dump, scope=Scope(function=f"{around}/{name}"))
            printed.append(dump)
        return assembled(log, printed, log.name, self.tool)

    def _mixed(self, folder: Path) -> tuple[str, str] | None:
        """Two files that one run cannot have left; None where there are none."""
        known: dict[tuple[str, str], str] = {}
        for path in files(folder):
            name = path.relative_to(folder).as_posix()
            if (found := self.file.fullmatch(name)) is not None:
                first = known.setdefault((found["folder"], found["counters"]), name)
                if first != name:
                    return first, name
        return None

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        line = head[: head.find(b"\n") + 1]
        banner = mlir.banner(line)
        body = mlir.body(head)
        whole = mlir.is_module(body.operation) or not body.operation
        ran_on = _folders(found)[-1] if len(_folders(found)) > 1 else ""
        scope = Scope(anchor=ran_on) if whole else Scope(function=body.symbol or body.operation)
        if banner is None:
            return PrintedDump(found["pass"], start, stop, "after", "mlir", scope)
        when = "failed" if banner.failed else "before" if banner.when == "Before" else "after"
        return PrintedDump(banner.name, start + len(line), stop, when, "mlir", scope, banner.options)


def _folders(found: re.Match[str]) -> Sequence[str]:
    """The folders that a file is in, the outermost first."""
    return found["folder"].rstrip("/").split("/")


READERS = (Tree(),)
