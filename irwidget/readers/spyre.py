"""Reads what a run of torch-spyre leaves: bundle folders of SuperDSC files, and host modules with OpSpecs.

What reads them is imported when there is something to read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.folders import has
from irwidget.trace import Trace

if TYPE_CHECKING:
    from irwidget.spyre.recorded.program import RecordedProgram

_CALL = b"async_compile.sdsc("
"""What a host module of torch-spyre has, and no other program."""
_FILE = "sdsc_0.json"


class SpyreRun(Reader):
    """A folder or a host module of torch-spyre; each is a program, in the view of Spyre programs."""

    name = "spyre"
    summary = "torch-spyre: a bundle folder, a folder of them, a host module with OpSpecs"

    def recognises(self, given: ReaderInput) -> bool:
        if given.folder is not None:
            return has(given.folder, lambda path: path.name == _FILE or (path.suffix == ".py" and _calls(path)))
        return given.log is not None and given.log.has(_CALL)

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        return [trace for trace, _ in self.lowered(given)]

    def lowered(self, given: ReaderInput) -> Sequence[tuple[Trace, Mapping[str, Any]]]:
        return [(program.trace, {"program": program}) for program in _programs(given)]


def _calls(path: Path) -> bool:
    return _CALL in path.read_bytes()


def _programs(given: ReaderInput) -> list[RecordedProgram]:
    from irwidget.spyre.recorded.opening import opened, opened_text

    if given.folder is not None:
        return opened(given.folder, given.name)
    assert given.log is not None
    return opened_text(given.log.read(0, given.log.size).decode("utf-8", "replace"), given.name)


READERS = (SpyreRun(),)
"""What is tried for files and folders of torch-spyre."""
