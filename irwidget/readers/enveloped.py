"""Logs whose lines are JSON objects with the line in one field: Docker's json-file, journald's, those of services."""

from __future__ import annotations

import json
import re
import tempfile
from array import array
from collections.abc import Sequence
from typing import Any

from irwidget.readers.log import Copy, Log

_FIELDS = ("log", "MESSAGE", "message", "msg", "textPayload", "line")
"""What the field is called, by Docker, journald, and others."""
_SAMPLE = 1 << 16
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def without(log: Log) -> Log:
    """The log as it was before each line was put into an object; itself where that is not so."""
    head = log.head[:_SAMPLE]
    if not head.lstrip().startswith(b"{"):
        return log
    lines = head.split(b"\n")
    field, ended = _field([line for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()])
    if not field:
        return log
    file = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the log
    numbers, number = array("Q"), 0
    for _, data in log.windows():
        for line in _LINE.findall(data):
            number += 1
            said = _objects(line).get(field)
            made = line if not isinstance(said, str) else said.encode("utf-8", "surrogatepass")
            made += b"" if ended or made.endswith(b"\n") else b"\n"
            file.write(made)
            numbers.extend([number] * made.count(b"\n"))
    file.flush()
    return Copy(log, file, numbers)


def _field(lines: Sequence[bytes]) -> tuple[str, bool]:
    """The field that has a part of a log in each of these, and whether most have the end of a line; empty for none."""
    found = [_objects(line) for line in lines]
    for field in _FIELDS:
        said = [one.get(field) for one in found]
        texts = [one for one in said if isinstance(one, str)]
        if found and len(texts) == len(found):
            return field, 2 * sum(text.endswith("\n") for text in texts) > len(texts)
    return "", False


def _objects(line: bytes) -> dict[str, Any]:
    """The object that a line is; an empty one where it is none."""
    try:
        made = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return made if isinstance(made, dict) else {}
