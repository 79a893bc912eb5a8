"""Readers of what MLIR's and LLVM's pass managers print."""

from __future__ import annotations

from collections.abc import Iterator

from irwidget.readers import banners
from irwidget.readers.base import LogReader, ReaderInput
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log


class PassDumps(LogReader):
    """MLIR's and LLVM's printing, in one log or in several languages: mlir-opt's, opt's, llc's, clang's, Triton's."""

    name = "passes"
    summary = "what MLIR and LLVM print: --mlir-print-ir-*, -print-after-all, -print-changed, MLIR_ENABLE_DUMP"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and any(True for _ in banners.found(given.log))

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        return banners.scan(log, start)


READERS = (PassDumps(),)
