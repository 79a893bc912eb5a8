"""In which way something fails: the same pass, the same operation, the same class of message."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irwidget.trace import Failure

_OPERATION = re.compile(r"['\"]([a-z_]\w*(?:\.[\w$]+)+)['\"]")
_VARIES = re.compile(
    r"%[\w$.#-]+|@[\w$.-]+|0x[0-9a-fA-F]+|\b\d[\w.]*|!?[\w.]+<[^\n]*?>+|\b(?:tensor|memref|vector)\b(?!\.)|\bi\d+\b|/[\w./-]+|\s+"
)
"""What a message has of one program rather than of its kind: names, numbers, types, files."""


@dataclass(frozen=True, slots=True)
class Kind:
    """In which way a lowering fails."""

    kind: str
    """`pass`, `tool`, `usage` or `unsupported`."""
    pass_name: str
    operation: str
    """The operation that the message names; empty when it names none."""
    message: str
    """Its first line without what is of this program alone."""

    def __str__(self) -> str:
        where = f"{self.pass_name} at {self.operation}" if self.operation else self.pass_name
        return f"{where or 'the lowering'}: {self.message}"


def kind_of(failure: Failure) -> Kind:
    """In which way it failed."""
    said = failure.message.strip().split("\n")[0]
    named = _OPERATION.search(said)
    head = said.partition(": %")[0].partition(': "')[0]
    return Kind(failure.kind, failure.pass_name, named[1] if named else "", " ".join(_VARIES.sub(" ", head).split()))
