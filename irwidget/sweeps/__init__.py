"""Sweeps: many models to many targets, kept as Parquet, on one machine or a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irwidget.sweeps.cells import Case, Cell
    from irwidget.sweeps.driver import sweep
    from irwidget.sweeps.result import Sweep, SweepComparison, load

__all__ = ["Case", "Cell", "Sweep", "SweepComparison", "load", "sweep"]

_HOMES = {
    "Case": "cells",
    "Cell": "cells",
    "sweep": "driver",
    "Sweep": "result",
    "SweepComparison": "result",
    "load": "result",
}


def __getattr__(name: str) -> Any:
    """Import on first use: who looks for a view imports the views of sweeps, too, and runs none."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"irwidget.sweeps.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
