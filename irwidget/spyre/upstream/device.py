"""A device named `spyre` in the front end's process: its tensors have sizes and layouts, small ones also values.

Inductor folds constants by computing them on the device that they are for; these are small, and computed on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch

from irwidget import private_torch
from irwidget.spyre.layout import row_major
from irwidget.spyre.upstream import stub
from irwidget.spyre.upstream.attention import attention

DEVICE = "spyre"
_VALUES = 1 << 16
"""Elements up to which a tensor has values."""


class OnDevice(torch.Tensor):
    """A tensor on the device. What is computed of tensors without values has none, too."""

    held: torch.Tensor | None
    """Its values on the CPU, of a small one."""

    @staticmethod
    def __new__(cls: Any, like: torch.Tensor) -> OnDevice:
        made = private_torch.wrapper_tensor(cls, like.size(), like.stride(), like.dtype, torch.device(DEVICE, 0))
        made.held = None if like.is_meta else like
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten.lift_fresh.default, torch.ops.aten.detach.default):
            return args[0]
        flat, tree = private_torch.pytree.tree_flatten((args, kwargs or {}))
        meta = any(isinstance(one, OnDevice) and one.held is None for one in flat)
        moved = [_moved(one, meta) for one in flat]
        twins = {id(m): one for m, one in zip(moved, flat, strict=True) if isinstance(one, OnDevice)}
        if meta and any(isinstance(one, torch.Tensor) and not one.is_meta for one in moved):
            moved = [one.to("meta") if isinstance(one, torch.Tensor) else one for one in moved]
        inner, named = private_torch.pytree.tree_unflatten(moved, tree)
        made = func(*inner, **named)

        def back(value: Any) -> Any:
            if id(value) in twins:
                return twins[id(value)]
            return OnDevice(value) if isinstance(value, torch.Tensor) else value

        return private_torch.pytree.tree_map(back, made)


def _twin(one: OnDevice, meta: bool) -> torch.Tensor:
    if meta or one.held is None:
        return torch.empty_strided(one.size(), one.stride(), dtype=one.dtype, device="meta")
    return one.held


def _moved(value: Any, meta: bool) -> Any:
    if isinstance(value, OnDevice):
        return _twin(value, meta)
    if isinstance(value, torch.device) and value.type == DEVICE:
        return torch.device("meta" if meta else "cpu")
    return value


def _empty(size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return _empty_strided(size, row_major(size), dtype=dtype)


def _empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any
) -> torch.Tensor:
    where = "cpu" if prod(size) <= _VALUES else "meta"
    return OnDevice(torch.empty_strided(size, stride, dtype=dtype or torch.get_default_dtype(), device=where))


def copy(source: torch.Tensor, target: torch.Tensor, *_: Any, **__: Any) -> None:
    """Copy values to, from or on the device, where both sides have them."""
    start, end = (one.held if isinstance(one, OnDevice) else one for one in (source, target))
    if start is not None and end is not None and not start.is_meta and not end.is_meta:
        end.copy_(start)


_kernels: list[torch.library.Library] = []
"""Kept: what it registers goes with it."""


def allocate() -> None:
    """Register what makes tensors on the device, and its attention; its name must be known to torch."""
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", _empty, "PrivateUse1")
    library.impl("empty_strided", _empty_strided, "PrivateUse1")
    for key in ("PrivateUse1", "AutogradPrivateUse1"):
        library.impl("scaled_dot_product_attention", attention, key)
    _kernels.append(library)


def layout_of(tensor: torch.Tensor) -> Any:
    """The layout of a tensor on the device, fake ones too; None elsewhere."""
    return stub.layout_of(tensor) if tensor.device.type == DEVICE else None
