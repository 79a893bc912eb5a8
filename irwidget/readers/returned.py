"""Carriage returns in a log: Windows' ends of lines, and what a progress bar has written before the rest of a line."""

from __future__ import annotations

import re
import tempfile
from array import array

from irwidget.readers.log import Copy, Log

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_END = re.compile(rb"\r+(?=\n|\Z)")
_INSIDE = re.compile(rb"\r+")
_NO_TEXT = re.compile(rb"[\0-\x06\x0e-\x1a\x1c-\x1f]")
_TAIL = 1 << 18
"""Bytes at the end of a log that are looked at for a carriage return, as many as at its beginning."""


def without(log: Log) -> Log:
    """The log with a line break alone at the end of each line, and one for each carriage return within a line.

    Itself where neither its first nor its last bytes have any, or where it is no text.
    """
    head = log.head
    if _NO_TEXT.search(head) or not (b"\r" in head or b"\r" in log.read(max(log.size - _TAIL, 0), log.size)):
        return log
    file = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the log
    numbers, number, inside = array("Q"), 1, 0
    for _, data in log.windows():
        for line in _LINE.findall(data):
            made, count = _INSIDE.subn(b"\n", _END.sub(b"", line).lstrip(b"\r"))
            file.write(made)
            inside += count
            numbers.extend([number] * made.count(b"\n"))
            number += line.endswith(b"\n")
    file.flush()
    return Copy(log, file, numbers if inside else ())
