"""Inductor's own estimate of memory over its schedule."""

from __future__ import annotations

from typing import Any

from irwidget.inductor import private
from irwidget.inductor.data import MemoryEstimate, Moment
from irwidget.inductor.schedule import Drawn


def estimated(graph: Any, schedule: Drawn) -> MemoryEstimate | None:
    """Bytes alive after each step of the final schedule, as Inductor's own memory pass counts; None where it cannot."""
    from irwidget.private_torch import OrderedSet

    scheduler = graph.scheduler
    nodes = scheduler.nodes
    outputs = OrderedSet(graph.get_output_names())
    try:
        freeable = private.get("freeable_inputs")(nodes, OrderedSet(graph.graph_inputs.keys()))
        private.get("memory_planning")(nodes, scheduler.name_to_buf)
        peak, moments = private.get("estimate_peak_memory")(nodes, freeable, outputs)
        names = ["inputs", *(node.get_name() for node in nodes)]
        steps = tuple(Moment(name, int(alive)) for name, alive in zip(names[-len(moments) :], moments, strict=False))
        return MemoryEstimate(schedule.graph, schedule.direction, int(peak), steps)
    except Exception:  # sizes that are no numbers; what Inductor's estimate does not take
        return None
