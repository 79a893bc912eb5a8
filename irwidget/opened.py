"""`open(...)`: other people's dumps as lowerings. The format is told by its content, by the registered readers."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irwidget import display
from irwidget.errors import IRWidgetError, UsageError
from irwidget.garbage import uncollected
from irwidget.readers import log as logs
from irwidget.readers import packed, prefixes
from irwidget.readers.base import Reader, ReaderInput, damaged
from irwidget.registry import readers
from irwidget.result import Lowering, save
from irwidget.toolchain.language import binary
from irwidget.trace import Diagnostic, Trace

STDIN = "-"
_SHOWN = 200
"""Letters of a log's first line that a message has."""


class Opened(list[Lowering]):
    """The lowerings that a log, a folder or a file holds; it displays all of them in one view."""

    def __init__(self, lowerings: Sequence[Lowering], name: str, reader: str) -> None:
        super().__init__(lowerings)
        self.name = name
        """What was opened."""
        self.format = reader
        """The reader that read it."""

    @property
    def text(self) -> str:
        """What a terminal shows. Raises UsageError where a lowering names a view that is not installed."""
        return display.text(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """All of it as one interactive page that needs no kernel and no network; written to `path` when given.

        Raises UsageError when it cannot be written.
        """
        return display.page(self, self.name, path)

    def save(self, path: str | Path) -> Path:
        """Keep all of it in one .irtrace file. Raises UsageError when it cannot be written."""
        return save(self, path)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return display.mimebundle(self)

    def __repr__(self) -> str:
        named = ", ".join(low.name for low in self[:5]) + (", ..." if len(self) > 5 else "")
        return f"<{self.name}, read as {self.format}: {len(self)} lowering{'s' * (len(self) != 1)} ({named})>"


def open(what: Any, *, format: str | None = None, name: str | None = None, most: int = logs.MOST) -> Opened:
    """Open what a compiler has printed or written about its passes: a log, a folder, a trace, a file of IR.

    `what` is a path (`-`: standard input), the text itself (anything with a line break, or bytes), or a stream, which
    is read to its end. `format` names the reader (`irwidget.opened.formats()`); by default the content tells. `name` is
    what lowerings are called that have no name of their own. Compressed logs (gzip, xz, bzip2, zstd) may unpack to
    `most` bytes.

    Texts of a log are read when they are looked at: it must stay where it is. A log that ends early, in a crash or in
    the middle of a dump, opens up to there, and `diagnostics` and `failure` say so. Sources that the IR names are not
    read.

    Raises UsageError for what is not there, cannot be read, or is no dump that a reader knows.
    """
    return read(given_of(what, name, most), format)


def read(given: ReaderInput, format: str | None = None) -> Opened:
    """What a log or folder holds. Raises UsageError for what is no dump that a reader knows."""
    if given.log is not None:
        given = replace(given, log=prefixes.without(given.log))
    reader, given = _chosen(given, format)
    with uncollected():
        return _opened(reader, given)


def _opened(reader: Reader, given: ReaderInput) -> Opened:
    found = read_by(reader, given)
    whole = _with_others(reader, given, damaged(given.log, [trace for trace, _ in found]))
    found = [(trace, results) for trace, (_, results) in zip(whole, found, strict=True)]
    if not found:
        raise UsageError(f"{given.name} has no dump that the reader {reader.name!r} finds. {_known()}")
    made: list[Lowering] = []
    for trace, results in found:
        low = Lowering(trace, results)
        low.file = given.name
        made.append(low)
    return Opened(made, given.name, reader.name)


def _with_others(reader: Reader, given: ReaderInput, traces: Sequence[Trace]) -> Sequence[Trace]:
    """The lowerings of a log; the first with a remark where other readers know some of it, too."""
    others = [
        other.name
        for other in (readers if given.log is not None and traces else ())
        if other is not reader and not getattr(other, "any_text", False) and _asked(other, given)
    ]
    if not others:
        return traces
    said = f"The log has dumps of another format, too, which are not shown: format={others[0]!r} shows them alone"
    first = replace(traces[0], diagnostics=(*traces[0].diagnostics, Diagnostic("remark", said)))
    return [first, *traces[1:]]


def formats() -> dict[str, str]:
    """The formats that can be opened, by the name that `format=` takes, with what each reads."""
    return {reader.name: reader.summary for reader in readers}


def _known() -> str:
    return "Formats: " + "; ".join(f"{name} ({summary})" if summary else name for name, summary in formats().items())


def given_of(what: Any, name: str | None, most: int) -> ReaderInput:
    """What there is to read, under which name, unpacked to `most` bytes at most. Raises UsageError."""
    if isinstance(what, bytes | bytearray | memoryview):
        return ReaderInput(name or "log", logs.of_bytes(bytes(what), name or "the bytes", most))
    if isinstance(what, str) and "\n" in what:
        return ReaderInput(
            name or "log", logs.of_bytes(what.encode("utf-8", "surrogateescape"), name or "the text", most)
        )
    if what == "":
        raise UsageError("There is nothing to open: an empty text, and no path")
    if what == STDIN:
        stdin: Any = getattr(sys.stdin, "buffer", sys.stdin)
        return ReaderInput(name or "standard input", logs.of_stream(stdin, "standard input", most))
    if isinstance(what, str | os.PathLike):
        return _at(Path(os.fspath(what)), name, most)
    if isinstance(what, io.IOBase) or hasattr(what, "read"):
        called = name or str(getattr(what, "name", "stream"))
        return ReaderInput(called, logs.of_stream(what, called, most))
    raise UsageError(f"open takes a path, text, bytes or a stream, not a {type(what).__name__}")


def _at(path: Path, name: str | None, most: int) -> ReaderInput:
    with logs.naming(path):
        try:
            if path.is_dir():
                return ReaderInput(name or path.name or str(path), folder=path)
            if path.is_file() and (folder := packed.unpacked(path, most)) is not None:
                return ReaderInput(name or path.name, folder=folder)
            if path.is_file():
                return ReaderInput(name or path.name, logs.of_file(path, most))
            if path.exists():  # a pipe, say
                with contextlib.closing(io.open(path, "rb")) as stream:  # noqa: UP020  # `open` is ours
                    return ReaderInput(name or path.name, logs.of_stream(stream, str(path), most))
        except ValueError as error:  # a NUL in the name
            raise UsageError(f"{str(path)!r} is no path: {error}") from None
    raise UsageError(f"There is no file or folder {path}")


def _chosen(given: ReaderInput, format: str | None) -> tuple[Reader, ReaderInput]:
    """The reader that is asked for, or the first that recognises what is given, with that. Raises UsageError.

    Where none does, they are asked again without what all lines begin with.
    """
    if format is not None:
        return readers.find(format, "format"), given
    if given.log is not None and not given.log.size:
        raise UsageError(f"{given.name} is empty")
    bare = given.log and prefixes.without_common(given.log)
    asked = [given, replace(given, log=bare)] if bare is not given.log else [given]
    for any_text, one in itertools.product((False, True), asked):
        for reader in readers:
            if getattr(reader, "any_text", False) == any_text and _asked(reader, one):
                return reader, one
    if given.log is not None and (what := binary(given.log.head)):
        raise UsageError(f"{given.name} is {what}, and no dump that a reader knows. {_known()}")
    begins = f" It begins with {first!r}." if (first := _first_line(given)) else ""
    raise UsageError(f"{given.name} is no dump that a reader knows; format= names one.{begins} {_known()}")


def _first_line(given: ReaderInput) -> str:
    """What a log says first, which may be why it has no dump; nothing for a folder."""
    text = "" if given.log is None else logs.decoded(given.log.head).lstrip()
    return textwrap.shorten(text.partition("\n")[0], _SHOWN, placeholder=" ...")


def _asked(reader: Reader, given: ReaderInput) -> bool:
    """Whether a reader recognises this; not where it fails."""
    return readers.ask(reader, lambda asked: _recognises(asked, given), False)


def _recognises(reader: Reader, given: ReaderInput) -> bool:
    with logs.naming(given.folder or Path(given.name)):
        return reader.recognises(given)


def read_by(reader: Reader, given: ReaderInput) -> list[tuple[Trace, Mapping[str, Any]]]:
    """The lowerings that a reader finds, each with what there is to show beside it.

    Raises UsageError, also for what the reader could not cope with.
    """
    try:
        with logs.naming(given.folder or Path(given.name)):
            return list(reader.lowered(given))
    except IRWidgetError:
        raise
    except Exception as error:
        raise UsageError(
            f"The reader {reader.name!r} cannot read {given.name}: {type(error).__name__}: {error}. format= names "
            "another reader"
        ) from error
