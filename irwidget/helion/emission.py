"""Device IR to the raw module, by all rules that there are."""

from __future__ import annotations

from dataclasses import replace

from irwidget.errors import UnsupportedError
from irwidget.helion import aten, atomics, control, dot_scaled, memory, reductions, scans, sorting, tiles
from irwidget.helion.bound import Binding
from irwidget.helion.emitter import Emission, Emitter
from irwidget.helion.passes import shared_context
from irwidget.trace import Diagnostic

RULES = (aten, atomics, control, dot_scaled, memory, reductions, scans, sorting, tiles)
"""The modules that say how ops become MLIR: each registers its handlers when it is imported."""


def emit(binding: Binding) -> Emission:
    """The raw module: with open sizes where Helion left them open, unless an op needs their numbers."""
    try:
        return Emitter(binding, shared_context()).emit()
    except UnsupportedError as error:
        if not binding.free:
            raise
        reason = f"the sizes are those that the kernel was bound with: {error}"
    binding.free = frozenset()
    return replace(Emitter(binding, shared_context()).emit(), remarks=(Diagnostic("remark", reason),))
