"""Tensors that a graph has of its own, and changes in place: parameters and states, in an optimizer's step.

To be compared they are inputs like others: `lifted` has the graph take them, `holding` puts them where what is made of
the graph looks for them. Lives in a copy of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from irwidget.frontends.held import is_plain
from irwidget.inductor import flex, private
from irwidget.private_torch import pytree, storage_id, version


def held(module: Any) -> dict[str, torch.Tensor]:
    """The tensors that a graph has of its own, by the names that its nodes give them."""
    named = ((node.target, attribute(module, node.target)) for node in module.graph.find_nodes(op="get_attr"))
    return {name: one for name, one in named if is_plain(one)}


def attribute(module: Any, path: str) -> Any:
    """What a graph's node of kind `get_attr` means; None for nothing."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


class Changes:
    """Notes which of the tensors of its own a graph changes in a call, and what they were before it."""

    def __init__(self, module: Any) -> None:
        self._tensors = held(module)
        self._before = {name: one.detach().clone() for name, one in self._tensors.items()}
        self._versions = {name: _version(one) for name, one in self._tensors.items()}

    def found(self) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
        """After the call: the tensors that it has changed, each with its value before."""
        return {
            name: (one, self._before[name])
            for name, one in self._tensors.items()
            if _version(one) != self._versions[name] or not same(one, self._before[name])
        }


def _version(one: torch.Tensor) -> int:
    return 0 if one.is_inference() else version(one)  # which has none


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same elements, NaNs in the same places."""
    return one.shape == other.shape and bool(((one == other) | ((one != one) & (other != other))).all())


def lifted(module: Any, names: Sequence[str], *, formulas: bool = False) -> Callable[..., Any]:
    """A graph as a function of its inputs, followed by these tensors of its own.

    With `formulas` what cannot be traced is computed by operations that can.
    """

    def call(*values: Any) -> Any:
        taken = dict(zip(names, values[len(values) - len(names) :], strict=True))
        return kind(module, taken).run(*values[: len(values) - len(names)])

    kind = _Traceable if formulas else _Lifted
    return call if names or formulas else module.forward


class _Lifted(torch.fx.Interpreter):
    def __init__(self, module: Any, taken: Mapping[str, Any]) -> None:
        super().__init__(module)
        self._taken = taken

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._taken[target] if target in self._taken else super().get_attr(target, args, kwargs)


class _Traceable(_Lifted):
    def run_node(self, n: torch.fx.Node) -> Any:
        if not _is_number(n):
            return super().run_node(n)
        (one,), _ = self.fetch_args_kwargs_from_env(n)
        with private.get("untraced")():
            return one.item()

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if flex.is_attention(target):
            return flex.attention(*args, **kwargs)
        return super().call_function(target, args, kwargs)


def rounded_number(module: Any) -> torch.fx.Node | None:
    """The node with which a graph makes a number of Python's of floats that it computes; None where there is none.

    Evaluated with other rounding it would be another number, and the formulas have the one of eager PyTorch.
    """
    return next((node for node in module.graph.nodes if _is_number(node) and _is_rounded(node.args[0])), None)


def _is_number(node: torch.fx.Node) -> bool:
    return node.op == "call_method" and node.target == "item"


def _is_rounded(node: Any) -> bool:
    """Whether floats that a graph computes are, or lead to, what a node returns."""
    waiting, seen = [node], {node}
    while waiting:
        one = waiting.pop()
        floats = getattr(getattr(one.meta.get("example_value"), "dtype", None), "is_floating_point", False)
        if one.op not in ("placeholder", "get_attr") and floats:
            return True
        waiting += set(one.all_input_nodes) - seen
        seen |= set(one.all_input_nodes)
    return False


def holding(function: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Callable[..., Any]:
    """A function that changes these tensors, as one of its inputs and of their values, which it changes instead."""

    def call(*values: Any) -> Any:
        inputs, taken = values[: len(values) - len(tensors)], values[len(values) - len(tensors) :]
        before = [one.detach().clone() for one in tensors]
        _copy(taken, tensors)
        try:
            returned = pytree.tree_map(apart, function(*inputs))
            _copy(tensors, taken)
        finally:
            _copy(before, tensors)
        return returned

    memories = {storage_id(one) for one in tensors}

    def apart(one: Any) -> Any:
        return one.clone() if isinstance(one, torch.Tensor) and storage_id(one) in memories else one

    return call if tensors else function


def _copy(values: Sequence[Any], into: Sequence[Any]) -> None:
    with torch.no_grad():
        for value, one in zip(values, into, strict=True):
            one.copy_(value)
