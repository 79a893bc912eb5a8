"""Readers of Triton's folders, its JIT cache and `TRITON_KERNEL_DUMP=1`, and of tritonparse's traces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, cast

from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.folders import has
from irwidget.readers.log import Log
from irwidget.readers.places import placed
from irwidget.toolchain import locations
from irwidget.trace import Content, ContentCache, Diagnostic, Dump, Location, Step, Trace

_TEXTS = {
    "ttir": "mlir", "ttgir": "mlir", "llir": "llvm", "ptx": "ptx", "amdgcn": "amdgcn", "sass": "sass", "spv": "spirv"
}  # fmt: skip
_SAID_OF = ("num_warps", "num_ctas", "num_stages", "shared", "arch", "maxnreg", "cluster_dims", "num_regs", "n_spills")
_FIRST_LINE = 10**6
_LONGEST = 1 << 28
"""Bytes of an event at most."""


class Folder(Reader):
    """Triton's cache, or its dump folder: a folder for each kernel, a file for each stage."""

    name = "triton-cache"
    summary = "Triton's JIT cache, and the folder of TRITON_KERNEL_DUMP=1"

    def recognises(self, given: ReaderInput) -> bool:
        return has(given.folder, lambda path: path.suffix in (".ttir", ".ttgir"))

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        from irwidget.frontends.triton.cache import from_cache

        return [] if given.folder is None else from_cache(given.folder)


class Tritonparse(Reader):
    """tritonparse's structured log: an event a line, of which a compilation has every IR as text."""

    name = "tritonparse"
    summary = "tritonparse's .ndjson and .ndjson.gz"

    def recognises(self, given: ReaderInput) -> bool:
        if given.log is None:
            return False
        head = given.log.head.lstrip()
        return head.startswith(b"{") and b'"event_type"' in head.split(b"\n", 1)[0]

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        log = given.log
        if log is None:
            return []
        found: list[Trace] = []
        broken = 0
        for start, stop in _lines(log):
            event = _event(log, start, stop)
            broken += event is None
            if (
                event is not None
                and event.get("event_type") == "compilation"
                and (trace := _trace(log, start, stop, event))
            ):
                found.append(trace)
        if broken and found:
            said = Diagnostic(
                "warning", f"{broken} lines of {log.name} are no events of tritonparse; the last may be cut off"
            )
            found[-1] = replace(found[-1], diagnostics=(*found[-1].diagnostics, said))
        return found


def _lines(log: Log) -> Iterator[tuple[int, int]]:
    """Where each line of a log is."""
    begin = 0
    for offset, data in log.windows():
        at = 0
        while (end := data.find(b"\n", at)) >= 0:
            if offset + end > begin:
                yield begin, offset + end
            begin, at = offset + end + 1, end + 1
    if log.size > begin:
        yield begin, log.size


def _event(log: Log, start: int, stop: int) -> dict[str, Any] | None:
    if stop - start > _LONGEST:
        return None
    try:
        event: Any = json.loads(log.read(start, stop))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", event) if isinstance(event, dict) else None


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(event: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The stages of a compilation, in order: file, stage, text."""
    content = _mapping(_mapping(event.get("payload")).get("file_content"))
    named = [(file, PurePosixPath(file).suffix[1:], text) for file, text in content.items() if isinstance(text, str)]
    order = list(_TEXTS)
    return sorted((one for one in named if one[1] in _TEXTS), key=lambda one: order.index(one[1]))


def _trace(log: Log, start: int, stop: int, event: dict[str, Any]) -> Trace | None:
    """A compilation; its texts are read again when somebody looks at them."""
    stages = [(file, stage) for file, stage, _ in _texts(event)]
    if not stages:
        return None
    payload = _mapping(event.get("payload"))
    metadata = _mapping(payload.get("metadata"))
    source = _mapping(payload.get("python_source"))
    code, path, line = source.get("code"), source.get("file_path"), source.get("start_line")
    sources: dict[str, str] = {}
    if isinstance(code, str) and isinstance(path, str):
        above = line - 1 if isinstance(line, int) and 0 < line < _FIRST_LINE else 0
        sources[path] = "\n" * above + code  # lines are counted from the top of the file

    def content(index: int) -> Content:
        again = _event(log, start, stop) or {}
        text = {file: text for file, _, text in _texts(again)}.get(stages[index][0], "")
        shown, places = placed(_TEXTS[stages[index][1]], text)
        return Content(shown, True, places)

    texts = ContentCache(content)
    dumps = tuple(Dump(stage, i - 1, _TEXTS[stage], texts, i) for i, (_, stage) in enumerate(stages))
    name = metadata.get("name")
    return Trace(
        dumps[-1].language,
        dumps,
        tuple(Step("triton", "", stage) for _, stage in stages[1:]),
        tools={"triton": str(metadata["triton_version"])} if "triton_version" in metadata else {},
        name=name if isinstance(name, str) else PurePosixPath(stages[0][0]).stem,
        sources=sources,
        facts={one: metadata[one] for one in _SAID_OF if metadata.get(one) is not None},
        diagnostics=tuple(_stack(event)),
    )


def _stack(event: dict[str, Any]) -> Iterator[Diagnostic]:
    """Where the kernel was launched."""
    frames: Any = event.get("stack")
    for frame in reversed(cast("list[Any]", frames) if isinstance(frames, list) else []):
        found = _mapping(frame)
        file, line = found.get("filename"), found.get("line")
        if isinstance(file, str) and isinstance(line, int) and locations.is_user_file(file):
            yield Diagnostic("remark", "compiled for this call", Location(file, line))
            return


READERS = (Folder(), Tritonparse())
