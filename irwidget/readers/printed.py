"""Readers of what MLIR's and LLVM's pass managers print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from irwidget.errors import UsageError
from irwidget.readers import banners, mlir
from irwidget.readers.base import LogReader, ReaderInput
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log
from irwidget.trace import Trace


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


READERS = (PassDumps(), XDSLPassDumps())
