"""`--check` for kernels: run the module on the CPU and compare with Helion's own eager mode."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from irwidget import checking, devices
from irwidget.dumps import Trace
from irwidget.errors import IRWidgetError, UnsupportedError
from irwidget.helion import eagerly
from irwidget.helion.binding import Binding

if TYPE_CHECKING:
    from irwidget.helion.lowering import HelionLowering

_OF_TILES = ("tile_begin", "tile_end", "tile_id", "tile_count", "tile_block_size", "_if")
"""Ops by which a result can depend on how the work is cut into tiles."""


def checked(trace: Trace, lowering: HelionLowering, *, each: bool) -> Trace:
    """The trace with a verdict in `facts["check"]`: the final module's, and with `each` that of the raw one, too."""
    raw = [("import", lowering.as_raw())] if each and lowering.aten != "raw" else []
    outputs = _expected(lowering.binding)
    verdicts = [_verdict(name, which, outputs) for name, which in [*raw, (lowering.trace.dumps[-1].name, lowering)]]
    return checking.with_verdicts(trace, verdicts, each)


def eager(binding: Binding) -> tuple[torch.Tensor, ...]:
    """What Helion's eager mode makes of the bound arguments: the returned tensors, then the arguments that hold them.

    Raises:
        UnsupportedError: meta tensors, or a kernel that the eager mode cannot run.
    """
    arguments = copy.deepcopy(binding.arguments)
    if any(isinstance(leaf, torch.Tensor) and leaf.device.type == "meta" for leaf in pytree.tree_leaves(arguments)):
        raise UnsupportedError("the kernel was bound to meta tensors, which hold no data")
    kernel = eagerly.kernel(binding.kernel, [binding.config])
    try:
        with torch.no_grad(), devices.without_gpu():
            result = kernel(*arguments)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise UnsupportedError(f"Helion's eager mode cannot run it: {type(error).__name__}: {reason}") from error
    return _tensors((result, arguments))


def _expected(binding: Binding) -> tuple[torch.Tensor, ...] | str:
    """What eager mode returns, or why there is nothing."""
    try:
        return eager(binding)
    except UnsupportedError as error:
        return str(error)


def _verdict(name: str, lowering: HelionLowering, expected: tuple[torch.Tensor, ...] | str) -> checking.Verdict:
    if isinstance(expected, str):
        return checking.Verdict(name, False, reason=expected)
    arguments = copy.deepcopy(lowering.binding.arguments)
    try:
        results = _tensors((lowering.run(*arguments, opt_level=0, timeout=checking.SECONDS), arguments))
    except IRWidgetError as error:
        return checking.Verdict(name, False, reason=str(error).splitlines()[0])
    verdict = checking.compare(name, results, expected)
    if not verdict.ok and any(node.target in _OF_TILES for node in lowering.trace.nodes):
        reason = "eager mode takes each loop as one tile, and this kernel's result depends on its tiles"
        return checking.Verdict(name, False, reason=reason)
    return verdict


def _tensors(values: Any) -> tuple[torch.Tensor, ...]:
    leaves: Sequence[Any] = pytree.tree_leaves(values)
    return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
