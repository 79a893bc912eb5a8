"""Sweeps: many models to many targets, kept as Parquet, on one machine or a cluster."""

from __future__ import annotations

from irwidget.sweeps.cells import Case, Cell
from irwidget.sweeps.driver import sweep
from irwidget.sweeps.result import Sweep, SweepComparison, load

__all__ = ["Case", "Cell", "Sweep", "SweepComparison", "load", "sweep"]
