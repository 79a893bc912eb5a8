"""Reader of the folder that XLA dumps: `XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*"`."""

from __future__ import annotations

import re
from pathlib import Path

from irwidget.readers.folders import FolderReader
from irwidget.readers.found import PrintedDump
from irwidget.trace import Scope

_LANGUAGES = {"txt": "hlo", "ll": "llvm", "ptx": "ptx", "mlir": "mlir", "hlo": "hlo"}


class XLADump(FolderReader):
    """HLO after each pass that changed something, then what the back end made of it."""

    name = "xla"
    summary = "the folder of --xla_dump_to (JAX, OpenXLA)"
    tool = "xla"
    file = re.compile(
        r"(?:.*/)?(?P<module>module_\d+\.[^/]+?)\."
        r"(?:(?P<number>\d{4,})\.(?P<pipeline>[^/]+?)\.after_(?P<after>[^/]+?)(?:\.before_(?P<next>[^/]+?))?\.(?:txt|hlo)"
        r"|(?P<start>before_optimizations)\.(?:txt|hlo)"
        r"|(?:[\w.]+_)?(?P<end>after_optimizations)\.(?:txt|hlo)"
        r"|(?:(?P<kernel>[^/]+?)\.)?(?P<back>ir-no-opt|ir-with-opt)\.ll"
        r"|(?:(?P<code>[^/]+?)\.)?ptx)"
    )

    def order(self, found: re.Match[str]) -> object:
        rank = 0 if found["start"] else 1 if found["number"] else 2 if found["end"] else 3 if found["back"] else 4
        return found["module"], rank, int(found["number"] or 0), found["kernel"] or "", found["back"] or ""

    def printed(self, found: re.Match[str], path: Path, start: int, stop: int) -> PrintedDump:
        group = found["module"].split("/")[-1]
        language = _LANGUAGES[path.suffix[1:]]
        if found["start"]:
            return PrintedDump("input", start, stop, "start", language, group=group)
        if found["number"]:
            return PrintedDump(found["after"], start, stop, "after", language, group=group, step=found["pipeline"])
        name = found["back"] or ("after optimizations" if found["end"] else "ptx")
        scope = Scope(kernel=found["kernel"] or "")
        return PrintedDump(
            name, start, stop, "after", language, scope, group=group, step="back end" if found["back"] else ""
        )


READERS = (XLADump(),)
