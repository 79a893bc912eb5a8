"""Reader of what Taichi prints of its kernels, `ti.init(print_ir=True)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from irwidget.readers.base import BannerReader
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log

_BEGINS = ("Initial IR", "Initial AST")
_CLOSED = re.compile(rb"^\}[ \t\r]*$", re.M)


class TaichiDumps(BannerReader):
    """A lowering for each kernel; Taichi names them, and what is compiled once more begins anew."""

    name = "taichi"
    summary = "what Taichi prints with ti.init(print_ir=True)"
    language = "text"
    banner = re.compile(
        rb"^\[\w [^\]]*\] \[\w+\.cpp:[^\]@]*@\d+\] "
        rb"\[(?P<lowering>[\w<>]+)(?:\.(?P<options>[\w.]+))?\] (?P<name>\S[^:]*):$"
    )

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        counts = Counter[str]()
        for one in super().scan(log, start):
            if not isinstance(one, PrintedDump):
                yield one
                continue
            cut = not _CLOSED.search(log.read(one.start, one.stop)) and not log.read(one.stop, log.size).strip()
            counts[one.group] += one.name in _BEGINS
            again = f" ({counts[one.group]})" if counts[one.group] > 1 else ""
            when = "start" if one.name in _BEGINS else "after"
            stop = log.size if cut else one.stop
            yield replace(one, when=when, group=one.group + again, cut=cut, stop=stop)

    def ends(self, data: bytes) -> int:
        """A kernel ends where its brace closes."""
        found = _CLOSED.search(data)
        return len(data) if found is None else found.end()


READERS = (TaichiDumps(),)
