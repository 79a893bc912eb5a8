"""Reader of what TorchScript's passes and executors log, `PYTORCH_JIT_LOG_LEVEL=">>profiling_graph_executor_impl"`.

No graph has a name there. What an executor logs is of what it runs, with these arguments; what passes log by themselves
is taken for one graph as long as it has most of the operations of the one before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from irwidget.readers.base import LogReader, ReaderInput
from irwidget.readers.found import PrintedDump, Said, When
from irwidget.readers.log import Log
from irwidget.trace import Diagnostic, Trace

_LINE = re.compile(rb"(?P<prefix>\[(?:DUMP|DEBUG|UPDATE) +[\w.]+:\d+\] )(?P<text>[^\r\n]*)")
_RUNS = re.compile(rb"Running (\w+ 0x[0-9a-f]+)")
_TITLE = re.compile(r"(?P<when>After|Before) (?P<name>.+?)(?:,? (?:before \S.*|\((?:end|beginning) of \w+\)))?:?")
_ENDS = re.compile(rb"\] +return \([^\n]*\)\s*\Z")
_TAIL = 1 << 12
_EXECUTOR = b"graph_executor"
_GRAPH = b"graph("
_GLUED = re.compile(rb"((?:After|Before) [\w, ]+?)(?=graph\([%)])")
_GOES_ON = (b" ", b"\t", b"return (", b"with ", b")")
_ARGUMENT = re.compile(rb"%([\w.]+?)(?:\.\d+)? :")
_OPERATION = re.compile(rb"= ([\w:]+)[\[(]")
_HEAD = 1 << 20
"""Bytes of a graph that are looked at."""
_UNNAMED = Diagnostic(
    "remark",
    "The log does not name its graphs: they are told apart by the executor that ran them and by their arguments, and "
    "where a pass logged them, by their operations. Two graphs that are alike in these may be side by side here",
)


@dataclass(slots=True)
class _Graph:
    """What was printed last of one graph."""

    group: str
    operations: Counter[bytes]


_Arguments = tuple[bytes, ...]


@dataclass(slots=True)
class _Graphs:
    """The graphs of a log. Executors run others in their midst."""

    _executor: bytes = b""
    """The one that has begun, as long as it has printed nothing."""
    _ran: dict[tuple[bytes, _Arguments], _Graph] = field(
        default_factory=lambda: dict[tuple[bytes, _Arguments], _Graph]()
    )
    _last: dict[_Arguments, _Graph] = field(default_factory=lambda: dict[_Arguments, _Graph]())
    _counts: Counter[str] = field(default_factory=Counter[str])

    def begin(self, executor: bytes) -> None:
        """Note that an executor runs: what it prints first is its own graph."""
        self._executor = executor

    def of(self, text: bytes, *, executors: bool) -> str:
        """The name of the lowering that a graph belongs to; `executors`, if an executor has logged it."""
        arguments = tuple(_ARGUMENT.findall(text.partition(b"):")[0]))
        operations = Counter(_OPERATION.findall(text))
        last = self._last.get(arguments)
        if executors and self._executor:
            last = self._ran.get((self._executor, arguments))
        elif not executors and last and 2 * (last.operations & operations).total() < operations.total():
            last = None
        if last is None:
            last = _Graph(self._named(arguments), operations)
        if executors and self._executor:
            self._ran[self._executor, arguments] = last
            self._executor = b""
        self._last[arguments] = last
        last.operations = operations
        return last.group

    def _named(self, arguments: _Arguments) -> str:
        name = f"graph({b', '.join(arguments).decode(errors='replace')})"
        self._counts[name] += 1
        return name if self._counts[name] == 1 else f"{name} ({self._counts[name]})"


class TorchScriptLogs(LogReader):
    """The graphs between passes, as TorchScript's executors and its passes log them."""

    name = "torchscript"
    summary = (
        'what TorchScript logs with PYTORCH_JIT_LOG_LEVEL=">>profiling_graph_executor_impl", or the names of passes'
    )
    language = "torchscript"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and any(
            found["text"].startswith(_GRAPH) for line in given.log.head.splitlines() if (found := _LINE.match(line))
        )

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        graphs = _Graphs()
        for one in _messages(log, start):
            if isinstance(one, Said):
                if found := _RUNS.search(log.read(one.start, min(one.stop, one.start + _HEAD))):
                    graphs.begin(found[1])
                yield one
            else:
                text = log.read(one.start, min(one.stop, one.start + _HEAD)).replace(one.prefix, b"")
                cut = one.stop == log.size and not _ENDS.search(log.read(max(one.start, one.stop - _TAIL), one.stop))
                yield replace(one, group=graphs.of(text, executors=_EXECUTOR in one.prefix), cut=cut)

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        """With a remark, for no graph has a name."""
        return [replace(one, diagnostics=(*one.diagnostics, _UNNAMED)) for one in super().read(given)]


def _messages(log: Log, start: int) -> Iterator[PrintedDump | Said]:
    """The graphs, each with the title on the line before it, and the lines that are neither."""
    prefix, title, begin, graph, end = b"", b"", start, -1, start
    for offset, data in log.windows(start):
        end = offset
        for line in data.splitlines(keepends=True):
            found = _LINE.match(line)
            own, text = (found["prefix"], found["text"]) if found else (b"", line)
            if graph >= 0 and (_is_torn(line, prefix) or (own == prefix and text.startswith(_GOES_ON))):
                end += len(line)
                continue
            if graph >= 0:
                yield _dump(title, prefix, graph, end)
                graph, begin, title = -1, end, b""
            if own and own == prefix and title and text.startswith(_GRAPH):
                graph = end
            elif end > begin:
                yield Said(begin, end)
            if graph < 0:
                prefix, title, begin = own, text if own else b"", end
                if glued := _GLUED.match(title):  # a title without a line break
                    title, graph = glued[1], end + len(own) + glued.end()
            end += len(line)
    if graph >= 0:
        yield _dump(title, prefix, graph, end)
    elif end > begin:
        yield Said(begin, end)


def _is_torn(line: bytes, prefix: bytes) -> bool:
    """Whether a line without an end is what is there of one of a graph."""
    whole = [prefix + words for words in _GOES_ON]
    return not line.endswith(b"\n") and any(one.startswith(line) for one in whole)


def _dump(title: bytes, prefix: bytes, start: int, stop: int) -> PrintedDump:
    words = title.decode(errors="replace").strip()
    found = _TITLE.fullmatch(words)
    when: When = "before" if found and found["when"] == "Before" else "after"
    return PrintedDump(found["name"] if found else words.rstrip(": "), start, stop, when, "torchscript", prefix=prefix)


READERS = (TorchScriptLogs(),)
