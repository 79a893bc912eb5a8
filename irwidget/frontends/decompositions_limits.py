"""Clamps by tensors that are wider than what they limit, at which torch-mlir's pass to StableHLO stops."""

from __future__ import annotations

from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import clamped, is_one


def is_wider(x: Any, *limits: Any) -> bool:
    """Whether a limit has dimensions that what is limited has not."""
    shape = value_of(x).shape
    others = [value_of(limit).shape for limit in limits if limit is not None]
    return any(len(other) > len(shape) for other in others) or any(
        is_one(mine) and not is_one(its)
        for other in others
        for mine, its in zip(reversed(shape), reversed(other), strict=False)
    )


def clamp(x: Any, *limits: Any) -> Any:
    """What is limited, spread over the limits first; NotImplemented where these are no wider."""
    if not is_wider(x, *limits):
        return NotImplemented
    shape = torch.broadcast_shapes(*(one.shape for one in (x, *limits) if one is not None))
    return clamped(x.expand(shape), *limits, *[None] * (2 - len(limits)))
