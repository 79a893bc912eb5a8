"""Numba's `NUMBA_DEBUG_PRINT_AFTER`, `_BEFORE` and `_WRAP`, and what it dumps of the code that it makes.

Compilations nest: while the types of a function are found out, those that it calls are compiled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from irwidget.readers.base import BannerReader, ReaderInput
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log

_ENDS = re.compile(r"back_?end$|^dump_parfor_diagnostics$")
"""The passes with which a compilation may end."""
_SHOWN = re.compile(
    rb"^-+(?:[\w.<>$]+: \w+: (?:BEFORE|AFTER) [\w ]+|LLVM DUMP <function descriptor .+|OPTIMIZED DUMP .+)-+\r?$", re.M
)
_IR = re.compile(rb"label \d+:|func_ir is None")
_RULES = re.compile(rb"(?:\s*={80})+\s*")
_BLANK, _ACROSS = re.compile(rb"^\r?$", re.M), re.compile(rb"^={80}\r?$", re.M)
_FEW = 1 << 10
_CODE = {"LLVM": "llvm", "FUNCTION OPTIMIZED": "llvm", "OPTIMIZED": "llvm", "ASSEMBLY": "x86asm"}


@dataclass(slots=True)
class _Compilation:
    """One that has begun and may go on."""

    function: str
    group: str
    first: PrintedDump
    last: PrintedDump

    def takes(self, one: PrintedDump) -> bool:
        """Whether a dump of a function with this name may be this compilation's: each begins with the same pass."""
        if one.name == self.first.name:
            return self.last is self.first and (self.first.when, one.when) == ("before", "after")
        return not _ENDS.search(self.last.name) or _ENDS.search(one.name) is not None


class _Compilations:
    """Those that are under way, each inside of the one before it."""

    def __init__(self) -> None:
        self._open: list[_Compilation] = []
        self._counts: Counter[str] = Counter()

    @property
    def last(self) -> _Compilation | None:
        """The one of which something was printed last."""
        return self._open[-1] if self._open else None

    def of(self, one: PrintedDump) -> str:
        """The name of the compilation that a dump belongs to; those inside of it have ended."""
        function = one.scope.function
        found = next((c for c in reversed(self._open) if c.function == function and c.takes(one)), None)
        if found is None:
            self._counts[function] += 1
            found = _Compilation(function, _numbered(function, self._counts[function]), one, one)
            self._open.append(found)
        del self._open[self._open.index(found) + 1 :]
        found.last = one
        return found.group


class _Libraries:
    """Libraries of code: what is printed of each comes in one order."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._counts: Counter[str] = Counter()

    def of(self, one: PrintedDump, compiled: _Compilation | None) -> str:
        """The name of the lowering that a dump belongs to: that of what is being compiled where it is the same."""
        library, stage = one.group.partition("$")[0], list(_CODE).index(one.name)
        if compiled is not None and f".{compiled.function}".endswith(f".{library}"):
            return f"code of {compiled.group}"
        self._counts[library] += stage <= self._last.get(library, len(_CODE))
        self._last[library] = stage
        return _numbered(f"code of {library}", self._counts[library])


def _numbered(name: str, count: int) -> str:
    return f"{name} ({count})" if count > 1 else name


class NumbaDumps(BannerReader):
    """What Numba prints of its own IR, with a lowering for each compilation; the code of a library is one more."""

    name = "numba"
    summary = "what Numba prints with NUMBA_DEBUG_PRINT_AFTER=all, and its NUMBA_DUMP_LLVM, _OPTIMIZED and _ASSEMBLY"
    language = "text"
    banner = re.compile(
        rb"^-*(?:(?P<function>[\w.<>$]+): \w+: (?:(?P<before>BEFORE)|AFTER) (?P<name>[\w ]+)"
        rb"|(?P<code>(?:LLVM|(?:FUNCTION )?OPTIMIZED)(?= DUMP )|ASSEMBLY) (?:DUMP )?"
        rb"(?:<function descriptor ')?(?P<lowering>.+?)(?:'>)?)-*$"
    )

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and _SHOWN.search(given.log.head) is not None

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        compilations, libraries = _Compilations(), _Libraries()
        for one in super().scan(log, start):
            if isinstance(one, PrintedDump):
                own = one.language == self.language
                group = compilations.of(one) if own else libraries.of(one, compilations.last)
                cut = not own and not log.read(one.stop, min(one.stop + _FEW, log.size)).strip()
                yield replace(one, group=group, cut=cut)
            elif not _RULES.fullmatch(log.read(one.start, min(one.stop, one.start + _FEW))):
                yield one

    def _printed(self, said: Mapping[str, str], begin: int, stop: int) -> PrintedDump:
        code = said.get("code", "")
        made = super()._printed({**said, "name": code} if code else said, begin, stop)
        return replace(made, language=_CODE[code]) if code else made

    def ends(self, data: bytes) -> int:
        """Numba's own IR ends in an empty line, code in a line across the page."""
        found = (_BLANK if _IR.match(data) else _ACROSS).search(data)
        return len(data) if found is None else found.start()


READERS = (NumbaDumps(),)
