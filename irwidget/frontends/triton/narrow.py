"""Operators of narrow floats (float16, bfloat16) that a GPU computes in 32 bits, and the CPU rounds in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from irwidget import private_torch
from irwidget.private_torch import pytree

_NARROW = (torch.float16, torch.bfloat16)
_IN_32_BITS = frozenset(
    """
    native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training native_batch_norm_backward
    _batch_norm_with_update batch_norm_backward native_layer_norm native_layer_norm_backward native_group_norm
    native_group_norm_backward _log_softmax _log_softmax_backward_data _softmax _softmax_backward_data
    convolution convolution_backward grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d
    grid_sampler_3d_backward upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d
    """.split()
)
"""Those whose results are otherwise further off than by their last bit (batch norm's by hundreds of times that)."""


_WITH_STATISTICS = frozenset("native_batch_norm _native_batch_norm_legit native_layer_norm".split())


def rounded_once(func: Any, args: Any, kwargs: Any, dtypes: Sequence[torch.dtype | None] | None = None) -> Any:
    """What an operator gives; what it writes into is written.

    It is computed in 32 bits and rounded at its end where CUDA's kernel does that and the CPU's does not. `dtypes` are
    what the leaves of its result then have, None for what is no tensor; by default what PyTorch gives them.
    """
    narrow = {id(one): one for one in pytree.tree_leaves((args, kwargs)) if _is_narrow(one)}
    if func.__name__.partition(".")[0] not in _IN_32_BITS or not narrow:
        return func(*args, **kwargs)
    wide: dict[int, Any] = {key: one.float() for key, one in narrow.items()}
    wide |= {id(kind): torch.float32 for kind in _NARROW}
    wider, named = pytree.tree_map(lambda leaf: wide.get(id(leaf), leaf), (args, kwargs))
    leaves, structure = pytree.tree_flatten(func(*wider, **named))
    for one in private_torch.written_arguments(func, args, kwargs):
        if id(one) in narrow:
            one.copy_(wide[id(one)])
    kinds = _dtypes(func, args, kwargs) if dtypes is None else dtypes
    kept = [one if kind is None else one.to(kind) for one, kind in zip(leaves, kinds, strict=True)]
    return pytree.tree_unflatten(kept, structure)


def with_statistics(func: Any, made: Any) -> Any:
    """What an operator gives without values, with the mean and the spread in 32 bits that a GPU gives beside it."""
    if func.__name__.partition(".")[0] not in _WITH_STATISTICS:
        return made
    return made[0], *(one.float() if _is_narrow(one) else one for one in made[1:])


def _is_narrow(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dtype in _NARROW


def _dtypes(func: Any, args: Any, kwargs: Any) -> list[torch.dtype | None]:
    """The types of what an operator would give."""

    def without_values(leaf: Any) -> Any:
        return leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf

    args, kwargs = pytree.tree_map(without_values, (args, kwargs))
    return [getattr(one, "dtype", None) for one in pytree.tree_leaves(func(*args, **kwargs))]
