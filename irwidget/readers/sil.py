"""Reader of what Swift prints of its own IR, SIL: a line before each function or module that a pass has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from irwidget.readers.base import BannerReader
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log
from irwidget.trace import shared_scope

_FUNCTION = re.compile(rb"^sil [^\n]*?@([^\s:]+) : ", re.M)
_END = re.compile(rb"^\} // end sil function '[^\n]*(?:\n|$)", re.M)
_HEAD = 1 << 16


class SILDumps(BannerReader):
    """Texts of functions end with their line; of modules, with the next banner. A function goes by its mangled name."""

    name = "sil"
    summary = "what Swift prints with -Xllvm -sil-print-all, -sil-print-function or -sil-print-after"
    language = "text"
    banner = re.compile(
        rb"^ *\*\*\* SIL (?P<of>function|module) (?:(?P<before>before)|after) +#\d+, stage (?P<stage>.+?), pass ?\d*: "
        rb"\S+ \((?P<name>[\w.-]+)\)(?:, Function: \S+)?$"
    )

    def ends(self, data: bytes) -> int:
        """A module has words of its own above its functions and below them."""
        if data.lstrip().startswith(b"sil_stage "):
            return len(data)
        return max((found.end() for found in _END.finditer(data)), default=len(data))

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        for one in super().scan(log, start):
            if isinstance(one, PrintedDump) and one.scope.function:
                named = _FUNCTION.search(log.read(one.start, min(one.stop, one.start + _HEAD)))
                one = replace(one, scope=shared_scope(function=named[1].decode(errors="replace") if named else ""))
            yield one

    def _printed(self, said: Mapping[str, str], begin: int, stop: int) -> PrintedDump:
        function = said["of"] if said["of"] == "function" else ""
        made = super()._printed({**said, "function": function}, begin, stop)
        return replace(made, step=said["stage"])


READERS = (SILDumps(),)
