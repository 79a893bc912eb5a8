"""`torch.compile(model, backend="irwidget_spyre")`: each captured graph becomes a SpyreProgram and runs on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget.spyre.compiler import compile
from irwidget.spyre.tensorspec import TensorSpec

if TYPE_CHECKING:
    from irwidget.spyre.program import SpyreProgram

_programs: list[SpyreProgram] = []


def programs() -> tuple[SpyreProgram, ...]:
    """The programs that the backend has compiled in this process, oldest first."""
    return tuple(_programs)


def forget_programs() -> None:
    """Forget what `programs` lists."""
    _programs.clear()


def graph_breaks() -> dict[str, int]:
    """Why Dynamo cut its graphs so far: reason -> how often."""
    from irwidget.private_torch import counters

    return dict(counters["graph_break"])


def irwidget_spyre(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """The Dynamo backend: compile when the shapes are known, run the tiles when called.

    `torch.compile(..., options={"cores": 8})` passes options of `irwidget.spyre.compile` on. Graphs with dynamic
    sizes are compiled for each set of sizes that they are called with.
    """
    del mode
    weights = _linear_weights(module)
    made: dict[tuple[Any, ...], SpyreProgram] = {}

    def program_for(args: Sequence[Any]) -> SpyreProgram:
        key = tuple((tuple(a.shape), a.dtype) if isinstance(a, torch.Tensor) else a for a in args)
        if key not in made:
            specs = [_spec(a, i in weights) for i, a in enumerate(args)]
            made[key] = compile(module, specs, name=f"graph{len(_programs)}", **(options or {}))
            _programs.append(made[key])
        return made[key]

    def run(*args: Any) -> Any:
        result = program_for(args).run(*(a for a in args if isinstance(a, torch.Tensor)))
        return tuple(result) if isinstance(result, list) else result

    if not any(_is_symbolic(a) for a in example_inputs):
        program_for(example_inputs)
    return run


def _is_symbolic(value: Any) -> bool:
    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    return any(isinstance(n, torch.SymInt) for n in sizes)


def _spec(value: Any, linear_weight: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return TensorSpec(tuple(value.shape), value.dtype, (1, 0) if linear_weight else None, stride=tuple(value.stride()))


def _linear_weights(module: torch.fx.GraphModule) -> set[int]:
    """Placeholders that are the 2-D weight of a linear layer: `model.to("spyre")` lays them out by out_features."""
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    found: set[int] = set()
    for node in module.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") == "linear" and len(node.args) > 1:
            weight = node.args[1]
            value = weight.meta.get("example_value") if isinstance(weight, torch.fx.Node) else None
            if weight in placeholders and value is not None and value.dim() == 2 and "parameters" in weight.name:
                found.add(placeholders.index(weight))
    return found
