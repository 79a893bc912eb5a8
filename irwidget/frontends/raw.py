"""IR as text: what language it is in, and a lowering that starts from it."""

from __future__ import annotations

from irwidget.dumps import Step
from irwidget.errors import UsageError
from irwidget.toolchain.language import detect, require_unicode
from irwidget.toolchain.run import Source

_CHECKS = {"llvm": (Step("opt", "", "opt"),)}
"""What parses and verifies text that is shown as it is; MLIR is verified when it is read."""


def source(text: str) -> Source:
    """IR text to start from. Raises UsageError when it is empty, or not Unicode."""
    if not text.strip():
        raise UsageError("There is no IR: the text is empty")
    require_unicode(text)
    return Source(text, detect(text), name="input", step="input")


def checks(text: str) -> tuple[Step, ...]:
    """The steps that verify text before it is shown as it is."""
    return _CHECKS.get(detect(text), ())
