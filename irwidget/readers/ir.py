"""Reader of a file that is one text of IR."""

from __future__ import annotations

import re
from collections.abc import Sequence

from irwidget.readers import places, tvmscript
from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.log import decoded
from irwidget.toolchain import language
from irwidget.trace import Content, ContentCache, Dump, Trace

_MOST = 1 << 27
"""Bytes of one text at most."""
_MIR = re.compile(
    r"(?:#[^\n]*\n)*---(?: \|\r?\n(?:  |\r?\n)*(?:; ModuleID|source_filename|target |define )"
    r"|\r?\nname: [^\n]*\n(?:[a-zA-Z]+:[^\n]*\n)*?(?:tracksRegLiveness|registers|liveins|machineFunctionInfo|body):)"
)
"""How llc -stop-after begins: with LLVM IR, or with a function."""
_NOT_IR = ("text", "json", "dot")


def kind_of(text: str) -> str:
    """The language of a text, as dumps name it."""
    if text.startswith("HloModule "):
        return "hlo"
    if text.startswith(("---", "#")) and _MIR.match(text):
        return "mir"
    if tvmscript.is_script(text[: tvmscript.FIRST].encode(errors="replace")):
        return "python"
    found = language.detect(text)
    return "mlir" if found == "triton" else found


def is_ir(data: bytes) -> bool:
    """Whether what begins so is a text of IR in a language that is known."""
    return b"\0" not in data and kind_of(decoded(data)) not in _NOT_IR


class IRReader(Reader):
    """A file of IR in a language that is known."""

    name = "ir"
    summary = "one text of IR: a .mlir, .ll, .mir, .ptx file"
    any_text = True

    def recognises(self, given: ReaderInput) -> bool:
        log = given.log
        return log is not None and log.size <= _MOST and is_ir(log.head)

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        log = given.log
        if log is None or not log.size:
            return []
        kind = kind_of(decoded(log.head))

        def content(_: int) -> Content:
            text, lines = places.placed(kind, decoded(log.read(0, log.size)))
            return Content(text, True, lines)

        return [Trace(kind, (Dump("input", -1, kind, ContentCache(content)),), name=given.name)]


READERS = (IRReader(),)
