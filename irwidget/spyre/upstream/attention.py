"""Attention on the device, in the front end's process: the one op that its compiled extension chooses for it."""

from __future__ import annotations

import math

import torch

aten = torch.ops.aten


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """What `scaled_dot_product_attention` is on a device of the choice `overrideable`, as ATen calls it.

    Without that choice ATen would take attention apart itself, in float32. A mask of booleans is added as 0 and -inf.
    """
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        low = torch.full((), -math.inf, dtype=q.dtype, device=q.device)
        attn_mask = torch.where(attn_mask, 0.0, low)
    return aten._scaled_dot_product_fused_attention_overrideable(
        q, k, v, attn_mask, dropout_p, is_causal, False, scale=scale
    )[0]
