"""Pads by fewer elements than none, which cut: torch-mlir makes pads of them that MLIR does not allow.

In linalg on tensors and in TOSA they moved the elements the wrong way, or the pass failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_kinds import How

aten: Any = torch.ops.aten


def _cuts(x: Any, pads: Sequence[Any], value: Any = 0) -> bool:
    return any(isinstance(pad, int) and pad < 0 for pad in pads)


def padded(x: Any, pads: Sequence[Any], value: Any = 0) -> Any:
    """What `constant_pad_nd` gives: the elements that are left, with the others beside them."""
    for at, (before, behind) in enumerate(zip(pads[::2], pads[1::2], strict=True), 1):
        if _cuts(x, (before, behind)):
            start, cut = max(-before, 0), max(-behind, 0)
            x = x.narrow(x.dim() - at, start, x.shape[-at] - start - cut)
    more = [max(pad, 0) if isinstance(pad, int) else pad for pad in pads]
    return aten.constant_pad_nd.default(x, more, value) if any(more) else x


def _taken_apart(x: Any, pads: Sequence[Any], value: Any = 0) -> Any:
    return padded(x, pads, value) if _cuts(x, pads) else NotImplemented


IN_BOTH: dict[Any, How] = {aten.constant_pad_nd.default: (_cuts, _taken_apart)}
"""In linalg and TOSA."""
