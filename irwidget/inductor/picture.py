"""A schedule as what a view draws: kernels with their loops, buffers, bytes and origins, and why two are not one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from irwidget.inductor.data import (
    TAKEN,
    CapturedCompilation,
    InductorOp,
    InductorStage,
    InductorText,
    Kernel,
    MemoryEstimate,
)
from irwidget.inductor.why import Compilation, KernelLaunch
from irwidget.trace import Location

VERSION = 1
PAIRS = 48
"""Kernels among which each pair is answered; of more, those near each other."""


def picture(compilation: Compilation, name: str, device: str) -> dict[str, Any]:
    """Launches in order, with the text of each, the buffers between them, and the answer for each pair."""
    captured = compilation.captured
    launches = compilation.schedule()
    return {
        "version": VERSION, "name": name, "device": device,
        "launches": [_launch(compilation, one, captured) for one in launches],
        "flows": _flows(launches),
        "pairs": _pairs(compilation, launches),
        "memory": [_memory(one) for one in captured.memory],
    }  # fmt: skip


def _launch(compilation: Compilation, launch: KernelLaunch, captured: CapturedCompilation) -> dict[str, Any]:
    kernel = _kernel(captured.kernels, launch)
    source = kernel.source if kernel else _calls(captured.stages, launch)
    last = launch.ops[-1]
    return {
        "kernel": launch.kernel or "no code", "graph": launch.graph,
        "kind": "result" if launch.kernel == TAKEN else launch.kind,
        "direction": launch.direction, "subgraph": launch.subgraph, "reads": launch.reads, "writes": launch.writes,
        "loops": list(last.loops), "reduced": list(max((op.reduced for op in launch.ops), key=len)),
        "buffers": _buffers(launch.ops), "ops": [_op(op) for op in launch.ops],
        "text": source.text, "lines": [place.line if place else 0 for place in source.places],
        "said": "\n".join(compilation.became(op) for op in launch.ops),
    }  # fmt: skip


def _kernel(kernels: Sequence[Kernel], launch: KernelLaunch) -> Kernel | None:
    found = [one for one in kernels if one.name == launch.kernel]
    own = [one for one in found if (one.graph, one.direction) == (launch.graph, launch.direction)]
    return next(iter(own or found), None)


def _calls(stages: Sequence[InductorStage], launch: KernelLaunch) -> InductorText:
    """The lines of the output code that call what is not generated."""
    written = {name for op in launch.ops for name in op.writes}
    called = [name for op in launch.ops for name in op.runs] or [launch.kernel.removesuffix(".default")]
    for stage in stages:
        if stage.phase == "code" and (stage.graph, stage.direction) == (launch.graph, launch.direction):
            lines = stage.content.text.split("\n")
            places = (*stage.content.places, *[None] * len(lines))
            found = [(line.strip(), place) for line, place in zip(lines, places, strict=False)
                     if "(" in line and any(name in line for name in called)
                     and written & set(re.findall(r"\w+", line))]  # fmt: skip
            return InductorText("\n".join(line for line, _ in found), tuple(place for _, place in found))
    return InductorText("")


def _op(op: InductorOp) -> dict[str, Any]:
    place: Location | None = op.places[-1] if op.places else None
    return {
        "name": op.name, "targets": list(op.targets), "origins": list(op.origins),
        "loops": list(op.loops), "reduced": list(op.reduced),
        "line": place.line if place else 0, "file": place.file if place else "", "module": place.name if place else "",
    }  # fmt: skip


def _buffers(ops: Sequence[InductorOp]) -> list[dict[str, Any]]:
    """Each buffer once: read, written, or made and used inside."""
    made = {name for op in ops for name in op.writes}
    found: dict[str, dict[str, Any]] = {}
    for op in ops:
        for name, size in op.reads.items():
            if name not in made:
                found.setdefault(name, {"name": name, "bytes": op.together.get(name, size), "way": "reads"})
        for name, size in op.writes.items():
            way = "inside" if name in op.inside else "writes"
            found[name] = {"name": name, "bytes": op.together.get(name, size), "way": way}
    return sorted(found.values(), key=lambda one: (one["way"], one["name"]))


def _flows(launches: Sequence[KernelLaunch]) -> list[dict[str, Any]]:
    """What a kernel makes and a later one reads."""
    makers: dict[tuple[int, str, str], int] = {}
    found: list[dict[str, Any]] = []
    for number, launch in enumerate(launches):
        for one in _buffers(launch.ops):
            key = (launch.graph, launch.direction, one["name"])
            if one["way"] == "reads" and key in makers:
                found.append({"maker": makers[key], "reader": number, "buffer": one["name"], "bytes": one["bytes"]})
        makers.update({(launch.graph, launch.direction, name): number for op in launch.ops for name in op.writes})
    return found


def _pairs(compilation: Compilation, launches: Sequence[KernelLaunch]) -> list[dict[str, Any]]:
    near = PAIRS if len(launches) <= PAIRS else max(2, PAIRS * PAIRS // (2 * len(launches)))
    return [
        {"first": i, "second": j, "answer": why.answer, "text": why.text}
        for i, one in enumerate(launches)
        for j in range(i + 1, min(i + 1 + near, len(launches)))
        for why in [compilation.between(one.ops, launches[j].ops)]
    ]


def _memory(memory: MemoryEstimate) -> dict[str, Any]:
    return {
        "graph": memory.graph, "direction": memory.direction, "peak": memory.peak,
        "unfused": memory.unfused_peak, "moments": [one.alive for one in memory.moments],
        "alive": [{"name": one.buffer, "bytes": one.size, "line": one.place.line if one.place else 0}
                  for one in memory.alive],
    }  # fmt: skip
