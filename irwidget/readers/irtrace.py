"""Reader of our own files."""

from __future__ import annotations

from collections.abc import Sequence

from irwidget.errors import UsageError
from irwidget.readers.base import Reader, ReaderInput
from irwidget.trace import Trace, chunks, reading


class TraceFileReader(Reader):
    """What `low.save("x.irtrace")` wrote."""

    name = "irtrace"
    summary = "lowerings that were kept in an .irtrace file"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and chunks.starts(given.log.head)

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.log is None:
            return []
        if given.log.size > reading.MOST:
            raise UsageError(f"{given.name} is larger than {reading.MOST >> 30} GiB")
        return reading.unpacked(given.log.read(0, given.log.size)).traces


READERS = (TraceFileReader(),)
