"""Reader of the folder that `JAX_DUMP_IR_TO` names: for each compilation its module, and its jaxpr if that is there."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irwidget.readers.assembling import assembled
from irwidget.readers.folders import FolderReader
from irwidget.readers.found import PrintedDump
from irwidget.readers.log import Log
from irwidget.trace import Trace


class JAXDumps(FolderReader):
    """A file for each module that JAX hands to XLA, and for each jaxpr: the two are counted apart."""

    name = "jax"
    summary = "the folder that JAX_DUMP_IR_TO names"
    tool = "jax"
    file = re.compile(r"jax_(?:ir)?(?P<number>\d{1,18})_(?P<name>.+?)(?:_(?P<stage>[a-z]+)\.mlir|\.jaxpr\.txt)")

    def order(self, found: re.Match[str]) -> object:
        return found["stage"] is not None, int(found["number"])

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        return PrintedDump(found["stage"] or "jaxpr", start, stop, "after", "mlir" if found["stage"] else "text")

    def traces(self, log: Log, found: Sequence[tuple[re.Match[str], Path, int, int]]) -> Sequence[Trace]:
        printed = [
            replace(self.printed(*one), group=group)
            for one, group in zip(found, _groups([match for match, *_ in found]), strict=True)
        ]
        return assembled(log, printed, log.name, self.tool)


def _groups(files: Sequence[re.Match[str]]) -> list[str]:
    """What each file is of. A jaxpr goes with the module of its name where there are as many of both."""
    counts = Counter((_function(one), one["stage"]) for one in files)
    several: defaultdict[str, set[str | None]] = defaultdict(set)
    for function, stage in counts:
        several[function].add(stage)
    seen: Counter[tuple[str, str | None]] = Counter()
    made: list[str] = []
    for one in files:
        function, stage = _function(one), one["stage"]
        seen[function, stage] += 1
        alike = len({counts[function, other] for other in several[function]}) == 1
        number = f" {seen[function, stage]}" if counts[function, stage] > 1 else ""
        made.append(f"{function}{number}" + ("" if alike else f" ({stage or 'jaxpr'})"))
    return made


def _function(file: re.Match[str]) -> str:
    """The function that a file is of: `<lambda>` and `jit__lambda` are one."""
    name = file["name"].removeprefix("jit_") if file["stage"] else file["name"]
    return re.sub(r"\W+", "_", name).strip("_") or name


READERS = (JAXDumps(),)
