"""`torch.tensor` of lists in which there are tensors without values, which PyTorch reads in C++."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from irwidget.private_torch import FakeTensor, pytree

_MAKING = (torch.tensor, torch.as_tensor, torch.asarray)


def read(func: Callable[..., Any], args: Any, kwargs: Any, number: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The arguments of a function, with numbers for the elements of a list that are tensors without values.

    `number` reads one of these; what it raises is raised. The list's type is what these tensors, and what else there
    is, make of it, as in PyTorch.
    """
    if func not in _MAKING or not args or not isinstance(args[0], list | tuple):
        return args, kwargs
    leaves, tree = pytree.tree_flatten(args[0])
    if not any(isinstance(leaf, FakeTensor) and leaf.numel() == 1 for leaf in leaves):
        return args, kwargs
    if kwargs.get("dtype") is None:
        kwargs = {**kwargs, "dtype": functools.reduce(torch.promote_types, map(_type, leaves))}
    numbers = [number(leaf) if isinstance(leaf, FakeTensor) and leaf.numel() == 1 else leaf for leaf in leaves]
    return (pytree.tree_unflatten(numbers, tree), *args[1:]), kwargs


def _type(leaf: Any) -> torch.dtype:
    if isinstance(leaf, torch.Tensor):
        return leaf.dtype
    known = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
    return known[type(leaf)] if type(leaf) in known else torch.tensor(leaf).dtype
