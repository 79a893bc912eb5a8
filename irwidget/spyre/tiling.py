"""Coarse tiling: counted loops around runs of ops, from `spyre_hint(slices=...)` (section 7)."""

from __future__ import annotations

from irwidget.spyre.ir import Graph
from irwidget.spyre.kernel import Kernel


def coarse_tile(graph: Graph) -> Graph:
    return graph


def set_advances(graph: Graph, kernel: Kernel) -> Kernel:
    return kernel
