"""Readers of what MLIR's and LLVM's pass managers print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from irwidget.errors import UsageError
from irwidget.readers import banners, mlir, prefixes
from irwidget.readers.base import LogReader, Reader, ReaderInput
from irwidget.readers.folders import files, natural
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Joined, Log
from irwidget.trace import Trace

_HEAD = 1 << 18
"""Bytes of a file in a folder that its first banner is looked for in."""


class PassDumps(LogReader):
    """MLIR's and LLVM's printing, in one log or in several languages: mlir-opt's, opt's, llc's, clang's, Triton's."""

    name = "passes"
    summary = "what MLIR and LLVM print: --mlir-print-ir-*, -print-after-all, -print-changed, MLIR_ENABLE_DUMP"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and any(True for _ in banners.found(given.log))

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        found = super().read(given)
        if not found and given.log is not None and banners.has_differences(given.log.head):
            raise UsageError(
                f"{given.name} has what -print-changed=diff prints, lines that went and came without the IR around "
                "them: print it with -print-changed or -print-changed=quiet"
            )
        return found

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        return banners.scan(log, start, banners.found(log, start))


_XDSL = re.compile(rb"^IR after (?P<pass>[\w.-]+):\r?\n", re.M)


class XDSLPassDumps(LogReader):
    """xDSL's printing: a line of words before each module, and at the end the result without one."""

    name = "xdsl"
    summary = "xdsl-opt --print-between-passes"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and _XDSL.search(given.log.head) is not None

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        return banners.scan(log, start, self._found(log, start))

    def _found(self, log: Log, start: int) -> Iterator[banners.Found]:
        for at, data in log.windows(start):
            for one in _XDSL.finditer(data):
                banner = mlir.MLIRBanner("After", one["pass"].decode(errors="replace"), "", False, "", 0)
                yield banners.Found(at + one.start(), at + one.end(), banner)


class PassLogs(Reader):
    """A folder of such logs, of a build for instance: each with its own lowerings."""

    name = "passes-dir"
    summary = "a folder of logs that MLIR and LLVM print"

    def recognises(self, given: ReaderInput) -> bool:
        return given.folder is not None and any(True for _ in _logs(given.folder))

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.folder is None:
            return []
        return [trace for log in _logs(given.folder) for trace in PassDumps().read(ReaderInput(log.name, log))]


def _logs(folder: Path) -> Iterator[Log]:
    """The files below a folder that begin as logs of passes, by their names."""
    paths = {path.relative_to(folder).as_posix(): path for path in files(folder) if path.is_file()}
    for name in sorted(paths, key=natural):
        log = prefixes.without(Joined([paths[name]], name, paths[name]))
        if next(banners.found(log, 0, min(log.size, _HEAD)), None) is not None:
            yield log


READERS = (PassDumps(), XDSLPassDumps(), PassLogs())
