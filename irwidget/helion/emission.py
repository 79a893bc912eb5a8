"""Device IR to the raw module, by all rules that there are."""

from __future__ import annotations

from dataclasses import replace

from irwidget.errors import UnsupportedError
from irwidget.helion import (
    aten,
    atomics,
    control,
    divisions,
    dot_scaled,
    fusion,
    helion_mlir_ops,
    memory,
    quantized,
    reductions,
    scans,
    shifts,
    sorting,
    tiles,
    verify,
)
from irwidget.helion.bound import Binding
from irwidget.helion.emitter import Emitter
from irwidget.helion.passes import shared_context
from irwidget.helion.values import Emission
from irwidget.trace import Diagnostic

RULES = (
    *(
        aten,
        atomics,
        control,
        divisions,
        dot_scaled,
        helion_mlir_ops,
        memory,
        quantized,
        reductions,
        scans,
        shifts,
        sorting,
    ),
    tiles,
)
"""The modules that say how ops become MLIR: each registers its handlers when it is imported."""


def emit(binding: Binding, *, fuse: bool = True) -> Emission:
    """The raw module, verified: with open sizes where Helion left them open, unless an op needs their numbers.

    Without `fuse`, each node is an op of its own.

    Raises:
        UnsupportedError: an op has no form in stock MLIR, or the module does not verify; names the node.
    """
    plan = fusion.plan if fuse else None
    if binding.turns:
        try:
            return _verified(Emitter(binding, shared_context(), plan).emit())
        except UnsupportedError as error:
            binding.unroll()
            emission = emit(binding, fuse=fuse)
            reason = f"reduction_loops is the attribute alone, and each reduction is taken whole: {error}"
            return replace(emission, remarks=(*emission.remarks, Diagnostic("remark", reason)))
    try:
        return _verified(Emitter(binding, shared_context(), plan).emit())
    except UnsupportedError as error:
        if not binding.free:
            raise
        reason = f"the sizes are those that the kernel was bound with: {error}"
    binding.free = frozenset()
    emission = _verified(Emitter(binding, shared_context(), plan).emit())
    return replace(emission, remarks=(*emission.remarks, Diagnostic("remark", reason)))


def _verified(emission: Emission) -> Emission:
    found = verify.complaint(emission.module.operation)
    if found is None:
        return emission
    message, place = found
    node = emission.nodes.get(place.name) if place else None
    what = f"{node.target} (node {node.name})" if node else "the kernel"
    where = f"{place}: " if place else ""
    raise UnsupportedError(f"{where}{what} cannot be lowered to MLIR: what irwidget makes of it is refused: {message}")
