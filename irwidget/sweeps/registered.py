"""The views of sweeps, as they are registered; what draws them is imported when one is shown."""

from __future__ import annotations

from irwidget.registry import View

VIEWS = (
    View.of_one("sweep", "irwidget.sweeps.view"),
    View.of_one("sweep comparison", "irwidget.sweeps.comparison"),
)
"""The heat map of a sweep, and what differs between two; both ask for their view by its name."""
