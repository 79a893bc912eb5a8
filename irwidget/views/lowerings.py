"""Which view shows lowerings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irwidget.trace import Trace
from irwidget.views import base
from irwidget.views.widget import PassDiff

if TYPE_CHECKING:
    from irwidget.spyre import SpyreProgram
    from irwidget.views.helion import KernelView
    from irwidget.views.spyre import Lowered


def show(
    traces: Sequence[Trace],
    *,
    programs: Sequence[SpyreProgram] = (),
    key: str | None = None,
    lowerings: Sequence[Any] = (),
) -> PassDiff | KernelView | Lowered:
    """Make the view of one or several lowerings: their passes, below the programs or the links of a Helion kernel.

    `lowerings` are what the traces are of, where their dumps can be edited. `key` names the cell that shows it:
    showing again with the same key closes the view before.
    """
    if programs:
        from irwidget.views.spyre import Lowered, SpyreView  # sympy and all of Spyre

        passes = PassDiff(traces, keep=True, lowerings=lowerings)
        return base.replace(key, Lowered([SpyreView(program) for program in programs], passes))
    if any(trace.nodes for trace in traces):
        from irwidget.views.helion import KernelView

        return base.replace(key, KernelView(traces, keep=True, lowerings=lowerings))
    return base.replace(key, PassDiff(traces, keep=True, lowerings=lowerings))
