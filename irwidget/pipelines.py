"""Custom pipelines: one line of tools, in the user's order, taken apart into steps.

    torch-mlir-opt --convert-torch-to-tosa | mlir-opt --canonicalize --cse | opt -O2 | user-tool ./mine --flag

`|` separates tools; `&&` inside a tool runs it again, as PyTorch Explorer has it.
A quoted argument may contain either. Nothing here or later goes through a shell.
"""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Sequence

from irwidget import registry
from irwidget.errors import LoweringInterrupted, ToolError, UsageError, near
from irwidget.toolchain import precheck
from irwidget.toolchain.run import Interrupted, Options, Source
from irwidget.trace import Step


def tools() -> list[str]:
    """The tools that a pipeline is offered; those of routes it may name, too, for what is written down of one."""
    return [tool.name for tool in registry.tools if tool.in_pipelines]


_SHOWN = 60
"""Characters of the user's text that a message quotes."""


def parse(text: str) -> tuple[Step, ...]:
    """The steps of a custom pipeline. Raises UsageError for an unknown tool or an empty step."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"A pipeline is a text, as in 'mlir-opt --cse', not {text!r}")
    steps: list[Step] = []
    for words in _split(_words(text), "|"):
        if not words:
            raise UsageError(f"Empty step in the pipeline {_short(text)!r}: put a tool on both sides of every |")
        tool, *arguments = words
        if registry.tools.get(tool) is None:
            raise UsageError(_unknown(tool))
        for invocation in _split(arguments, "&&"):
            steps.append(Step(tool, shlex.join(invocation), " ".join([tool, *invocation])))
    return tuple(steps)


def text(steps: Sequence[Step]) -> str:
    """Steps as one line that `parse` takes."""
    return " | ".join(step.command for step in steps)


def _unknown(tool: str) -> str:
    """The message for a word that is no tool."""
    if set(tool) <= set("|&"):
        return f"Nothing between the {_short(tool)} of the pipeline: tools are separated by one |, or one &&"
    tool = _short(tool)
    return f"Unknown tool {tool!r} in the pipeline. {near(tool, tools())} Your own program runs as: user-tool {tool}"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def check(steps: Sequence[Step], options: Options) -> None:
    """Have the tools read a pipeline without any IR, before somebody waits for an export; a good one is read once.

    Raises UsageError for passes and options that there are not, ToolError for a program that is not there.
    """
    if steps:
        _read(tuple(steps), options.isolate, options.memory, options.folders, os.getcwd())


@functools.lru_cache(maxsize=1000)
def _read(steps: tuple[Step, ...], isolate: bool, memory: int | None, folders: tuple[str, ...], _: str) -> None:
    options = Options(isolate=isolate, memory=memory, dumps=False, folders=folders)
    try:
        failure = Source("module {}").run((precheck.step(steps),), options).failure
    except Interrupted:
        raise LoweringInterrupted("interrupted") from None
    if failure is None:
        return
    if failure.kind == "tool":
        raise ToolError(failure.message, tool=failure.tool, pass_name=failure.pass_name)
    raise UsageError(failure.message)


_CALLED = {"mlir": "MLIR", "llvm": "LLVM IR", "torchscript": "TorchScript"}


def check_flow(steps: Sequence[Step], start: str, language: str) -> None:
    """Raise UsageError when a step cannot read what is before it: `start` in `language`, or the step before it.

    What a user-tool leaves is not known, nor is text in a language of its own; of text that may be in any language
    (`raw_ir`), nothing is said before it is read.
    """
    if language == "any":
        return
    before = start
    for step in steps:
        tool = registry.tools.get(step.tool)
        reads, leaves = tool.languages(step.arguments) if tool else ("", "")
        if reads and language not in ("", "any", "text", reads):
            verb = "is" if before == start else "leaves"
            needs, has = _CALLED.get(reads, reads), _CALLED.get(language, language)
            raise UsageError(f"{step.tool} reads {needs}, but {before} {verb} {has}")
        before, language = step.tool, leaves


def _words(text: str) -> list[str]:
    """Shell words, with `|` and `&&` as words of their own unless quoted."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError as error:
        raise UsageError(f"Cannot read the pipeline {_short(text)!r}: {error}") from None


def _split(words: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts
