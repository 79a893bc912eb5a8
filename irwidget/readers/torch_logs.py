"""Reader of what PyTorch's compiler logs: `TORCH_LOGS=graph_code,aot_graphs,output_code` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from irwidget.readers.assembling import assembled
from irwidget.readers.base import LogReader, ReaderInput
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.inductor import halves
from irwidget.readers.log import Log
from irwidget.trace import Trace

_LINE = re.compile(
    rb"(?P<prefix>[VIWEC]\d{4} [\d:.]+ \d+ [^\]\n]*\] (?:\[rank\d+\]:? ?)?"
    rb"(?:\[(?P<frame>[^\]\n]*?)(?:_(?P<attempt>\d+))?\] )?\[__(?P<artifact>\w+)\] ?)(?P<text>[^\n]*)"
)
"""What PyTorch's formatter puts before each line of a message: level, time, thread, file, compilation, artifact."""
_TITLE = re.compile(r"===== (?P<title>.+) =====")
_CLASS = re.compile(rb" \S+ (?=class )")
"""Before a graph stands the file that printed it."""
_AOT = re.compile(r"(joint|forward|backward) graph \d+")
_HEADS = {"before fusion": "ir_pre_fusion", "after fusion": "ir_post_fusion", "output code:": "inductor_output_code"}
"""The first line of what is no graph, and what is below it."""
_GRAPH = "traced graph"


@dataclass(slots=True)
class _Message:
    """What was logged at once, so far."""

    prefix: bytes
    compilation: str
    start: int
    """Where it begins; its IR, once its first lines have said what it is."""
    stop: int = 0
    """Where its last line that is not blank ends."""
    name: str = ""
    lines: int = 0

    def take(self, text: bytes, at: int, end: int) -> None:
        """Its next line: its text, without the line break, where that begins, and where the line ends."""
        said = text.decode(errors="replace").strip()
        self.lines += 1
        if self.lines == 1:
            self.name = _HEADS.get(said.lower(), _GRAPH if said.lower() == _GRAPH else "")
        elif self.lines == 2 and self.name == _GRAPH:
            title = _TITLE.fullmatch(said)
            self.name = _called(title["title"]) if title else ""
        elif self.name and not self.stop and said:
            found = _CLASS.match(text)
            self.start, self.stop = (at + found.end() if found else at), end
        elif self.name and said:
            self.stop = end

    def found(self, end: int) -> PrintedDump | Said:
        """It, where it ends."""
        if not self.name or not self.stop:
            return Said(self.start, end)
        when = "start" if self.name == "dynamo_output_graph" else "after"
        language = "python" if self.name in _HEADS.values() else "fx"
        return PrintedDump(self.name, self.start, self.stop, when, language, group=self.compilation, prefix=self.prefix)


def _compilation(found: re.Match[bytes]) -> str:
    """The compilation that a line is of, `[0/1]`, with the attempt where it is not the first."""
    frame, attempt = ((found[name] or b"").decode(errors="replace") for name in ("frame", "attempt"))
    return f"[{frame}]" * bool(frame) + f" attempt {attempt}" * bool(attempt)


def _called(title: str) -> str:
    """A graph's title in the words that torch.compile's own trace has for it."""
    title = title.lower()
    if found := _AOT.fullmatch(title):
        return f"aot_{found[1]}_graph"
    return "dynamo_output_graph" if title.startswith("__") else f"{title.replace(' ', '_')}_graph"


class TorchLogs(LogReader):
    """The graphs and the code of each compilation, as the artifacts of TORCH_LOGS have them."""

    name = "torch-logs"
    summary = "TORCH_LOGS=graph_code,aot_joint_graph,aot_graphs,post_grad_graphs,ir_post_fusion,output_code"
    language = "fx"

    def recognises(self, given: ReaderInput) -> bool:
        return given.log is not None and any(isinstance(one, PrintedDump) for one in _messages([(0, given.log.head)]))

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        return [] if given.log is None else assembled(given.log, self.scan(given.log), given.name, "torch.compile")

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        """The dumps; of a training step, those of the forward and of the backward graph are apart."""
        return halves(log, _messages(log.windows(start)))


def _messages(windows: Iterable[tuple[int, bytes]]) -> Iterator[PrintedDump | Said]:
    """What is logged at once has one time: all lines have the same before them."""
    message: _Message | None = None
    at = 0
    for at, data in windows:
        for line in data.splitlines(keepends=True):
            found = _LINE.match(line)
            prefix = found["prefix"] if found else b""
            begins = found is not None and found["text"].strip().lower() == _GRAPH.encode()
            if message is not None and (begins or message.prefix != prefix):
                yield message.found(at)
                message = None
            if message is None:
                message = _Message(prefix, _compilation(found) if found else "", at)
            message.take(found["text"] if found else b"", at + len(prefix), at + len(line))
            at += len(line)
    if message is not None:
        yield message.found(at)


READERS = (TorchLogs(),)
