"""Histograms of integers, which PyTorch has for a GPU and not for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_HISTOGRAMS = (torch.histc, torch.Tensor.histc)


def on_a_gpu(func: Callable[..., Any], args: Any) -> Callable[..., Any]:
    """A function of PyTorch's, as a GPU has it for these arguments."""
    integers = func in _HISTOGRAMS and args and isinstance(args[0], torch.Tensor) and not args[0].is_floating_point()
    return _of_integers if integers else func


def _of_integers(
    given: torch.Tensor, bins: int = 100, min: Any = 0, max: Any = 0, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """`torch.histc`, in integers as CUDA's kernel computes it."""
    values = given.long().flatten()
    low, high = torch.tensor(int(min)), torch.tensor(int(max))
    if min == max and values.numel():
        low, high = values.min(), values.max()
    same = (low == high).long()
    low, high = low - same, high + same
    place = ((values - low) * bins // (high - low)).clamp(0, bins - 1)
    place = torch.where((values >= low) & (values <= high), place, bins)
    one = torch.ones_like(place, dtype=given.dtype)
    counts = torch.zeros(bins + 1, dtype=given.dtype).scatter_add(0, place, one)[:bins].clone()
    return counts if out is None else out.resize_(bins).copy_(counts)
