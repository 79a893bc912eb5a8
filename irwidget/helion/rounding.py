"""Rounding noise for eager PyTorch: every operation rounds a little differently ("Monte Carlo arithmetic")."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import torch

from irwidget.checking.evaluate import EMPTIES, EXACT, unit_of
from irwidget.checking.growth import epsilon, length_of, name_of
from irwidget.private_torch import TorchDispatchMode, is_mutable, pytree

_MOVES = EXACT | EMPTIES | frozenset("_unsafe_view index index_copy index_put zero lift rand randn randint".split())
"""Operations that move or choose numbers, or draw them. What a cast to fewer bits loses is seen in `_rounds`."""
_SINGLE = torch.finfo(torch.float32).eps


@dataclass(frozen=True)
class _Call:
    """An operation and what it made, as `length_of` asks for them."""

    target: Any
    meta: dict[str, Any]


class RoundingNoise(TorchDispatchMode):
    """Meanwhile, what an operation makes is off by up to one place, and a sum by as many as so many roundings come to.

    Sums and products of floats of 16 bits and less are in float32, and rounded once; with `in_parts`, they are sums of
    such as are rounded, so that each operand may be off by a place.
    """

    def __init__(self, seed: int, *, in_parts: bool) -> None:
        super().__init__()
        self._random = torch.Generator().manual_seed(seed)
        self._in_parts = in_parts
        self.calls = 0
        """How many operations it has seen."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.calls += 1
        made = func(*args, **kwargs)
        if _moves(func):
            return made
        call = _Call(func, {"val": made})
        if not _rounds(call, args, kwargs):
            return made
        more = 1 + math.sqrt(max(0, length_of(call, args) - 1)) / 2
        if is_mutable(func):
            return made.copy_(self._off(made, more))
        wide = self._from_noisy(func, args, kwargs, made, more)
        unit = unit_of(name_of(call), args)
        return pytree.tree_map(lambda leaf: self._off(leaf, more, unit), wide)

    def _from_noisy(self, func: Any, args: Any, kwargs: Any, made: Any, more: float) -> Any:
        """What an operation makes of noisy operands in float64, in its own dtypes; `made` where it has no such form."""

        def widen(leaf: Any) -> Any:
            if isinstance(leaf, torch.dtype):
                return torch.float64 if leaf.is_floating_point else leaf
            if not _is_float(leaf):
                return leaf
            place = epsilon(leaf.dtype)
            amount = place if self._in_parts and more > 1 and place > _SINGLE else min(place, _SINGLE) * more
            return self._noisy(leaf.to(torch.float64), amount)

        try:
            wide = func(*pytree.tree_map(widen, args), **pytree.tree_map(widen, kwargs))
            return pytree.tree_map(lambda one, own: one.to(own.dtype) if _is_float(own) else own, wide, made)
        except Exception:  # no such kernel for float64
            return made

    def _off(self, leaf: Any, more: float, unit: torch.Tensor | float = 0.0) -> Any:
        if not _is_float(leaf):
            return leaf
        place = epsilon(leaf.dtype)
        wide = self._noisy(leaf.to(torch.float64), place if place > _SINGLE else place * more)
        return (wide + unit * min(place, _SINGLE) * self._part(leaf)).to(leaf.dtype)

    def _noisy(self, wide: torch.Tensor, amount: float) -> torch.Tensor:
        return wide * (1 + amount * self._part(wide))

    def _part(self, like: torch.Tensor) -> torch.Tensor:
        """Numbers from -1 to 1."""
        return torch.rand(like.shape, generator=self._random, dtype=torch.float64) * 2 - 1


@functools.cache
def _moves(func: Any) -> bool:
    name = func.__name__.partition(".")[0].removesuffix("_")
    return func.is_view or (name in _MOVES and name != "index_put")


def _rounds(call: _Call, args: Any, kwargs: Any) -> bool:
    given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    made = [leaf for leaf in pytree.tree_leaves(call.meta["val"]) if _is_float(leaf)]
    if not given or not made:
        return False
    name = name_of(call).removesuffix("_")
    if name == "_to_copy":
        return _is_float(given[0]) and epsilon(given[0].dtype) < epsilon(made[0].dtype)
    return name != "index_put" or True in (*args[3:4], kwargs.get("accumulate"))


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
