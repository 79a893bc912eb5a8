"""IR text of the user's own: the front end, and its IR type."""

from __future__ import annotations

from typing import Any

from irwidget.errors import UsageError
from irwidget.frontends import raw_text
from irwidget.frontends.base import Begun, FrontEnd, Given, Made, run
from irwidget.frontends.cell import Call, Candidate, NotebookCell
from irwidget.registry import Target
from irwidget.toolchain.language import binary
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Dump, Step, Trace, Verdict, not_checked

TARGETS = (
    Target(
        "raw_ir",
        "raw",
        "any",
        summary="IR text of your own, as it is or through --pipeline",
        needs=("torch-mlir", "llvmlite"),
    ),
)


class _Text(Begun):
    """Text, checked where it is shown as it is."""

    def lower(self, target: Target, extra: tuple[Step, ...], options: Options) -> Made:
        given: Any = self.given.obj
        text: Any = given.text if isinstance(given, Dump) else given
        if not isinstance(text, str):
            what = binary(bytes(text)) if isinstance(text, bytes | bytearray) else ""
            raise UsageError(f"raw_ir starts from IR text, not from {what or f'a {type(text).__name__}'}")
        steps = extra or raw_text.checks(text)
        frame = Trace("", (), name=self.given.called, diagnostics=raw_text.remarks(text, steps))
        return Made(run(raw_text.source(text, steps), steps, target.name, options, frame))

    def verdict(self, target: Target, trace: Trace, options: Options, source: Source | None = None) -> Verdict:
        return not_checked("IR of your own has no eager PyTorch to compare with")


class Raw(FrontEnd):
    """Takes IR as text, or a dump of another lowering."""

    name = "raw"
    starts_from = "IR text"

    def recognises(self, obj: Any) -> bool:
        return isinstance(obj, Dump)

    def begin(self, given: Given) -> Begun:
        return _Text(self, given)

    def candidates(self, cell: NotebookCell) -> list[Candidate]:
        """The cell itself, or what it prints."""
        text = cell.text if cell.written == "text" else cell.printed()
        return [Candidate("IR", text, (Call((), told=True),))]


FRONT_END = Raw()
