"""Readers of what PyTorch's compiler leaves: `TORCH_TRACE=DIR`, and `TORCH_COMPILE_DEBUG=1`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from irwidget.readers.assembling import assembled
from irwidget.readers.base import LogReader, ReaderInput
from irwidget.readers.folders import FolderReader, files
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Joined, Log
from irwidget.trace import Trace, shared_scope

_FILES = {
    "fx_graph_readable": ("fx_graph", "fx"),
    "fx_graph_transformed": ("fx_graph_transformed", "fx"),
    "ir_pre_fusion": ("ir_pre_fusion", "python"),
    "ir_post_fusion": ("ir_post_fusion", "python"),
    "output_code": ("output_code", "python"),
}


class DebugFolder(FolderReader):
    """A folder for each graph, with a file for each stage."""

    name = "torch-compile-debug"
    summary = "the folder of TORCH_COMPILE_DEBUG=1"
    tool = "inductor"
    file = re.compile(rf"(?:(?P<folder>.+)/)?(?P<stage>{'|'.join(_FILES)})\.(?:py|txt)")

    def order(self, found: re.Match[str]) -> object:
        run, _, graph = (found["folder"] or "").rpartition("/")
        number = graph.rpartition(".")[2]  # of all graphs that this run has compiled
        return run, int(number) if number.isdecimal() else -1, graph, list(_FILES).index(found["stage"])

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        stage, language = _FILES[found["stage"]]
        group = "/".join((found["folder"] or "").split("/")[-1:]) or path.parent.name
        when = "start" if found["stage"] == "fx_graph_readable" else "after"
        return PrintedDump(stage, start, stop, when, language, group=group)


_LINE = re.compile(rb"^[VIWEC]\d{4} [\d:.]+ \S+ [^\]\n]*\] (?:\[rank\d+\]:? ?)?(\{.*)$")
_GRAPHS = {
    "dynamo_output_graph": "fx",
    "optimize_ddp_split_graph": "fx",
    "compiled_autograd_graph": "fx",
    "aot_forward_graph": "fx",
    "aot_backward_graph": "fx",
    "aot_inference_graph": "fx",
    "aot_joint_graph": "fx",
    "before_pre_grad_graph": "fx",
    "after_pre_grad_graph": "fx",
    "before_joint_graph": "fx",
    "after_joint_graph": "fx",
    "before_post_grad_graph": "fx",
    "after_post_grad_graph": "fx",
    "inductor_pre_grad_graph": "fx",
    "inductor_post_grad_graph": "fx",
    "inductor_output_code": "python",
}
_ARTIFACTS = re.compile(
    r"(?:before|after)_\w*graph\w*|inductor_\w*graph\w*|ir_p\w+_fusion\w*|\w*_ir_\w*|cudagraph\w*code"
)
_LONGEST = 1 << 22
_ARGUMENTS = re.compile(rb"def forward\(.*?\):", re.S)
_LOOKED_AT = 1 << 16
"""Bytes of a graph in which the list of its arguments ends; the backward graph's are the tangents."""


class StructuredTrace(LogReader):
    """The structured trace of torch.compile: the graphs of each compilation, and the code that was made of them."""

    name = "torch-trace"
    summary = "a log, or the folder, of TORCH_TRACE=DIR"
    language = "fx"

    def recognises(self, given: ReaderInput) -> bool:
        if given.log is not None:
            return any(self._entry(line) is not None for line in given.log.head.split(b"\n")[:50])
        return bool(self._logs(given))

    def _logs(self, given: ReaderInput) -> list[Path]:
        if given.folder is None:
            return []
        return [path for path in files(given.folder) if path.name.startswith("dedicated_log_torch_trace")]

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.log is not None:
            return assembled(given.log, self.scan(given.log), given.name, "torch.compile")
        found: list[Trace] = []
        for path in self._logs(given):
            assert given.folder
            log = Joined([path], path.name, given.folder)
            found += assembled(log, self.scan(log), path.name, "torch.compile")
        return found

    def scan(self, log: Log, start: int = 0) -> Iterator[PrintedDump | Said]:
        """The dumps; of a training step, those of the forward and of the backward graph are apart."""
        return halves(log, self._graphs(log, start))

    def _graphs(self, log: Log, start: int) -> Iterator[PrintedDump | Said]:
        entry: dict[str, Any] | None = None
        begin = start
        for offset, data in log.windows(start):
            at = 0
            for line in data.splitlines(keepends=True):
                if not line.startswith(b"\t"):
                    if entry is not None:
                        yield from self._payload(entry, begin, offset + at)
                    entry = self._entry(line)
                    if entry is None and line.strip():
                        yield Said(offset + at, offset + at + len(line))
                    begin = offset + at + len(line)
                at += len(line)
        if entry is not None:
            yield from self._payload(entry, begin, log.size)

    def _entry(self, line: bytes) -> dict[str, Any] | None:
        found = _LINE.match(line.rstrip(b"\r\n")) if len(line) < _LONGEST else None
        if found is None:
            return None
        try:
            entry: Any = json.loads(found[1])
        except (ValueError, RecursionError):
            return None
        return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None

    def _payload(self, entry: dict[str, Any], start: int, stop: int) -> Iterator[PrintedDump]:
        kind = next((one for one in _GRAPHS if one in entry), "")
        language = _GRAPHS.get(kind, "")
        artifact: Any = entry.get("artifact")
        if not kind and isinstance(artifact, dict):
            name: Any = cast("dict[str, Any]", artifact).get("name")
            encoding: Any = cast("dict[str, Any]", artifact).get("encoding")
            if isinstance(name, str) and encoding == "string" and _ARTIFACTS.fullmatch(name):
                kind, language = name, "python" if "ir_" in name or "code" in name else "fx"
        if not kind or stop <= start:
            return
        group = _compilation(entry)
        when = "start" if kind == "dynamo_output_graph" else "after"
        yield PrintedDump(kind, start, stop, when, language, group=group, prefix=b"\t")


def halves(log: Log, found: Iterable[PrintedDump | Said]) -> Iterator[PrintedDump | Said]:
    """The dumps of a log, those of a training step with `forward` or `backward` as their scope.

    A graph says by its arguments which it is; what is made of it follows it, and is of neither where no graph does.
    """
    now: dict[str, str] = {}
    for one in found:
        if not isinstance(one, PrintedDump):
            yield one
            continue
        half = now.get(one.group, "")
        if one.name in ("aot_forward_graph", "aot_backward_graph"):
            half = one.name.removeprefix("aot_").removesuffix("_graph")
            now[one.group] = ""
        elif one.language == "fx" and one.group in now:
            half = now[one.group] = _half(log, one)
        yield replace(one, scope=shared_scope(half)) if half else one


def _half(log: Log, graph: PrintedDump) -> str:
    head = _ARGUMENTS.search(log.read(graph.start, min(graph.stop, graph.start + _LOOKED_AT)))
    return "" if head is None else "backward" if b"tangents_" in head[0] else "forward"


def _compilation(entry: dict[str, Any]) -> str:
    """The compilation that an entry is of: `[0/1]`, with the attempt where it is not the first."""
    frame, number, attempt = (entry.get(name) for name in ("frame_id", "frame_compile_id", "attempt"))
    if frame is None:
        return "outside of a compilation"
    return f"[{frame}/{number}]" + (f" attempt {attempt}" if attempt else "")


READERS = (DebugFolder(), StructuredTrace())
