"""Readers of logs in which a line of words stands before each text: SPIRV-Tools', TVM's, Halide's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from irwidget.readers import tvmscript
from irwidget.readers.base import BannerReader, ReaderInput
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log
from irwidget.trace import Diagnostic, Trace


class SPIRVOptDumps(BannerReader):
    """What spirv-opt prints: the module before each pass, and after the last."""

    name = "spirv-opt"
    summary = "what spirv-opt --print-all prints"
    language = "spirv"
    banner = re.compile(rb"^; IR (?:(?P<before>before) pass (?P<name>\S+)|(?P<last>after last pass))$")


class TVMDumps(BannerReader):
    """What TVM's instruments print: modules in TVMScript. A pass that runs others comes after them."""

    name = "tvm"
    summary = "what TVM's PrintAfterAll, PrintBeforeAll and PassPrintingInstrument print"
    language = "python"
    banner = re.compile(
        rb"^(?:(?=(?P<before>Before |Print IR before)))?"
        rb"(?:(?:Before|After) [Rr]unning [Pp]ass: (?:transform\.PassInfo\(.*?\bname=\"|.*?\bpass name: )|"
        rb"Print IR (?:before|after): )(?P<name>[^\",\s]+)"
    )
    end = re.compile(rb"^(?:##\[|(?![#@)\]}\s]|(?:class|def|from|import)\b))", re.M)

    def ends(self, data: bytes) -> int:
        """Relay, which older releases print, may have any line."""
        return super().ends(data) if tvmscript.is_script(data) else len(data)

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        """With a remark where only texts after passes are there: TVM takes modules apart between them, too."""
        found = super().read(given)
        return [
            one if one.dumps[0].name == "input" else replace(one, diagnostics=(*one.diagnostics, _BETWEEN))
            for one in found
        ]


_BETWEEN = Diagnostic(
    "remark",
    "The log has the IR after passes only: what was done between two of them (host and device code taken apart, say) "
    "looks like the second's work. With PrintBeforeAll beside PrintAfterAll it is told apart",
)
_BEGINS = "creating initial loop nests"


class HalideDumps(BannerReader):
    """What Halide prints of its lowering, each text up to an empty line; each pipeline begins with its loop nests."""

    name = "halide"
    summary = "what Halide prints with HL_DEBUG_CODEGEN=2"
    language = "text"
    banner = re.compile(rb"^Lowering after (?P<name>[^:]+?)(?::|:? (?P<unchanged>\(unchanged\)))?$")
    end = re.compile(rb"^\r?\n", re.M)

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        number = 0
        for one in super().scan(log, start):
            number += isinstance(one, PrintedDump) and one.name == _BEGINS
            yield replace(one, group=f"pipeline {number}") if number > 1 else one


READERS = (SPIRVOptDumps(), TVMDumps(), HalideDumps())
