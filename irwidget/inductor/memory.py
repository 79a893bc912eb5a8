"""Memory over Inductor's schedule, by its own account, and over the graph as it came, one operation after the other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget.inductor import printing, private
from irwidget.inductor.data import Alive, MemoryEstimate, Moment
from irwidget.inductor.schedule import Drawn


def estimated(graph: Any, schedule: Drawn, unfused: tuple[Moment, ...] = ()) -> MemoryEstimate | None:
    """Bytes alive at each step of the final schedule, as Inductor's own memory pass counts; None where it cannot.

    What that pass counts and the code does not allocate is left out: what a kernel uses only inside, what is written in
    place of what is read last, and the parts of a tensor that are written where the whole is.
    """
    from irwidget.private_torch import OrderedSet

    scheduler = graph.scheduler
    nodes = scheduler.nodes
    outputs = OrderedSet(graph.get_output_names())
    try:
        freeable = private.get("freeable_inputs")(nodes, OrderedSet(graph.graph_inputs.keys()))
        private.get("memory_planning")(nodes, scheduler.name_to_buf)
        buffers, _, _ = private.get("memory_timeline")(nodes, freeable, outputs)
        buffers = [one for one in buffers if one.buffer.get_name() not in graph.removed_buffers]  # kept in registers
        buffers = _in_place(_in_wholes(buffers), graph.wrapper_code.reuses)
        levels = _levels(buffers, len(nodes))
    except Exception:  # sizes that are no numbers; what Inductor's estimate does not take
        return None
    if not levels:
        return None
    moments = tuple(Moment(_kernel(schedule, node), level) for node, level in zip(nodes, levels, strict=True))
    most = max(range(len(levels)), key=levels.__getitem__)
    alive = [_alive(one, schedule) for one in buffers if one.start_step <= most and not 0 <= one.end_step < most]
    held = sorted((one for one in alive if one.size), key=lambda one: -one.size)
    return MemoryEstimate(schedule.graph, schedule.direction, levels[most], moments, tuple(held), unfused)


def _in_wholes(buffers: Sequence[Any]) -> list[Any]:
    """Without the parts of a concatenation that are written where the whole is, which is there from the first on."""
    starts = {one.buffer.get_name(): one.start_step for one in buffers}
    parts: set[str] = set()
    for one in sorted(buffers, key=lambda one: -one.start_step):
        layout: Any = getattr(getattr(one.buffer, "node", None), "layout", None)
        if isinstance(layout, private.get("part")) and (whole := layout.view.get_name()) in starts:
            parts.add(one.buffer.get_name())
            starts[whole] = min(starts[whole], starts[one.buffer.get_name()])
    kept = [one for one in buffers if one.buffer.get_name() not in parts]
    return [replace(one, start_step=starts[one.buffer.get_name()]) for one in kept]


def _in_place(buffers: Sequence[Any], reuses: Mapping[str, str]) -> list[Any]:
    """Each buffer whose memory another takes over ends before that begins; `reuses` has the taker first."""
    starts = {one.buffer.get_name(): one.start_step for one in buffers}
    taken = {given: starts[taker] for taker, given in reuses.items() if taker in starts}
    lives = [
        replace(one, end_step=taken[name] - 1) if (name := one.buffer.get_name()) in taken else one for one in buffers
    ]
    return [one for one in lives if one.buffer.get_name() not in taken or one.start_step <= one.end_step]


def _levels(buffers: Sequence[Any], steps: int) -> list[int]:
    """Bytes alive while each step of the schedule runs."""
    changes = [0] * (steps + 1)
    for one in buffers:
        if one.start_step < steps:
            changes[max(one.start_step, 0)] += int(one.size_alloc)
        if 0 <= one.end_step < steps:
            changes[one.end_step + 1] -= int(one.size_free)
    return list(itertools.accumulate(changes[:steps]))


def _kernel(schedule: Drawn, node: Any) -> str:
    name = node.get_first_name()
    return next((op.kernel or op.name for op in schedule.ops if op.name == name), node.get_name())


def _alive(one: Any, schedule: Drawn) -> Alive:
    name = one.buffer.get_name()
    op = next((op for op in schedule.ops if name in op.writes), None)
    size = int(one.size_alloc or one.size_free)
    return Alive(name, size, op.name if op else "", op.places[-1] if op and op.places else None)


def unfused(module: Any) -> tuple[Moment, ...]:
    """Bytes alive after each node of an FX graph, inputs left out; each result is freed after its last use.

    Empty where a size is not a number, or a value is not known.
    """
    nodes = list(module.graph.nodes)
    steps = {node: step for step, node in enumerate(nodes)}
    given: set[int] = set()
    lives: dict[int, tuple[int, int, int]] = {}
    """The bytes of what is made, and the first and last node of it."""
    try:
        for step, node in enumerate(nodes):
            for key, size in _storages(node):
                if node.op in ("placeholder", "get_attr"):
                    given.add(key)
                elif key not in given:
                    size, start, end = lives.get(key, (size, step, step))
                    lives[key] = size, start, max([end, step, *(steps[user] for user in node.users)])
    except Exception:
        return ()
    changes = [0] * (len(nodes) + 1)
    for size, start, end in lives.values():
        changes[start] += size
        changes[end + 1] -= size
    return tuple(
        Moment(f"{node.name} = {printing.target_name(node.target)}", alive)
        for node, alive in zip(nodes, itertools.accumulate(changes), strict=False)
        if node.op.startswith("call_")
    )


def _storages(node: Any) -> list[tuple[int, int]]:
    """What a node's value is kept in: an identity, which views share, and its bytes."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef

    from irwidget.private_torch import pytree

    value = node.meta.get("val", node.meta.get("example_value"))
    found: list[tuple[int, int]] = []
    for leaf in pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            storage = leaf.untyped_storage()
            count: Any = storage.nbytes()
            if not isinstance(count, int):  # asking a symbol for its value would bind the graph to it
                raise ValueError("a size is a symbol")
            found.append((StorageWeakRef(storage).cdata, count))
    return found
