"""Readers of what XLA dumps, `XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*"`: a folder, or files in one log.

HLO is a lowering for each module. With `--xla_dump_emitter_re=.*` there is one for each kernel, too: the passes that
made LLVM's dialect of it, and its LLVM IR.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from irwidget.readers import banners, mlir
from irwidget.readers.assembling import assembled
from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.folders import FolderReader, files, natural
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log
from irwidget.toolchain.llvm_passes import joined
from irwidget.trace import Diagnostic, Trace, shared_scope

_FILE = re.compile(
    r"(?:.*/)?(?:(?:(?P<stamp>\d+)\.)?(?P<module>module_\d+\.[^/]+?)(?:"
    r"\.(?P<number>\d{4,})\.(?P<pipeline>[^/]+?)\.after_(?P<after>[^/]+?)(?:\.before_[^/]+?)?\.(?:txt|hlo)"
    r"|\.(?P<start>before_optimizations)\.(?:txt|hlo)"
    r"|\.(?:[\w.]+_)?(?P<end>after_optimizations)\.(?:txt|hlo)"
    r"|\.(?P<passed>[^/]+?)\.mlir-passes\.log"
    r"|\.(?P<lowered>[^/]+?)-post-lowering\.mlir"
    r"|(?:\.(?P<kernel>[^/]+?))?\.(?P<back>ir-no-opt|ir-with-opt)\.ll"
    r"|(?:\.(?P<code>[^/]+?))?\.(?P<ptx>ptx))"
    r"|(?P<of>[^/.]+)\.(?P<triton>[^/]+)\.triton-passes\.log)"
)
_KINDS = ("start", "number", "end", "triton", "passed", "lowered", "back", "ptx")
"""What files are, in the order in which XLA makes them; a kernel's are together."""
_EDGE = re.compile(rb"^\*\*\* (Begin|End) (\S[^\n]*?) \*\*\*\r?\n?", re.M)
_BEGIN = re.compile(rb"^\*\*\* Begin (?:\d+\.)?module_\d+\.", re.M)


def _kind(name: re.Match[str]) -> str:
    return next(kind for kind in _KINDS if name[kind])


def _kernel(name: re.Match[str]) -> str:
    return next(filter(None, name.group("triton", "passed", "lowered", "kernel", "code")), "")


def _order(name: re.Match[str]) -> object:
    """By module and what is made of it; kernels of Triton's, whose logs do not say of which module, come last."""
    rank = _KINDS.index(_kind(name))
    of_module = natural(name["module"] or name["of"]), min(rank, _KINDS.index("triton")), int(name["number"] or 0)
    return bool(name["triton"]), *of_module, natural(_kernel(name)), rank, name["back"] or ""


@dataclass(frozen=True, slots=True)
class _Dumped:
    """A file that XLA dumped."""

    name: re.Match[str]
    start: int
    stop: int
    module: str
    """What the lowering is called."""
    cut: bool = False

    @property
    def kind(self) -> str:
        return _kind(self.name)

    @property
    def kernel(self) -> str:
        return _kernel(self.name)

    def printed(self, group: str) -> PrintedDump:
        """The dump that it is, of all but the logs of passes."""
        return replace(self._alone(), group=group, cut=self.cut)

    def _alone(self) -> PrintedDump:
        name, at, of_kernel = self.name, (self.start, self.stop), shared_scope(kernel=self.kernel)
        match self.kind:
            case "start":
                return PrintedDump("input", *at, "start", "hlo")
            case "number":
                return PrintedDump(name["after"], *at, "after", "hlo", step=name["pipeline"])
            case "end":
                return PrintedDump("after optimizations", *at, "after", "hlo")
            case "lowered":
                return PrintedDump("output", *at, "output", "mlir", step="emitter")
            case "back":
                return PrintedDump(name["back"], *at, "after", "llvm", of_kernel, step="back end")
            case _:
                return PrintedDump("ptx", *at, "after", "ptx", of_kernel)


@dataclass(slots=True)
class _Dumps:
    """What is in the files, in order."""

    log: Log
    files: Sequence[_Dumped]
    strange: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict[str, Counter[str]](Counter))
    """Dumps of other kernels in the log of a kernel's passes, by lowering and kernel."""

    def __iter__(self) -> Iterator[PrintedDump | Said]:
        own = {(one.module, one.kernel) for one in self.files if one.name["passed"] or one.name["triton"]}
        kernels = {kernel for _, kernel in own}
        for one in self.files:
            group = f"{one.module} {one.kernel}" if (one.module, one.kernel) in own else one.module
            if one.name["passed"] or one.name["triton"]:
                yield from self._passes(one, group, kernels - {one.kernel})
            elif one.kind != "lowered" or group != one.module:
                yield one.printed(group)

    def _passes(self, dumped: _Dumped, group: str, others: Collection[str]) -> Iterator[PrintedDump | Said]:
        """The passes of a kernel. XLA emits kernels side by side, and may print several into one file."""
        start, stop = dumped.start, dumped.stop
        for one in banners.scan(self.log, start, banners.found(self.log, start, stop), stop):
            if isinstance(one, Said):
                yield replace(one, group=group)
            elif (of := mlir.body(self.log.read(one.start, one.stop)).symbol) in others:
                self.strange[group][of] += 1
            else:
                yield replace(one, group=group, step="emitter", cut=one.cut or (dumped.cut and one.stop == stop))

    def traces(self) -> list[Trace]:
        """The lowerings, with what to know of them."""
        return [self._told(one) for one in assembled(self.log, self, self.log.name, "xla")]

    def _told(self, trace: Trace) -> Trace:
        others = self.strange.get(trace.name)
        if not others:
            return trace
        said = (
            f"XLA has printed {others.total()} dumps of other kernels, {joined(others)}, into this one's log: they are "
            "left out. It emits kernels side by side; a dump that another one interrupts is cut off there"
        )
        return replace(trace, diagnostics=(*trace.diagnostics, Diagnostic("remark", said)))


_UNREAD = re.compile(
    r"(?:.*/)?(?P<text>(?:\d+\.)?(?P<module>module_\d+\.[^/]+?)\.(?:[\w.-]*(?:before|after)_optimizations"
    r"|\d{4,}\.[^/]+?\.after_[^/]+?))\.(?:dot|html|hlo\.pb|pb|pbtxt)"
)


class XLADump(FolderReader):
    """HLO after each pass that changed something, then what the back end made of it."""

    name = "xla"
    summary = "the folder of --xla_dump_to (JAX, OpenXLA)"
    file = _FILE

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        """With a warning where HLO is there as graphs or protocol buffers alone."""
        traces = super().read(given)
        folder = given.folder
        names = [] if folder is None else [path.relative_to(folder).as_posix() for path in files(folder)]
        texts = {name.rpartition("/")[2].removesuffix(".txt").removesuffix(".hlo") for name in names}
        unread = [found for found in map(_UNREAD.fullmatch, names) if found and found["text"] not in texts]
        if not traces or not unread:
            return traces
        modules = joined(sorted({found["module"] for found in unread}, key=natural))
        said = (
            f"HLO of {modules} is there as graphs or protocol buffers alone, which are not read: "
            "--xla_dump_hlo_as_text beside these flags writes texts"
        )
        first = replace(traces[0], diagnostics=(*traces[0].diagnostics, Diagnostic("warning", said)))
        return [first, *traces[1:]]

    def order(self, found: re.Match[str]) -> object:
        return _order(found)

    def traces(self, log: Log, found: Sequence[tuple[re.Match[str], Path, int, int]]) -> Sequence[Trace]:
        stamps = defaultdict[str, set[str]](set)
        for match, *_ in found:
            stamps[match["module"] or ""] |= {match["stamp"]} if match["stamp"] else set()

        def called(match: re.Match[str]) -> str:
            module = match["module"] or match["of"]
            several = match["stamp"] and len(stamps[module]) > 1  # of several processes
            return f"{match['stamp']}.{module}" if several else module

        return _Dumps(log, [_Dumped(match, start, stop, called(match)) for match, _, start, stop in found]).traces()


class XLALog(Reader):
    """The same files in one log, each between two lines with its name, in the order in which XLA made them."""

    name = "xla-log"
    summary = "what XLA prints: --xla_dump_to=-"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and _BEGIN.search(given.log.head) is not None

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.log is None:
            return []
        found = sorted(_printed(given.log), key=lambda one: _order(one.name))  # pyright: ignore[reportArgumentType, reportCallIssue]
        return _Dumps(given.log, found).traces()


def _printed(log: Log) -> Iterator[_Dumped]:
    """The files in a log. A module that begins once more is another process's."""
    runs = Counter[str]()
    begun: tuple[bytes, int] | None = None

    def dumped(name: bytes, start: int, stop: int, *, cut: bool = False) -> Iterator[_Dumped]:
        match = _FILE.fullmatch(name.decode(errors="replace").replace(" ", "_"))
        if match is None or stop <= start:
            return
        module = match["module"] or match["of"]
        runs[module] += bool(match["start"])
        yield _Dumped(match, start, stop, f"{module}, run {runs[module]}" if runs[module] > 1 else module, cut)

    for offset, data in log.windows():
        for edge in _EDGE.finditer(data):
            if begun is None:
                begun = (edge[2], offset + edge.end()) if edge[1] == b"Begin" else None
            elif edge[1] == b"End" and edge[2] == begun[0]:
                yield from dumped(*begun, offset + edge.start() - 1)
                begun = None
    if begun is not None:
        yield from dumped(*begun, log.size, cut=True)


LOGS = (XLALog(),)
READERS = (XLADump(), *LOGS)
