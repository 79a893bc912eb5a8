"""flex_attention by its formula, in operations that float64 has: PyTorch's own takes vmap, which is not traced."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch


def is_attention(target: Any) -> bool:
    """Whether an FX node's target is PyTorch's operator for it."""
    return target is torch.ops.higher_order.flex_attention


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., Any],
    block_mask: Sequence[Any],
    scale: float,
    kernel_options: Mapping[str, Any],
    score_buffers: Sequence[Any] = (),
    mask_buffers: Sequence[Any] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What the operator returns: `[batch, heads, queries, width]`, and the sum and the maximum of each query's scores.

    `score_mod` and the mask, the last of `block_mask`, are called once, for all elements.
    """
    grouped = query.shape[1] // key.shape[1]
    key, value = (torch.repeat_interleave(one, grouped, 1).expand(query.shape[0], -1, -1, -1) for one in (key, value))
    dtype = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(dtype) @ key.to(dtype).transpose(-2, -1) * scale
    places = [
        torch.arange(size, dtype=torch.int32).reshape([-1 if at == dim else 1 for at in range(4)])
        for dim, size in enumerate(scores.shape)
    ]
    seen = block_mask[-1](*places, *mask_buffers)
    scores = torch.where(seen, score_mod(scores, *places, *score_buffers), -math.inf)
    none = (scores == -math.inf).all(-1)
    total = torch.where(none, -math.inf, scores.logsumexp(-1))
    weights = torch.where(none[..., None], 0.0, scores.softmax(-1)).to(query.dtype)
    return weights @ value.to(query.dtype), total / math.log(2), scores.amax(-1) / math.log(2)
