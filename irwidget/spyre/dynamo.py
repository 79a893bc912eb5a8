"""`torch.compile(model, backend="irwidget_spyre")`: each captured graph becomes a SpyreProgram and runs on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch
from irwidget.spyre.capture import Replayed
from irwidget.spyre.compiler import compile
from irwidget.spyre.ir import BufferView
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

    `torch.compile(..., options={"cores": 8})` passes options of `irwidget.spyre.compile` on; what the front end refuses
    runs on the host unless `host_for_refused` is False. Graphs with dynamic sizes are compiled for each set of sizes
    that they are called with; tensors on the meta device give such tensors. Where gradients are asked for, or
    what is written shares memory with other inputs, AOTAutograd's graphs are compiled, forward and backward.
    """
    del mode
    given = {"host_for_refused": True, **(options or {})}
    trained = torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in example_inputs)
    if not trained and not any(_is_transformed(node) for node in module.graph.nodes):
        before = len(_programs)
        made = _Graph(module, example_inputs, given)
        if not _shared(example_inputs) or not made.writes:
            return made
        del _programs[before:]

    def compiled(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        return _boxed(_Graph(graph, inputs, given))

    return private_torch.aot_autograd(fw_compiler=compiled, bw_compiler=compiled)(module, example_inputs)


class _Graph:
    """A captured graph, compiled for each set of sizes and strides that it is called with."""

    def __init__(self, module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Mapping[str, Any]) -> None:
        self.module, self.options = module, options
        self.weights = _linear_weights(module)
        self.made: dict[tuple[Any, ...], SpyreProgram] = {}
        self.paired: list[int] = []
        if not any(_is_symbolic(a) for a in example_inputs):
            self.program(example_inputs)

    @property
    def writes(self) -> bool:
        """Whether it writes into inputs, or may, not being compiled yet."""
        return not self.made or any(one.graph.mutated for one in self.made.values())

    def program(self, args: Sequence[Any]) -> SpyreProgram:
        """The program for these arguments."""
        key = tuple((tuple(a.shape), a.stride(), a.dtype) if isinstance(a, torch.Tensor) else a for a in args)
        if key not in self.made:
            pairs = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.is_complex()]
            specs = [_spec(_real(a), i in self.weights) for i, a in enumerate(args)]
            replayed = Replayed(self.module, pairs)
            with (
                private_torch.disable_current_modes()
            ):  # AOTAutograd's, of fake tensors: constants of the graph have values
                self.made[key] = compile(replayed, specs, name=f"graph{len(_programs)}", **self.options)
            _programs.append(self.made[key])
            self.paired = replayed.paired
        return self.made[key]

    def __call__(self, *args: Any) -> Any:
        program, tensors = self.program(args), [_real(a) for a in args if isinstance(a, torch.Tensor)]
        result = _described(program) if any(a.is_meta for a in tensors) else program.run(*tensors)
        if self.paired:
            made, tree = private_torch.pytree.tree_flatten(result)
            made = [torch.view_as_complex(one) if i in self.paired else one for i, one in enumerate(made)]
            result = private_torch.pytree.tree_unflatten(made, tree)
        return tuple(result) if isinstance(result, list) else result


def _described(program: SpyreProgram) -> Any:
    """What the program returns of tensors without values: tensors without values."""
    outputs = [
        torch.empty_strided(v.size, stride or v.stride, dtype=getattr(torch, v.dtype), device="meta")
        if isinstance(v, BufferView)
        else v
        for v, stride in zip(program.graph.outputs, program.graph.strides, strict=True)
    ]
    return private_torch.pytree.tree_unflatten(outputs, program.output_tree)


def _boxed(graph: _Graph) -> Callable[[list[Any]], Any]:
    """The calling convention of AOTAutograd: one list of arguments, which is emptied."""

    def run(arguments: list[Any]) -> Any:
        given = list(arguments)
        arguments.clear()
        with torch.no_grad():
            return graph(*given)

    return private_torch.boxed(run)


def _real(value: Any) -> Any:
    """Complex numbers, which the device does not have, as pairs of real ones."""
    if not isinstance(value, torch.Tensor) or not value.is_complex():
        return value
    return torch.view_as_real(value.resolve_conj())


def _is_transformed(node: torch.fx.Node) -> bool:
    """Whether it is of a transform of `torch.func` or a checkpoint, which AOTAutograd takes apart."""
    of = getattr(node.target, "__module__", None) or ""
    return "functorch" in of or getattr(node.target, "__name__", "") == "tag_activation_checkpoint"


def _shared(inputs: Sequence[Any]) -> bool:
    """Whether two of the tensors share memory, which one of them may be written into."""
    tensors = [one for one in inputs if isinstance(one, torch.Tensor) and one.layout == torch.strided]
    return len({private_torch.storage_id(one) for one in tensors}) < len(tensors)


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
