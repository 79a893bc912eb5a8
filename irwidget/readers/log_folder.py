"""Reader of a folder of logs, of a build for instance: each is what the reader of its format makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from irwidget.errors import UsageError
from irwidget.readers import banners, numba, prefixes, printed, sil, taichi, torch_logs, torchscript, worded, xla
from irwidget.readers import log as logs
from irwidget.readers.base import Reader, ReaderInput, damaged
from irwidget.readers.folders import files, natural
from irwidget.readers.log import Joined, Log
from irwidget.trace import Diagnostic, Trace

_FIRST = 1 << 18
"""Bytes of a file that its first banner is looked for in."""
_PACKED = (".gz", ".gzip", ".xz", ".bz2", ".zst", ".zstd")
_OTHERS = (
    *xla.LOGS, *torch_logs.READERS, *worded.READERS, *numba.READERS, *taichi.READERS, *torchscript.READERS,
    *sil.READERS,
)  # fmt: skip
"""What tells a log of its own by its first bytes. What is told by less is no log in a folder."""


class LogFolder(Reader):
    """A folder of logs, also packed: each with its own lowerings, by the names of the files."""

    name = "passes-dir"
    summary = "a folder of logs, one for each file that was compiled, say"

    def recognises(self, given: ReaderInput) -> bool:
        return given.folder is not None and any(True for _ in _logs(given.folder))

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        """Raises UsageError where no log can be read; what cannot be beside others is said with these."""
        found: list[Trace] = []
        refused: list[str] = []
        for log, reader in _logs(given.folder) if given.folder else ():
            try:
                found += damaged(log, reader.read(ReaderInput(log.name, log)))
            except UsageError as error:
                refused.append(str(error))
        if refused and not found:
            raise UsageError(refused[0])
        said = tuple(Diagnostic("warning", f"Not shown: {one}") for one in refused)
        return [replace(one, diagnostics=(*one.diagnostics, *said)) for one in found]


def _logs(folder: Path) -> Iterator[tuple[Log, Reader]]:
    """The files below a folder that begin as logs, by their names, with their readers."""
    paths = {path.relative_to(folder).as_posix(): path for path in files(folder) if path.is_file()}
    for name in sorted(paths, key=natural):
        log = prefixes.without(_log(paths[name], name))
        if (reader := _reader(log)) is not None:
            yield log, reader


def _log(path: Path, name: str) -> Log:
    """A file as a log, unpacked."""
    if path.suffix not in _PACKED:
        return Joined([path], name, path)
    try:
        log = logs.of_file(path)
    except UsageError:  # a bomb, say
        return Joined([path], name, path)
    log.name = name
    return log


def _reader(log: Log) -> Reader | None:
    if next(banners.found(log, 0, min(log.size, _FIRST)), None) is not None:
        return printed.PassDumps()
    head = ReaderInput(log.name, log)
    return next((reader for reader in (printed.XDSLPassDumps(), *_OTHERS) if reader.recognises(head)), None)


READERS = (LogFolder(),)
