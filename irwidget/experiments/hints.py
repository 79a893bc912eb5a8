"""Names near to one that a parser does not know: of operations, and of values that the text defines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

from irwidget import private_torch_mlir
from irwidget.trace import Diagnostic, Trace, syntax

_OPERATION = re.compile(r"(?:custom op|operation|op) '([\w.]+)' (?:is unknown|is unregistered)")
_VALUE = re.compile(r"use of undeclared SSA value name|use of undefined (?:value|metadata) '([^']+)'")
_NAME = re.compile(r"[%@^][\w$.-]+")
_DEFINED = re.compile(r"([%@^][\w$.-]+)(?=\s*(?:=|:|,|\)|\())")


def hinted(said: Diagnostic, text: str, trace: Trace) -> Diagnostic:
    """What a parser said of a text, with the names that may have been meant; `trace` has operations in its dumps."""
    close: list[str] = []
    if found := _OPERATION.search(said.message):
        dialect, _, name = found[1].partition(".")
        own = [one.partition(".")[2] for one in sorted(_operations(found[1], trace)) if one.startswith(f"{dialect}.")]
        close = [f"{dialect}.{one}" for one in difflib.get_close_matches(name, own, n=3, cutoff=0.6)]
    elif (found := _VALUE.search(said.message)) and (name := found[1] or _at(said, text)):
        known = {one[1] for one in _DEFINED.finditer(text) if one[1][0] == name[0]} - {name}
        close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    return replace(said, message=f"{said.message}. Did you mean {' or '.join(close)}?") if close else said


def _at(said: Diagnostic, text: str) -> str:
    """The name at the place of a diagnostic."""
    if said.location is None:
        return ""
    line = next(iter(text.split("\n")[said.location.line - 1 : said.location.line]), "")
    found = _NAME.match(line, max(said.location.column - 1, 0))
    return found[0] if found else ""


def _operations(name: str, trace: Trace) -> set[str]:
    """Operations that there are: those of the dumps that are here, and those of the dialect that `name` says."""
    found = set(private_torch_mlir.operations(name.partition(".")[0]))
    for dump in trace.dumps:
        if (how := syntax.syntax_of(dump.language)) and (text := dump.arrived):
            found |= set(_of_text(text, how))
    return found


def _of_text(text: str, how: syntax.Syntax) -> Iterator[str]:
    for line in set(text.split("\n")):
        if operation := syntax.operation(line, how):
            yield operation
