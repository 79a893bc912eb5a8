"""Which branches of a graph inputs take, and others that take the rest. Lives in a copy of the kernel.

A pass may break what no input comes to: it is looked for inputs that do, and what none was found for is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from irwidget.checking.resampling import once
from irwidget.inductor import printing

Way = tuple[str, bool]
"""A node of `cond` or `where`, by the graphs that it is in and its name, and what its condition is."""
_COND = torch.ops.higher_order.cond
_SCALES = (-1.0, 0.0, 10.0, -10.0, 1000.0, -1000.0)


class Ways:
    """Which ways there are through a graph of Dynamo's, and which are taken."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        self._module = module
        self._left = dict(_ways(module)) if _is_followed(module) else {}

    def __bool__(self) -> bool:
        """Whether there is a way that no inputs have taken."""
        return bool(self._left)

    def __str__(self) -> str:
        """What no inputs have taken, in words."""
        return ", ".join(dict.fromkeys(self._left.values()))

    def of(self, args: Sequence[Any]) -> set[Way]:
        """The ways that these inputs, copies that may be changed, take and none has taken before. Raises what the graph
        raises.
        """
        taken = set[Way]()
        with torch.no_grad():
            _Follower(self._module, taken).run(*args)
        return taken & self._left.keys()

    def take(self, ways: Iterable[Way]) -> None:
        """Have these ways taken: inputs that take them are compared."""
        for way in ways:
            self._left.pop(way, None)


def _is_followed(module: torch.fx.GraphModule) -> bool:
    """Whether it has no operator of higher order but `cond`: one that fails leaves the transforms that it was under."""
    parts = (part for part in module.modules() if isinstance(part, torch.fx.GraphModule))
    targets = (node.target for part in parts for node in part.graph.nodes)
    return all(one is _COND or not isinstance(one, type(_COND).__mro__[1]) for one in targets)


def _ways(module: Any, path: str = "") -> Iterator[tuple[Way, str]]:
    for node in module.graph.nodes:
        if not (_is_where(node) or node.target is _COND):
            continue
        place = printing.node_place(node)
        line = f" of line {place.line}" if place else ""
        for condition in (True, False):
            branch = (
                f"the {str(condition).lower()} branch of cond" if node.target is _COND else f"a {condition} in where"
            )
            yield (path + node.name, condition), branch + line
        if node.target is _COND:
            for branch in node.args[1:3]:
                yield from _ways(getattr(module, branch.target), f"{path}{branch.target}.")


def _is_where(node: torch.fx.Node) -> bool:
    """Whether it chooses between elements: a function, or a tensor's method."""
    function = node.op == "call_function" and node.target is torch.where
    return len(node.args) == 3 and (function or (node.op == "call_method" and node.target == "where"))


class _Follower(torch.fx.Interpreter):
    """Runs a graph and notes the ways that it takes."""

    def __init__(self, module: Any, taken: set[Way], path: str = "") -> None:
        super().__init__(module)
        self._taken, self._path = taken, path

    def run_node(self, n: torch.fx.Node) -> Any:
        if n.target is _COND:
            return self._branch(n)
        if _is_where(n):
            (one, condition, *_), _ = self.fetch_args_kwargs_from_env(n)
            mask = condition if n.op == "call_method" else one
            self._taken |= {(self._path + n.name, bool(value)) for value in mask.unique()}
        return super().run_node(n)

    def _branch(self, node: torch.fx.Node) -> Any:
        (condition, *_, given), _ = self.fetch_args_kwargs_from_env(node)
        self._taken.add((self._path + node.name, bool(condition)))
        name = node.args[1 if condition else 2].target  # pyright: ignore
        branch = getattr(self.module, name)  # pyright: ignore
        return _Follower(branch, self._taken, f"{self._path}{name}.").run(*given)


def others(args: Sequence[Any], own: Callable[[Sequence[Any]], list[Any]]) -> Iterator[list[Any]]:
    """Inputs with other signs and sizes of floats, and other truths: of all of them, and of one after another."""
    chosen = [at for at, one in enumerate(args) if isinstance(one, torch.Tensor) and _is_varied(one)]
    for which in [chosen, *([one] for one in chosen[:4] if len(chosen) > 1)]:
        for scale in _SCALES:
            made = own(args)
            for at in which:
                one = made[at].detach()[once(made[at].stride())]
                one.copy_(one.logical_not() if one.dtype == torch.bool else one * scale)
            yield made


def _is_varied(one: torch.Tensor) -> bool:
    return one.layout is torch.strided and (one.is_floating_point() or one.dtype == torch.bool)
