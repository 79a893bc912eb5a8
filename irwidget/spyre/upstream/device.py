"""A device named `spyre` in the front end's process: its tensors have sizes and layouts, and no values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from irwidget import private_torch
from irwidget.spyre.layout import row_major
from irwidget.spyre.upstream import stub

DEVICE = "spyre"


class _OnDevice(torch.Tensor):
    """A tensor without values; what is computed of it has none, too."""

    @staticmethod
    def __new__(cls, size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> _OnDevice:
        return private_torch.wrapper_tensor(cls, size, stride, dtype, torch.device(DEVICE, 0))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten.lift_fresh.default, torch.ops.aten.detach.default):
            return args[0]
        tree_map = private_torch.pytree.tree_map
        given, named = tree_map(_described, (args, kwargs or {}))
        return tree_map(_held, func(*given, **named))


def _described(value: Any) -> Any:
    if isinstance(value, _OnDevice):
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
    return torch.device("meta") if isinstance(value, torch.device) and value.type == DEVICE else value


def _held(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_meta:
        return _OnDevice(value.size(), value.stride(), value.dtype)
    return value


def _empty(size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return _OnDevice(size, row_major(size), dtype or torch.get_default_dtype())


def _empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any
) -> torch.Tensor:
    return _OnDevice(size, stride, dtype or torch.get_default_dtype())


_kernels: list[torch.library.Library] = []
"""Kept: what it registers goes with it."""


def allocate() -> None:
    """Register what makes tensors on the device; its name must be known to torch."""
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", _empty, "PrivateUse1")
    library.impl("empty_strided", _empty_strided, "PrivateUse1")
    _kernels.append(library)


def layout_of(tensor: torch.Tensor) -> Any:
    """The layout of a tensor on the device, fake ones too; None elsewhere."""
    return stub.layout_of(tensor) if tensor.device.type == DEVICE else None
