"""Custom pipelines: one line of tools, in the user's order, taken apart into steps.

    torch-mlir-opt --convert-torch-to-tosa | mlir-opt --canonicalize --cse | opt -O2 | user-tool ./mine --flag

`|` separates tools; `&&` inside a tool runs it again, as PyTorch Explorer has it.
A quoted argument may contain either. Nothing here or later goes through a shell.
"""

from __future__ import annotations

import shlex

from irwidget.dumps import Step
from irwidget.errors import UsageError, near

TOOLS = (
    "torch-mlir-opt", "mlir-opt", "mlir-translate", "opt", "llc", "triton-opt", "triton-llvm-opt", "user-tool",
)


def parse(text: str) -> tuple[Step, ...]:
    """The steps of a custom pipeline. Raises UsageError for an unknown tool or an empty step."""
    steps: list[Step] = []
    for words in _split(_words(text), "|"):
        if not words:
            raise UsageError(f"Empty step in the pipeline {text!r}: put a tool on both sides of every |")
        tool, *arguments = words
        if tool not in TOOLS:
            raise UsageError(
                f"Unknown tool {tool!r} in the pipeline. {near(tool, TOOLS)} Your own program runs as: user-tool {tool}"
            )
        for invocation in _split(arguments, "&&"):
            steps.append(Step(tool, shlex.join(invocation), " ".join([tool, *invocation])))
    return tuple(steps)


def _words(text: str) -> list[str]:
    """Shell words, with `|` and `&&` as words of their own unless quoted."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError as error:
        raise UsageError(f"Cannot read the pipeline {text!r}: {error}") from None


def _split(words: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts
