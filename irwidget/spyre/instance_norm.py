"""Instance norm as what it is composed of: its schema does not say that it writes the running statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F


def _instance_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> torch.Tensor:
    """PyTorch's, as ATen composes it."""
    if running_mean is None or running_var is None or not use_input_stats:
        return torch.instance_norm(
            input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
        )
    batch, channels = input.shape[:2]
    weight, bias = (one if one is None else one.repeat(batch) for one in (weight, bias))
    means, variances = running_mean.repeat(batch), running_var.repeat(batch)
    x = input.reshape(1, batch * channels, *input.shape[2:])
    made = torch.batch_norm(x, weight, bias, means, variances, use_input_stats, momentum, eps, cudnn_enabled)
    running_mean.copy_(means.view(batch, channels).mean(0))
    running_var.copy_(variances.view(batch, channels).mean(0))
    return made.view(input.shape)


def _functional_instance_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    return _instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


COMPOSED: Mapping[Any, Callable[..., torch.Tensor]] = {
    torch.instance_norm: _instance_norm,
    F.instance_norm: _functional_instance_norm,
}
"""What is traced in the place of PyTorch's functions, with their names of arguments."""
