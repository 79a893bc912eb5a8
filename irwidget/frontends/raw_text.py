"""IR as text: what language it is in, and a lowering that starts from it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from irwidget.errors import UsageError
from irwidget.registry import tools
from irwidget.toolchain.language import detect, require_unicode, without_mark
from irwidget.toolchain.named import Naming
from irwidget.toolchain.run import Source
from irwidget.toolchain.weights import Weights
from irwidget.trace import Diagnostic, Step

_CHECKS = {"llvm": (Step("opt", "", "opt"),), "triton": (Step("triton-opt", "", "triton-opt"),)}
"""What parses and verifies text that is shown as it is; MLIR is verified when it is read."""
_UNKNOWN = ("text", "json")


def source(
    text: str,
    steps: Sequence[Step] = (),
    like: str = "",
    known: str = "",
    naming: Naming | None = None,
    weights: Weights | None = None,
) -> Source:
    """IR text to start from, for these steps. Raises UsageError when it is empty, or not Unicode.

    `naming` is what MLIR only names, `weights` the values that the module with these constants leaves out.

    Text that nothing tells the language of is in that which is `known`, in that of the first step, or, without one, in
    that of the text `like`.
    """
    text = without_mark(text)
    if not text.strip():
        raise UsageError("There is no IR: the text is empty")
    require_unicode(text)
    language = detect(text)
    if language in _UNKNOWN and known:
        language = known
    elif language in _UNKNOWN and steps and (tool := tools.get(steps[0].tool)):
        language = tool.reads or language  # with a typo at its start, most often
    elif language in _UNKNOWN and like:
        language = detect(like)
    if language != "mlir" or naming is None:
        return Source(text, language, name="input")
    return Source(text, language, name="input", naming=naming, weights=weights)


def checks(text: str, like: str = "") -> tuple[Step, ...]:
    """The steps that verify text before it is shown as it is; text that nothing tells the language of is as `like`."""
    language = detect(text)
    if language in _UNKNOWN and like:
        language = detect(like)
    if language == "triton" and importlib.util.find_spec("triton") is None:
        return ()
    return _CHECKS.get(language, ())


def remarks(text: str, steps: Sequence[Step]) -> tuple[Diagnostic, ...]:
    """What the user should know of text that is shown as it is."""
    if steps or detect(text) != "text":
        return ()
    said = "this is not recognised as MLIR or LLVM IR, so nothing has checked it; --pipeline names a tool that reads it"
    return (Diagnostic("remark", said),)
