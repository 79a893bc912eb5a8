"""Python's numbers beside a tile: as one of its dtype, which torch-mlir does not make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

_OF_ALIKE = frozenset(
    f"aten.{name}.{overload}"
    for names, overloads in (
        ("lt le gt ge eq ne add sub mul fmod remainder floor_divide", ("Scalar", "Scalar_Tensor", "Tensor", "default")),
        ("div", ("Scalar_mode", "Tensor_mode")),
        ("clamp clamp_min clamp_max", ("default",)),
    )
    for name in names.split()
    for overload in overloads
)
"""What computes or compares: a number beside a tensor of integers has its dtype, where one that does not fit wraps."""

_COMPARE = frozenset(name for name in _OF_ALIKE if name.split(".")[1] in ("lt", "le", "gt", "ge", "eq", "ne"))
_ROUNDED = (torch.float16, torch.bfloat16, torch.float32)
"""A number that elements of these dtypes are compared with is rounded to theirs; torch-mlir compares in float64."""


def beside(name: str, arguments: Sequence[Any]) -> tuple[tuple[Any, ...], torch.dtype | None]:
    """The arguments of an ATen operator, and the dtype of the floats that it compares; None where it compares none."""
    own = _own_dtype(arguments)
    if name in _OF_ALIKE:
        arguments = tuple(_wrapped(argument, own) for argument in arguments)
    if name not in _COMPARE or own not in _ROUNDED:
        return tuple(arguments), None
    return tuple(_rounded(argument, own) for argument in arguments), own


def _rounded(argument: Any, dtype: torch.dtype) -> Any:
    return torch.tensor(argument, dtype=dtype).item() if type(argument) in (int, float) else argument


def _own_dtype(arguments: Sequence[Any]) -> torch.dtype | None:
    """The dtype of the one tensor among a call's arguments; None where there are several."""
    fakes = [a.meta.get("val") for a in arguments if isinstance(a, torch.fx.Node)]
    dtypes = [fake.dtype for fake in fakes if isinstance(fake, torch.Tensor)]
    return dtypes[0] if len(dtypes) == 1 else None


def _wrapped(argument: Any, dtype: torch.dtype | None) -> Any:
    """A number that an integer dtype has no place for, as PyTorch takes it."""
    if dtype is None or dtype.is_floating_point or dtype == torch.bool or type(argument) is not int:
        return argument
    known = torch.iinfo(dtype)
    return (argument - known.min) % (known.max - known.min + 1) + known.min
