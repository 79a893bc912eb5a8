"""The languages of IR that are made smaller here: how each is read, taken apart and printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from irwidget.errors import UsageError
from irwidget.reducing import lines, llvm, mlir
from irwidget.reducing.engine import Test
from irwidget.reducing.operations import ModuleText
from irwidget.toolchain import generic_form, language
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step


@dataclass(frozen=True)
class Language:
    """How programs of a language are made smaller; all of them are text."""

    name: str
    smaller: Callable[[str, Test[str]], Iterator[str]]
    count: Callable[[str], int]


MLIR = Language("mlir", mlir.smaller, mlir.count)
LLVM = Language("llvm", llvm.smaller, llvm.count)
TEXT = Language("text", lines.smaller, lines.count)


def read(text: str, options: Options, steps: Sequence[Step] = ()) -> tuple[Language, str]:
    """The language of a text, and the text in the form in which it is taken apart; `steps` are to run on it.

    LLVM IR that its own parser refuses, and what no parser here reads, is lines. Raises UsageError for no IR.
    """
    if not text.strip():
        raise UsageError("There is no IR: the text is empty")
    found = language.detect(text)
    if found == "llvm":
        return LLVM, llvm.normal(text)
    if found == "mlir" or "module" in text:
        made = Source(text, "mlir").run((generic_form.step(steps),), options)
        if made.failure is None and ModuleText(made.dumps[-1].text).count():
            return MLIR, made.dumps[-1].text
    return TEXT, text
