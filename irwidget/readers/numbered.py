"""Reader of a folder of texts of IR whose names hold the number of the step that each is: `02-canonicalize.mlir`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from irwidget.readers import mlir
from irwidget.readers.assembling import assembled
from irwidget.readers.base import Reader, ReaderInput
from irwidget.readers.folders import files, natural
from irwidget.readers.found import PrintedDump
from irwidget.readers.ir import is_ir, kind_of
from irwidget.readers.log import Joined, decoded
from irwidget.trace import WHOLE, Diagnostic, Scope, Trace

_HEAD = 1 << 16
_SHOWN = 4
"""Names of files in a message."""
_BANNER = b" IR Dump "
"""What a log of several texts has."""
_LEADING = re.compile(r"(?P<of>)(?P<number>\d{1,9})(?:[-_. ]+(?P<name>.+))?")
_WITHIN = re.compile(r"(?P<of>.+?)[-_. ]+(?P<number>\d{1,9})[-_. ]+(?P<name>.+)")
_TRAILING = re.compile(r"(?P<of>.+?)[-_. ]+(?P<number>\d{1,9})(?P<name>)")
_MANNERS = (_LEADING, _WITHIN, _TRAILING)
"""Where a name may have its number: `1_cse`, `f.1.cse`, `f.1`."""
_ORDER = (
    "The order is that of the numbers in the files' names; nothing in them says that each was made of the one before"
)


@dataclass(frozen=True, slots=True)
class NumberedFile:
    """A text of IR with a number in its name."""

    path: Path
    text: tuple[str, Scope]
    """Its language, and what it shows."""
    folder: str
    """The folders above it up to the last without a number: what is there is a lowering of its own."""
    stages: tuple[tuple[int, str], ...]
    """The folders with a number that it is in below that, and what else they are called."""
    of: str
    """What its name begins with before the number: likewise."""
    number: int
    name: str

    @property
    def place(self) -> tuple[str, str, tuple[int, ...]]:
        """What no other file should have."""
        return self.folder, self.of, (*(number for number, _ in self.stages), self.number)

    @property
    def order(self) -> tuple[str, str, tuple[tuple[int, int, object], ...]]:
        """The texts in the folder of a number come before the text of that number, which they end in."""
        around = tuple((number, 0, natural(name)) for number, name in self.stages)
        return self.folder, self.of, (*around, (self.number, 1, natural(self.name)))


class Numbered(Reader):
    """A folder in which each text of IR has a number; the folders in it may have one, too."""

    name = "numbered"
    summary = "a folder of numbered texts of IR: 01-import.mlir, 02-cse.mlir, 2_Stage/1_Pass.mlir"

    def recognises(self, given: ReaderInput) -> bool:
        if given.folder is None:
            return False
        named = (path for path in files(given.folder) if any(manner.fullmatch(path.stem) for manner in _MANNERS))
        return len(list(islice(filter(_text, named), 2))) > 1

    def read(self, given: ReaderInput) -> Sequence[Trace]:
        if given.folder is None:
            return []
        texts = {path: text for path in files(given.folder) if (text := _text(path))}
        found = sorted(_numbered(given.folder, texts), key=lambda one: one.order)
        log = Joined([one.path for one in found], given.name, given.folder)
        stages = {(one.folder, one.stages[0][0]): one.stages[0][1] for one in found if one.stages}
        printed = [
            PrintedDump(
                one.name or one.path.stem,
                start,
                stop,
                "after",
                *one.text,
                group="/".join(part for part in (one.folder, one.of) if part),
                step=stages.get((one.folder, one.place[2][0]), ""),
            )
            for one, (start, stop) in zip(found, log.spans, strict=True)
        ]
        said = tuple(_said(given.folder, texts, found))
        return [replace(one, diagnostics=(*one.diagnostics, *said)) for one in assembled(log, printed, given.name)]


def _text(path: Path) -> tuple[str, Scope] | None:
    """The language of a file and what it shows; None if it is not a text of IR, or a log of several."""
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if not is_ir(head) or _BANNER in head.partition(b"\n")[2]:
        return None
    language, body = kind_of(decoded(head)), mlir.body(head)
    if language != "mlir" or not body.operation or mlir.is_module(body.operation):
        return language, WHOLE
    return language, Scope(function=body.symbol or body.operation)


def _numbered(folder: Path, texts: Mapping[Path, tuple[str, Scope]]) -> list[NumberedFile]:
    """Those with a number, where most of their folder have theirs: the same number of different steps tells nothing."""
    beside: dict[Path, list[Path]] = {}
    for path in texts:
        beside.setdefault(path.parent, []).append(path)
    found: list[NumberedFile] = []
    for parent, paths in beside.items():
        ways = [[(path, one) for path in paths if (one := manner.fullmatch(path.stem))] for manner in _MANNERS]
        best = max(ways, key=lambda way: len({(one["of"], int(one["number"])) for _, one in way}))
        around, stages = _around(parent.relative_to(folder).parts)
        found += [
            NumberedFile(path, texts[path], around, stages, one["of"], int(one["number"]), one["name"] or "")
            for path, one in best
        ]
    return found


def _around(folders: Sequence[str]) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The folders that a file is in: those up to the last without a number, and those below."""
    stages: list[tuple[int, str]] = []
    rest = list(folders)
    while rest and (found := _LEADING.fullmatch(rest[-1])):
        stages.insert(0, (int(found["number"]), found["name"] or ""))
        rest.pop()
    return "/".join(rest), tuple(stages)


def _said(folder: Path, texts: Collection[Path], found: Sequence[NumberedFile]) -> Iterator[Diagnostic]:
    """What to know of the order, and of what has no place in it."""
    yield Diagnostic("remark", _ORDER)
    shown = {one.path for one in found}
    if left := [path.relative_to(folder).as_posix() for path in texts if path not in shown]:
        yield Diagnostic("remark", f"Left out, for their names have no number as those beside them do: {_first(left)}")
    count = Counter(one.place for one in found)
    if double := [one.path.relative_to(folder).as_posix() for one in found if count[one.place] > 1]:
        yield Diagnostic("warning", f"Files of one number are in the order of their names: {_first(double)}")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


READERS = (Numbered(),)
