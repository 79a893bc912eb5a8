"""Elements that PyTorch leaves open: memory that nothing has written, which of equal elements comes first, and what a
float that an integer's dtype does not hold is cast to.

The program is evaluated again with other such memory, orders and casts: what changes with them is anybody's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from irwidget.checking.allowance import ExpectedResult
from irwidget.checking.evaluate import EMPTIES, Wide, call
from irwidget.checking.growth import name_of
from irwidget.private_torch import parameters, pytree

_ORDERS = frozenset("sort topk kthvalue median nanmedian mode".split())
"""Operations whose places of equal elements may be in any order."""
_SEEDS = range(12)
"""The first two of the orders are as they lie and the other way round."""
_CASTS = frozenset("to _to_copy convert_element_type".split())


def evaluations(module: torch.fx.GraphModule, fed: Callable[[], list[Any]]) -> list[Sequence[Any]]:
    """The results of the program with other choices where there are any, each for fresh inputs; often none."""
    seeds = _SEEDS if _names(module) & (_ORDERS | EMPTIES) else range(1) if any(map(_cuts, module.graph.nodes)) else ()
    return [_Otherwise(module, seed).run(*fed(), enable_io_processing=False) for seed in seeds]


def were_taken_apart(module: torch.fx.GraphModule, written: torch.fx.GraphModule) -> bool:
    """Whether an order is chosen, or memory not written, in the program as it was, and not in what became of it."""
    before, now = {"sort" if name == "argsort" else name for name in _names(written)}, _names(module)
    return bool((before - now) & _ORDERS) or bool(before & EMPTIES and not now & EMPTIES)


def _names(module: torch.fx.GraphModule) -> set[str]:
    return {name_of(node) for node in module.graph.nodes if node.op == "call_function"}


def elements(exact: Any, others: Sequence[Any], allowed: torch.Tensor | None) -> torch.Tensor | None:
    """Where other evaluations of a result are not the exact one, as a mask; None where they agree.

    `allowed` is how far elements may be from each other, None of integers.
    """
    if not others or not isinstance(exact, torch.Tensor):
        return None
    mask = ~torch.stack([_same(other, exact, allowed) for other in others]).all(0)
    return mask if bool(mask.any()) else None


def opened(result: ExpectedResult, exact: Any, others: Sequence[Any]) -> ExpectedResult:
    """The result, with the elements that PyTorch leaves open, which may be anything."""
    mask = elements(exact, others, result.allowed)
    if mask is None:
        return result
    allowed = None if result.allowed is None else torch.where(mask, math.inf, result.allowed)
    return replace(result, open=mask, allowed=allowed)


def _same(one: torch.Tensor, other: torch.Tensor, allowed: torch.Tensor | None) -> torch.Tensor:
    if allowed is None:
        return one == other
    return (one == other) | (one.isnan() & other.isnan()) | ((one - other).abs() <= allowed)


def _cuts(node: Node) -> bool:
    """Whether a node casts floats to integers of 32 or 64 bits, beyond which each processor has its own answer.

    Narrower ones are the low bits of these.
    """
    if node.op != "call_function" or name_of(node) not in _CASTS:
        return False
    made, given = node.meta["val"].dtype, node.all_input_nodes[0].meta["val"].dtype
    return given.is_floating_point and made in (torch.int32, torch.int64)


def _saturated(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Floats as integers, beyond whose range are the largest and the least; a NaN is zero."""
    limits = torch.iinfo(dtype)
    whole = torch.where(x < limits.min, limits.min, x.nan_to_num(0.0).to(dtype))
    return torch.where(x >= float(limits.max) + (limits.bits < 64), limits.max, whole).to(dtype)


class _Otherwise(Wide):
    """The program in float64, with ones in unwritten memory, equal elements in another order, and saturated casts."""

    def __init__(self, module: torch.fx.GraphModule, seed: int) -> None:
        super().__init__(module, {})
        self._seed = seed

    def _compute(self, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = name_of(node)
        if name in EMPTIES:
            return pytree.tree_map(torch.ones_like, super()._compute(node, args, kwargs))
        if _cuts(node):
            return _saturated(args[0], node.meta["val"].dtype)
        if name not in _ORDERS or not args[0].dim() or kwargs.get("stable") or "dim" not in parameters(node.target):
            return super()._compute(node, args, kwargs)
        return _reordered(node, args, kwargs, self._seed)


def _given(node: Node, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The argument of a name, or its default."""
    named = parameters(node.target)
    at = list(named).index(name)
    return args[at] if at < len(args) else kwargs.get(name, named[name])


def _reordered(node: Node, args: Sequence[Any], kwargs: dict[str, Any], seed: int) -> Any:
    """Values and places of the elements in another order; of `topk` that is not sorted, these too."""
    dim, length = _given(node, "dim", args, kwargs), args[0].shape[_given(node, "dim", args, kwargs)]
    random = torch.Generator().manual_seed(seed)
    lying = torch.arange(length)
    order = (lying, lying.flip(0))[seed] if seed < 2 else torch.randperm(length, generator=random)
    x = args[0].index_select(dim, order)
    if name_of(node) == "sort":  # stable, so that equal elements come as they lie
        values, places = torch.sort(x, dim=dim, descending=_given(node, "descending", args, kwargs), stable=True)
    else:
        values, places = call(node, (x, *args[1:]), kwargs)
    places = order[places]
    if name_of(node) == "topk" and not _given(node, "sorted", args, kwargs):
        last = torch.randperm(values.shape[dim], generator=random)
        values, places = values.index_select(dim, last), places.index_select(dim, last)
    return values, places
