"""Values that the cell's own numbers give, on a machine where tensors have none.

Small tensors (`torch.tensor([0, 256, 500])`, `torch.rand(8)`), and what host code computes of them, keep their values,
so that it can read lengths, offsets, tables and thresholds; random numbers are drawn by the CPU. A kernel that may
write into one ends that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.frontends.triton.stand_ins import tensors
from irwidget.frontends.triton.writes import reaches_anything, written
from irwidget.private_torch import pytree

LIMIT = 1 << 16
"""How many elements a tensor of integers may have whose values are kept."""
FLOATS = 1 << 12
"""How many one of floats may have: more are data, and cost time to compute."""

_FILLED: dict[str, Any] = {
    "zeros": lambda args: 0,
    "ones": lambda args: 1,
    "full": lambda args: args[1],
    "zeros_like": lambda args: 0,
    "ones_like": lambda args: 1,
    "full_like": lambda args: args[1],
    "new_zeros": lambda args: 0,
    "new_ones": lambda args: 1,
    "new_full": lambda args: args[2],
}
"""Operators that fill a tensor with one number."""
_COMPUTED = frozenset(["arange", "eye", "tril_indices", "triu_indices"])
_DRAWN = frozenset(["randint", "randperm", "rand", "randn"])
_READING = frozenset(["_local_scalar_dense", "equal", "nonzero", "masked_select", "_unique2", "repeat_interleave"])
"""Operators by which host code reads values, or makes sizes of them."""


def is_small(tensor: torch.Tensor) -> bool:
    """Whether the values of a tensor are kept: those of few numbers."""
    return tensor.numel() <= (FLOATS if _inexact(tensor) else LIMIT)


def _inexact(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


_MARK = "_irwidget_drawn"
_drawn = SimpleNamespace(any=False, seed=None, state=None)
"""Whether this process has drawn random numbers (before, there is nothing to look for), and how to go on."""


def _name(func: Any) -> str:
    """`add` of the operator `aten.add.Tensor`."""
    return str(getattr(func, "__name__", "")).partition(".")[0]


def follow(func: Any, given: Any, made: Any, tell: Callable[[str], None]) -> None:
    """Mark what an operator makes of random numbers, and `tell` where host code reads them, or floats.

    `given` are its arguments, `made` is its result.
    """
    if _name(func) in _READING and any(isinstance(x, torch.Tensor) and _inexact(x) for x in pytree.tree_leaves(given)):
        tell("floats that the cell reads are computed by the CPU; a GPU may round otherwise")
    if not _drawn.any and _name(func) not in _DRAWN:
        return
    _drawn.any = True
    if _name(func) not in _DRAWN and not any(getattr(one, _MARK, False) for one in pytree.tree_leaves(given)):
        return
    if _name(func) in _READING:
        tell("random numbers that the cell reads are those of the CPU's generator; a GPU draws others")
    for one in pytree.tree_leaves(made):
        if isinstance(one, torch.Tensor):
            setattr(one, _MARK, True)


def _draw(func: Any, args: Any, kwargs: Mapping[str, Any]) -> torch.Tensor:
    """Random numbers that the seed gives, without a change of torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        seed = torch.initial_seed()
        if _drawn.seed == seed:
            torch.set_rng_state(_drawn.state)
        made = func(*args, **kwargs)
        _drawn.seed, _drawn.state = seed, torch.get_rng_state()
    return made


def constructed(func: Any, args: Any, kwargs: Mapping[str, Any], made: torch.Tensor) -> torch.Tensor | None:
    """What an operator makes that makes few numbers of numbers alone, as a real tensor; None for any other.

    `made` is its result without values.
    """
    name = _name(func)
    if name not in _FILLED and name not in _COMPUTED | _DRAWN:
        return None
    if not is_small(made) or made.layout is not torch.strided:
        return None
    with as_it_is():
        if name in _DRAWN:
            return _draw(func, args, kwargs)
        if name in _COMPUTED:
            return func(*args, **kwargs)
        real = torch.empty_strided(made.size(), made.stride(), dtype=made.dtype)
        return real.fill_(_FILLED[name](args))


def after_launch(mode: Any, named: Mapping[str, Any], ttir: str | None) -> None:
    """Forget the values that a launch may have changed.

    `named` are its arguments by name, `ttir` is what its kernel compiles to first; None for Gluon's, which have none.
    """
    if ttir is None or reaches_anything(ttir):
        private_torch.forget_values(mode)
        return
    held = [(name, value, one) for name, value in named.items() for one in tensors(value)]
    held = [(name, value, one) for name, value, one in held if private_torch.known_value(one) is not None]
    into = written(ttir) if held else None
    for name, value, one in held:
        if into is None or name in into or value is not one:
            private_torch.forget_value(mode, one)
