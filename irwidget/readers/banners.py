"""Finds the dumps in a log of MLIR's and LLVM's own printing, in all their spellings, in one pass over the file.

Both are found by the one thing that all banners have, ` IR `; what stands between the end of a dump and the next banner
is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from irwidget.readers import llvm, mlir
from irwidget.readers.found import AS_DIFFERENCE, NO_TEXT, PrintedDump, Said, When
from irwidget.readers.log import Log, trimmed
from irwidget.trace import WHOLE, shared_scope

NEEDLE = b" IR "
_MARK = re.compile(rb"(?:[;#] )?\*\*\* IR (?=Dump |Pass |Deleted )|%b" % re.escape(llvm.SELECTION[0]))
"""What LLVM's banners begin with, where another has printed on the line already."""
_LONGEST = 1 << 16
"""Bytes of a line that may be a banner."""
_LARGEST = 1 << 26
"""Bytes of a dump in which its end is looked for; a larger one is taken as it is, up to the next banner."""

_GLUED = re.compile(
    rb"(?:; )?\*\*\* IR Dump [^\n]*? \*\*\*(?=(?:define|declare|; Function Attrs:|Printing <null>) )"
    rb'|// -----// IR Dump [^\n]*? //----- // ?(?=[!#"\w])'
)
"""A banner without a line break, as LLVM prints it for passes on the call graph, and MLIR at times."""
_ANY = re.compile(b"|".join(map(re.escape, (NEEDLE, *llvm.SELECTION))))
_LOOP_MARK = re.compile(rb" \(loop: [^\n]*\)\n")
"""What -print-loop-func-scope prints between a banner and the function."""

TORN = re.compile(rb"// -----//(?!.*//----- //)|(?:[;#] )?\*\*\* IR (?!.*\*\*\*)")
"""What is there of a banner on a line without an end."""

_Banner = mlir.MLIRBanner | llvm.LLVMBanner


@dataclass(frozen=True, slots=True)
class Found:
    """A banner in a log."""

    start: int
    """Of the line, or of where on it the banner begins."""
    stop: int
    banner: _Banner
    interrupts: bool = False
    """Whether it begins on a line that another had begun."""


def scan(log: Log, start: int, found: Iterable[Found], stop: int | None = None) -> Iterator[PrintedDump | Said]:
    """The dumps of a log from byte `start` on, below the banners that were found there, and what is between them.

    They end at byte `stop`, or with the log.
    """
    before: Found | None = None
    for one in found:
        yield from _region(log, before, start, one.start, last=False, interrupted=one.interrupts)
        before, start = one, one.stop
    yield from _region(log, before, start, log.size if stop is None else stop, last=True)


def found(log: Log, start: int = 0, stop: int | None = None) -> Iterator[Found]:
    """The banners of a log, or of its bytes from `start` up to `stop`, with their places."""
    fresh, marked = True, False
    """Whether the window begins with a line; whether LLVM's banners are known to begin their lines in this log."""
    for offset, data in log.windows(start, stop):
        at = 0
        selection = any(words in data for words in llvm.SELECTION)
        while (hit := _hit(data, at, selection=selection)) >= 0:
            usual = data.startswith(NEEDLE, hit)
            if usual and data[hit - 3 : hit] != b"***" and data[hit + 4 : hit + 8] not in (b"Dump", b"Befo"):
                at = hit + len(NEEDLE)
                continue
            begin = data.rfind(b"\n", at, hit) + 1 or at
            end = data.find(b"\n", hit)
            at = end = len(data) if end < 0 else end
            if glued := _GLUED.match(data, begin, end):
                at = end = glued.end()
            if end - begin > _LONGEST or not (begin or fresh):
                continue
            mark = _MARK.search(data, begin, end) if marked else None
            column = mark.start() - begin if mark else 0
            if column > 0 and (banner := llvm.banner(data[begin + column : end].rstrip(b"\r"))):
                yield Found(offset + begin + column, offset + _below(data, end), banner, True)
            elif banner := _banner(data[begin:end]):
                column = banner.column if isinstance(banner, mlir.MLIRBanner) else 0
                marked = marked or isinstance(banner, llvm.LLVMBanner)
                yield Found(offset + begin + column, offset + _below(data, end), banner, column > 0)
        fresh = data.endswith(b"\n")


def _hit(data: bytes, at: int, *, selection: bool) -> int:
    """Where the next banner may be; `selection` says whether those of instruction selection are here, too."""
    if not selection:
        return data.find(NEEDLE, at)
    found = _ANY.search(data, at)
    return found.start() if found else -1


def _below(data: bytes, end: int) -> int:
    """Where the text of a banner that ends there begins."""
    return end + (data[end : end + 1] == b"\n")


@lru_cache(1024)
def _banner(line: bytes) -> _Banner | None:
    line = line.rstrip(b"\r")
    is_llvm = b"// ***" not in line and (b"*** IR " in line or b"*** Dump of " in line or line in llvm.SELECTION)
    return llvm.banner(line) if is_llvm else mlir.banner(line)


def _region(
    log: Log, found: Found | None, start: int, stop: int, *, last: bool, interrupted: bool = False
) -> Iterator[PrintedDump | Said]:
    """What stands between two banners: the dump of the first, and what was printed after it.

    `interrupted` says that the second begins on a line that another had begun.
    """
    if found is None:
        if stop > start:
            yield Said(start, stop)
        return
    data = log.read(start, min(stop, start + _LARGEST))
    end = data.rfind(b"\n") + 1
    if last and len(data) == stop - start and TORN.match(data, end):
        yield from _region(log, replace(found, stop=start), start, start + end, last=True)
        yield Said(start + end, stop)
        return
    banner = found.banner
    if isinstance(banner, llvm.LLVMBanner) and banner.has_text and mlir.begins(data):
        banner = mlir.unmarked(banner.when.title(), banner.name)
    if isinstance(banner, mlir.MLIRBanner):
        yield from _mlir(banner, data, start, stop, last=last, interrupted=interrupted)
    else:
        yield from _llvm(banner, data, start, stop, last=last, interrupted=interrupted)


def _mlir(
    banner: mlir.MLIRBanner, data: bytes, start: int, stop: int, *, last: bool, interrupted: bool
) -> Iterator[PrintedDump | Said]:
    body = mlir.body(data)
    if body.start:
        yield Said(start, start + body.start)
    whole = mlir.is_module(body.operation) or not body.operation
    when: When = "failed" if banner.failed else "before" if banner.when == "Before" else "after"
    if banner.inside:
        when = "inside"
    scope = shared_scope(anchor=banner.anchor) if whole else shared_scope(function=body.symbol or body.operation)
    end = stop if len(data) < stop - start else start + trimmed(data, body.stop)
    cut = (body.cut and (last or interrupted)) or (last and not data.strip())
    yield PrintedDump(banner.name, start + body.start, end, when, "mlir", scope, banner.options, cut=cut)
    yield from _rest(data, start, end, stop, last=last)


def _llvm(
    banner: llvm.LLVMBanner, data: bytes, start: int, stop: int, *, last: bool, interrupted: bool
) -> Iterator[PrintedDump | Said]:
    if not banner.has_text:
        options = banner.reason if banner.reason != "omitted because no change" else ""
        yield PrintedDump(banner.name, start, start, "same", "mir" if banner.machine else "llvm", banner.scope, options)
        yield from _rest(data, start, start, stop, last=last)
        return
    if mark := _LOOP_MARK.match(data):
        start, data = start + mark.end(), data[mark.end() :]
    machine = banner.machine or llvm.is_machine(data)
    length, cut = llvm.end(data, machine)
    length = trimmed(data, length)
    if last and not cut and llvm.is_torn(data[:length], data[length:]):
        cut, length = True, max(length, len(data.rstrip()))
    if not machine and llvm.is_difference(data):
        yield PrintedDump(banner.name, start, start, "same", "llvm", banner.scope, AS_DIFFERENCE)
        yield Said(start, stop)
        return
    if not machine and (scope := llvm.foreign(data)) is not None:
        end = stop if len(data) < stop - start else start + trimmed(data, len(data))
        yield PrintedDump(banner.name, start, end, banner.when, "text", banner.scope if banner.told else scope)
        return
    # "Printing <null> Function" follows: a pass on the call graph, where that leads outside.
    if not data[:length].strip() and (not last or data[length:].strip()):
        yield PrintedDump(banner.name, start, start, "same", "llvm", banner.scope, NO_TEXT)
        yield from _rest(data, start, start, stop, last=last)
        return
    end = stop if len(data) < stop - start else start + length
    scope = banner.scope if banner.told else llvm.shows(data[:length])
    if banner.told and scope.function and not scope.loop and llvm.module_id(data[:length]):
        scope = shared_scope(anchor=str(scope.function))  # -print-module-scope
    elif banner.told and scope.loop and llvm.module_id(data[:length]):
        scope = shared_scope(anchor=str(scope))
    elif banner.told and scope.loop and llvm.defined(data[:length]):
        scope = shared_scope(function=scope.function, anchor=str(scope))  # -print-loop-func-scope
    yield PrintedDump(
        banner.name, start, end, banner.when, "mir" if machine else "llvm", scope, cut=cut and (last or interrupted)
    )
    yield from _rest(data, start, end, stop, last=last)


def has_differences(data: bytes) -> bool:
    """Whether below a banner of LLVM's there are differences, and no IR."""
    lines = data.splitlines(keepends=True)
    return any(
        llvm.banner(line.rstrip(b"\r\n")) and llvm.is_difference(b"".join(lines[i + 1 :]))
        for i, line in enumerate(lines)
        if b"*** IR " in line
    )


def _rest(data: bytes, start: int, end: int, stop: int, *, last: bool) -> Iterator[PrintedDump | Said]:
    """What was printed after a dump; after the last, the module that the tool leaves is one more dump."""
    rest = data[end - start :]
    bare = rest.strip()
    if not bare:
        return
    begin = end + len(rest) - len(rest.lstrip())
    rest = rest.lstrip()
    rest = rest[: rest.find(b"\n", len(bare)) + 1] or bare
    if last:
        yield from _output(rest, begin, alone=True)
        return
    module = next((one for one in _output(rest, begin, alone=False) if isinstance(one, PrintedDump)), None)
    yield Said(end, stop, module=module)


def _output(rest: bytes, start: int, *, alone: bool) -> Iterator[PrintedDump | Said]:
    """The module that a tool leaves, right after its last dump or as its last word, and what is around that.

    `alone` says that nothing may be around a module that does not begin there.
    """
    at, stop = 0, start + len(rest)
    if rest.startswith(b"; ModuleID = "):
        length, cut = llvm.end(rest, machine=False)
        end, language = (len(rest) if cut else trimmed(rest, length)), "llvm"
    else:
        at = mlir.last_module(rest)
        body = mlir.body(rest[at:]) if at >= 0 else None
        if body is None or body.start or body.cut or (at and alone and rest[at + body.stop :].strip()):
            yield Said(start, stop)
            return
        end, language = trimmed(rest, at + body.stop), "mlir"
    if at:
        yield Said(start, start + at)
    yield PrintedDump("output", start + at, start + end, "output", language, WHOLE)
    if rest[end:].strip():
        yield Said(start + end, stop)
