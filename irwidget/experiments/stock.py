"""Steps as the stock programs run them: the passes that torch-mlir brings are in its own program only."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from irwidget.experiments.passes import textual
from irwidget.trace import Step

_EMBEDDED, _OWN = "mlir-opt", "torch-mlir-opt"
_TORCH = re.compile(r"(?:^|[-(])(?:torch|refback|tm-tensor|stablehlo|chlo|vhlo)\b")
_ANCHORED = re.compile(r"(any|[\w]+\.[\w.]+)\((.*)\)", re.DOTALL)
"""Passes on the operations of a name: `func.func(cse,canonicalize)`."""


def programs(steps: Sequence[Step]) -> tuple[Step, ...]:
    """What runs the same: steps of `mlir-opt`, which has torch-mlir's passes here, in parts where they use these."""
    return tuple(part for step in steps for part in _parts(step))


def _parts(step: Step) -> Iterator[Step]:
    pipeline = textual(step.arguments)
    passes = [*_single(pipeline)] if pipeline.startswith("builtin.module(") else shlex.split(step.arguments)
    if step.tool != _EMBEDDED or not any(map(_TORCH.search, passes)):
        yield step
        return
    for program, group in groupby(passes, key=lambda one: _OWN if _TORCH.search(one) else _EMBEDDED):
        some = [*group]
        inside = [one.removeprefix("builtin.module(")[:-1] for one in some]
        arguments = (
            f"builtin.module({','.join(inside)})" if pipeline.startswith("builtin.module(") else shlex.join(some)
        )
        yield replace(step, tool=program, arguments=arguments)


def _single(pipeline: str) -> Iterator[str]:
    """The passes of a textual pipeline, each as a pipeline of its own."""
    for one in _split(pipeline):
        if found := _ANCHORED.fullmatch(one):
            yield from (f"{found[1]}({inner})" for inner in _single(found[2]))
        else:
            yield one


def _split(pipeline: str) -> Iterator[str]:
    """What commas outside of brackets separate."""
    depth = start = 0
    for at, mark in enumerate(pipeline):
        depth += (mark in "({") - (mark in ")}")
        if mark == "," and not depth:
            yield pipeline[start:at]
            start = at + 1
    yield pipeline[start:]
