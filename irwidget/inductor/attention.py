"""Scaled dot product attention as PyTorch chooses its kernel on a GPU.

PyTorch's C++ chooses by the device, and sees the CPU (see `gpu`). These are its rules for CUDA, by dtype, shape and
mask: flash attention, the memory-efficient kernel, or the formula itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

aten: Any = torch.ops.aten
chosen: list[str] = []
"""What was chosen, in order."""
_MOST_FLASH = 256
"""The largest head that flash attention takes."""


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """As torch.nn.functional.scaled_dot_product_attention, on an NVIDIA or AMD GPU."""
    kernel = choice(query, key, value, attn_mask, enable_gqa)
    chosen.append(kernel)
    if kernel == "flash":
        return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
    if kernel == "efficient":
        bias = _bias(attn_mask, query)
        wants = torch.is_grad_enabled() and any(one.requires_grad for one in (query, key, value))
        return aten._scaled_dot_product_efficient_attention(
            query, key, value, bias, wants, dropout_p, is_causal, scale=scale
        )[0]
    return aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


scaled_dot_product_attention.__module__ = "torch.nn.functional"


def choice(query: Any, key: Any, value: Any, mask: Any, grouped: bool) -> str:
    """The kernel that PyTorch takes on a GPU: `flash`, `efficient` or `math`."""
    half = query.dtype in (torch.float16, torch.bfloat16)
    if query.dim() != 4 or not (query.dtype == key.dtype == value.dtype):
        return "math"
    head = query.shape[-1]
    if half and mask is None and head == value.shape[-1] and head <= _MOST_FLASH and head % 8 == 0:
        return "flash"
    aligned = head % (8 if half else 4) == 0 and value.shape[-1] % (8 if half else 4) == 0
    if (half or query.dtype == torch.float32) and aligned and not grouped and _mask_fits(mask):
        return "efficient"
    return "math"


def _mask_fits(mask: Any) -> bool:
    return mask is None or not mask.requires_grad


def _bias(mask: Any, query: Any) -> Any:
    """A mask as what is added to the scores."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        bias = torch.zeros_like(mask, dtype=query.dtype)
        mask = bias.masked_fill(~mask, float("-inf"))
    return mask.expand(query.shape[0], query.shape[1], mask.shape[-2], mask.shape[-1])


EAGER = torch.nn.functional.scaled_dot_product_attention
_ON_CPU = {
    aten._scaled_dot_product_flash_attention.default: (3, 4),
    aten._scaled_dot_product_efficient_attention.default: (5, 6),
}
"""Kernels of a GPU's, and where they take the chance of dropout and whether they are causal."""


def on_cpu(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a GPU's kernel computes, by the formula; None for other operations, and where there is dropout.

    Only the first result is: the others are for the backward kernel, which the CPU has not.
    """
    if target not in _ON_CPU:
        return None
    dropout, causal = (args[at] if len(args) > at else kwargs.get(name, False) for at, name in
                       zip(_ON_CPU[target], ("dropout_p", "is_causal"), strict=True))  # fmt: skip
    if dropout:
        return None  # random
    bias = args[3] if _ON_CPU[target][0] == 5 and len(args) > 3 else None
    out = aten._scaled_dot_product_attention_math(*args[:3], bias, 0.0, bool(causal), scale=kwargs.get("scale"))[0]
    return (out, *[None] * 8)


def put(module: Any) -> None:
    """Have a graph of Dynamo's call it."""
    for part in module.modules():
        if isinstance(part, torch.fx.GraphModule):
            for node in part.graph.nodes:
                if node.op == "call_function" and node.target is EAGER:
                    node.target = scaled_dot_product_attention
            part.recompile()
