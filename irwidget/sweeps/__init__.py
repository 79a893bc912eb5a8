"""Sweeps: many models to many targets, kept as Parquet, on one machine or a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irwidget.lazy import exported

if TYPE_CHECKING:
    from irwidget.sweeps.cells import Case, Cell
    from irwidget.sweeps.driver import sweep
    from irwidget.sweeps.result import Sweep, SweepComparison, load

__all__ = ["Case", "Cell", "Sweep", "SweepComparison", "load", "sweep"]

__getattr__ = exported(
    __name__,
    {
        "Case": "cells",
        "Cell": "cells",
        "sweep": "driver",
        "Sweep": "result",
        "SweepComparison": "result",
        "load": "result",
    },
)
"""Who looks for a view imports the views of sweeps, too, and runs none."""
