"""Offsets of intermediates in the pool, a segment of device memory that kernels share (docs/spyre-rules.md: Pool)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from irwidget.errors import UnsupportedError
from irwidget.spyre.hardware import SEGMENT_BYTES
from irwidget.spyre.ir import Graph


@dataclass(frozen=True)
class Pool:
    """Where each pooled buffer lies, and how many bytes the pool has."""

    offsets: Mapping[str, int]
    bytes: int
    lives: Mapping[str, tuple[int, int]]
    """First and last step, inclusive."""


def plan_pool(graph: Graph, in_lx: Mapping[str, int]) -> Pool:
    """First fit over the live ranges of what is made and read on the device."""
    written: dict[str, int] = {}
    read: dict[str, int] = {}
    on_host: set[str] = set()
    pieces: dict[str, list[int]] = {}
    for step, op in enumerate(graph.ops):
        if op.rule in ("copy_into", "fill"):
            pieces.setdefault(op.target, []).append(step)
        for name in (r.buffer for r in op.tensor_reads):
            read[name] = step
            if op.kind == "fallback":
                on_host.add(name)
        if op.kind == "matmul":  # upstream keeps what it has padded until then
            padded = graph.ops[step - 1]
            if padded.node == op.node and padded.rule == "copy_into":
                read[padded.reads[0].buffer] = step
        if op.computed:
            written.setdefault(op.target, step)
        if op.kind in ("constant", "multi_output"):
            on_host.add(op.target)
    keep = graph.output_buffers | {i.name for i in graph.inputs} | on_host | set(in_lx)
    names = [n for n in written if n in read and n not in keep]
    sizes = {n: graph.buffers[n].device.bytes for n in names}
    lives = {n: (written[n], read[n]) for n in names}
    # Upstream gives every piece a slot, too, though all lie in the buffer itself: in that of the last.
    slots = {(n, i): span for n in names for i, span in enumerate(pairwise(pieces.get(n, ())))}
    bytes_of = {**sizes, **{slot: sizes[slot[0]] for slot in slots}}
    late = {n: (pieces[n][-1], read[n]) for n, _ in slots}
    offsets, top = _first_fit({**slots, **lives, **late}, bytes_of)
    taken = any(_overlap(n, offsets, sizes, lives) for n in late)
    if taken:  # upstream's pieces would be written where something else still lies
        offsets, top = _first_fit({**slots, **lives}, bytes_of)
    if top > SEGMENT_BYTES:
        raise UnsupportedError(
            f"the pool of intermediates needs {top} bytes and a segment has {SEGMENT_BYTES} (16 GiB): tile the model"
            " with spyre_hint(slices=...) or compile it in parts."
        )
    return Pool({n: offsets[n] for n in names}, top, lives)


def _first_fit(lives: Mapping[Any, tuple[int, int]], sizes: Mapping[Any, int]) -> tuple[dict[Any, int], int]:
    """Offsets by start of life, and their end; freed blocks queue up as they end and are never merged."""
    offsets: dict[Any, int] = {}
    free: list[tuple[int, int]] = []
    active: list[Any] = []
    top = 0
    for name in sorted(lives, key=lambda n: lives[n][0]):
        size = sizes[name]
        for ended in [n for n in active if lives[n][1] < lives[name][0]]:
            active.remove(ended)
            free.append((offsets[ended], sizes[ended]))
        slot = next((i for i, (_, length) in enumerate(free) if length >= size), None)
        if slot is None:
            offsets[name] = top
            top += size
        else:
            start, length = free.pop(slot)
            offsets[name] = start
            if length > size:
                free.append((start + size, length - size))
        active.append(name)
    return offsets, top


def _overlap(
    one: str, offsets: Mapping[Any, int], sizes: Mapping[str, int], lives: Mapping[str, tuple[int, int]]
) -> bool:
    """Whether a buffer has bytes in common with another while both live."""
    start, end = offsets[one], offsets[one] + sizes[one]
    first, last = lives[one]
    return any(
        other != one
        and first <= to
        and since <= last
        and start < offsets[other] + sizes[other]
        and offsets[other] < end
        for other, (since, to) in lives.items()
    )
