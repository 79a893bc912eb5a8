"""Executes what torch.compile makes of a graph, pass by pass, and judges it by the graph as eager PyTorch runs it.

Lives in a copy of the kernel. What AOTAutograd calls for each half of a graph is a `Slot`, in which the FX graph after
any pass, or the code that g++ has built, can be put; all of them are then judged by the same results: what the graph
returns, the gradients, and the inputs that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import torch

from irwidget.checking.allowance import ExpectedResult
from irwidget.checking.evaluate import EMPTIES
from irwidget.checking.judge import judge, of_cases, of_shapes, unexplained
from irwidget.inductor import attributes, private, regions
from irwidget.inductor.data import InductorStage
from irwidget.inductor.reference import Modes, Outcome, Random, Reference, Unexecuted, first_line, is_tensor, own
from irwidget.private_torch_export import of_symbols, symbols
from irwidget.trace import Verdict

Call = Callable[[Sequence[Any]], Sequence[Any]]


class Slot:
    """What AOTAutograd calls for a graph or a half of one: the first graph that it had, or what is put in its place."""

    def __init__(self) -> None:
        self.first: Any = None
        """The graph as AOTAutograd made it, before Inductor's passes on it."""
        self.code: Call | None = None
        """What the output code defines, built; None where it was not."""
        self.put: Call | None = None

    def __call__(self, args: Any) -> Any:
        given = list(args)
        if isinstance(args, list):
            args.clear()  # as the code does, so that what it no longer needs can go
        return (self.put or (lambda values: run(self.first, values)))(given)


@dataclass
class Graph:
    """A graph of Dynamo's, ready to be executed in all its forms."""

    module: Any
    """As eager PyTorch runs it."""
    compiled: Any = None
    """As AOTAutograd wraps it; calls the slots."""
    slots: dict[str, Slot] = field(default_factory=dict[str, Slot])
    calls: list[list[Any]] = field(default_factory=list[list[Any]])
    """What it was called with."""
    modes: Modes = nullcontext
    """Under which grad mode and autocast."""
    held: Mapping[str, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict[str, Any])
    """The tensors of its own that it changed when it was called, each with its value before."""
    frozen: Mapping[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])
    """Parameters that become constants after the joint-graph passes (`freezing`), by the names of the inputs that they
    were."""
    random: str = ""
    """What in it gives other numbers on every run, where it has been seen to."""

    def slot(self, direction: str) -> Slot:
        """The slot of a half; of all of it where that has no halves."""
        return self.slots.setdefault(direction, Slot())


class _Interpreter(torch.fx.Interpreter):
    """Executes a graph on the CPU, where there is another implementation of what is made for a GPU only."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        from irwidget.inductor import attention

        if private.is_lowering(target):
            name = target.__qualname__.split(".<locals>")[0]
            raise Unexecuted(f"{name} makes loops of Inductor's, and no operation of PyTorch's does the same")
        if regions.is_region(target):
            return regions.inlined(*args)
        if target is attention.scaled_dot_product_attention:
            return attention.EAGER(*args, **kwargs)
        if (likened := attention.on_cpu(target, args, kwargs)) is not None:
            return likened
        return super().call_function(target, args, kwargs)


def run(module: Any, args: Sequence[Any]) -> Sequence[Any]:
    """Execute an FX graph. Raises what its operations raise."""
    from irwidget.inductor.gpu import MovedToCpu

    with MovedToCpu():
        returned = _Interpreter(module).run(*args)
    return returned if isinstance(returned, list | tuple) else [returned]


# What is executed


def verdicts(
    graph: Graph, stages: Mapping[int, InductorStage], snapshots: Mapping[int, Any], *, each: bool
) -> Iterator[tuple[int, Verdict]]:
    """The verdict on each stage of a graph that can be executed, by its number.

    The code first, where it was built; without `each` the graphs only where that does not settle it.
    """
    try:
        reference = _reference(graph)
    except Unexecuted as why:
        graph.random = str(why) if isinstance(why, Random) else ""
        yield from unexecuted(stages, snapshots, str(why))
        return
    code = [number for number, stage in stages.items() if stage.phase == "code"]
    states: list[str] = []
    right: dict[str, Call] = {}
    for number in sorted(code, key=lambda one: stages[one].direction == "backward"):
        direction, built = stages[number].direction, graph.slot(stages[number].direction).code
        if built is None:
            yield number, Verdict("not checked", stages[number].name)
            states.append("not checked")
            continue
        # code of the backward half takes tensors in the order in memory in which that of the forward half leaves them
        verdict = _judged(graph, stages[number], {**right, direction: built}, reference)
        if verdict.state == "equal":
            right[direction] = built
        states.append(verdict.state)
        yield number, verdict
    if not each and states and all(state == "equal" for state in states):
        return
    known: dict[object, Verdict] = {}
    for number, stage in stages.items():
        if number in snapshots:
            key = _key(stage, snapshots[number])
            if key not in known:
                known[key] = _of_graph(graph, stage, snapshots[number], reference)
            yield number, replace(known[key], dump=stage.name)


def unexecuted(
    stages: Mapping[int, InductorStage], snapshots: Mapping[int, Any], reason: str
) -> Iterator[tuple[int, Verdict]]:
    """The same of a graph of which nothing can be executed."""
    for number, stage in stages.items():
        if number in snapshots or stage.phase == "code":
            yield number, Verdict("not checked", stage.name, reason=reason)


def _reference(graph: Graph) -> Reference:
    """What a graph should return. Raises Unexecuted."""
    held = {name: value for name, (_, value) in graph.held.items()}
    try:
        return Reference(graph.module, graph.calls[0], graph.modes, held)
    except Unexecuted:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {first_line(error)}"
        raise Unexecuted(f"the graph fails on copies of its inputs: {what}") from error


def _key(stage: InductorStage, module: Any) -> object:
    """What two stages have in common of which one need not be executed: most passes change nothing."""
    convention = "dynamo" if stage.phase == "pre_grad" else "joint" if stage.phase == "joint" else ""
    constants = [node.target for node in module.graph.nodes if node.op == "get_attr"]
    held = tuple(id(attributes.attribute(module, name)) for name in constants)
    return convention, stage.direction, stage.content.text, held


def _of_graph(graph: Graph, stage: InductorStage, module: Any, reference: Reference) -> Verdict:
    """The verdict on the FX graph after a pass."""
    if stage.phase in ("dynamo", "pre_grad"):
        return _judged(graph, stage, {}, reference, lambda *values: run(module, values))
    if "backward" in graph.slots and stage.phase == "joint":
        joint = _Joint(module, graph)
        return _judged(graph, stage, {"forward": joint.forward, "backward": joint.backward}, reference)
    put: Call = lambda values: run(module, _thawed(graph, module, values))  # noqa: E731
    return _judged(graph, stage, {stage.direction: put}, reference)


def _thawed(graph: Graph, module: Any, args: Sequence[Any]) -> Sequence[Any]:
    """The inputs of a graph before its parameters became constants, of those after."""
    names = _placeholders(module)
    if len(args) + len(graph.frozen) != len(names):
        return args
    rest = iter(args)
    return [graph.frozen[name] if name in graph.frozen else next(rest) for name in names]


def _judged(
    graph: Graph,
    stage: InductorStage,
    put: Mapping[str, Call],
    reference: Reference,
    function: Callable[..., Any] | None = None,
) -> Verdict:
    """Execute a graph with something else in some of its slots, or a function in its place."""
    returned: list[Mapping[str, Any]] = []
    held = [one for one, _ in graph.held.values()]
    for direction, slot in graph.slots.items():
        slot.put = put.get(direction)
    for case in reference.cases:
        outcome = Outcome(attributes.holding(function or graph.compiled, held), case.outcome.names, graph.modes)
        outcome.changed = case.outcome.changed
        try:
            returned.append(outcome(case.args))
        except Exception as error:
            return _fails(stage, error, of_shapes(case.shapes, reference.cases[0].shapes))
    found = _all_compared(stage.name, returned, reference)
    try:
        again = found.state == "differs" and reference.look_closer()
    except Exception as error:
        return unexplained(found, error)
    found = _all_compared(stage.name, returned, reference) if again else found
    if found.state == "equal" and reference.unreached:
        return replace(found, reason=f"no inputs were found for {reference.unreached}")
    return found


def _all_compared(name: str, returned: Sequence[Mapping[str, Any]], reference: Reference) -> Verdict:
    pairs = zip(returned, reference.cases, strict=True)
    found = [_compared(name, got, case.results) for got, case in pairs]
    return of_cases(found, [case.shapes for case in reference.cases])


def _fails(stage: InductorStage, error: Exception, sizes: str) -> Verdict:
    what = "not executed" if stage.phase != "code" else "its code failed"
    on = f" with others of your inputs, {sizes}" if sizes else ""
    said = first_line(error) if isinstance(error, Unexecuted) else f"{type(error).__name__}: {first_line(error)}"
    reason = f"after {stage.name}: {what}{on}: {said}"
    return Verdict("not checked", stage.name, None, reason)


def _compared(name: str, got: Mapping[str, Any], results: Sequence[ExpectedResult]) -> Verdict:
    labels = [one.label for one in results]
    if list(got) != labels:
        missing = [one for one in labels if one not in got] or [one for one in got if one not in labels]
        return Verdict("differs", name, None, f"{', '.join(missing)} is not what eager PyTorch gives")
    for one in results:
        value = got[one.label]
        if isinstance(one.want, torch.Tensor) and is_tensor(value) and value.shape != one.want.shape:
            reason = f"{one.label} has shape {list(value.shape)}, not {list(one.want.shape)}"
            return Verdict("differs", name, None, reason)
    return judge(name, None, [_contiguous(one) for one in got.values()], results)


def _contiguous(one: Any) -> Any:
    return one.contiguous() if isinstance(one, torch.Tensor) else one


class _Joint:
    """A joint graph in the place of its two halves."""

    def __init__(self, module: Any, graph: Graph) -> None:
        self._module, self._graph = module, graph
        self._names = _placeholders(module)
        self._given: dict[str, Any] = {}
        backward = graph.slots["backward"].first
        self._gradients = len(_outputs(backward))

    def forward(self, args: Sequence[Any]) -> Sequence[Any]:
        """The results of the joint graph, with what the backward half wants kept."""
        half = self._graph.slots["forward"].first
        self._given = dict(zip(_placeholders(half), own(args), strict=True))
        kept = list(run(half, own(args)))
        results = self._run({}, dict(zip(self._given, args, strict=True)))
        count = len(results) - self._gradients
        return [*results[:count], *kept[count:]]

    def backward(self, args: Sequence[Any]) -> Sequence[Any]:
        """The gradients of the joint graph."""
        names = _placeholders(self._graph.slots["backward"].first)
        results = self._run(dict(zip(names, args, strict=True)))
        return results[len(results) - self._gradients :]

    def _run(self, tangents: Mapping[str, Any], changed: Mapping[str, Any] = MappingProxyType({})) -> Sequence[Any]:
        """The results; what the graph writes into inputs is written into those of `changed`, too."""
        known = {**self._given, **{name: one for name, one in tangents.items() if name.startswith("tangents_")}}
        inputs = [node for node in self._module.graph.nodes if node.op == "placeholder"]
        sizes = symbols([(node.meta.get("val"), known[node.name]) for node in inputs if node.name in known])
        values = [known[node.name] if node.name in known else _zeros(node.meta["val"], sizes) for node in inputs]
        values = own(values)
        results = run(self._module, values)
        with torch.no_grad():
            for node, value in zip(inputs, values, strict=True):
                if is_tensor(changed.get(node.name)):
                    changed[node.name].copy_(value)
        return results


def _zeros(value: Any, sizes: Mapping[Any, int]) -> torch.Tensor:
    return torch.zeros(of_symbols(value.shape, sizes), dtype=value.dtype)


def _placeholders(module: Any) -> list[str]:
    return [node.name for node in module.graph.nodes if node.op == "placeholder"]


def _outputs(module: Any) -> Sequence[Any]:
    (output,) = (node for node in module.graph.nodes if node.op == "output")
    return output.args[0]


def has_open_memory(module: Any) -> bool:
    """Whether a graph of Dynamo's makes a tensor whose elements nothing says."""
    return any(getattr(node.target, "__name__", node.target) in EMPTIES for node in module.graph.nodes)


def of_dynamo(returned: Any, eager: Sequence[Any]) -> Verdict:
    """The verdict on Dynamo's graphs: what the program returns with them in it, and what it returns as it is."""
    from irwidget.private_torch import pytree

    leaves = pytree.tree_leaves(returned)
    if len(leaves) != len(eager):
        return Verdict("differs", "dynamo", None, f"it returns {len(leaves)} values, and eager PyTorch {len(eager)}")
    for number, (one, other) in enumerate(zip(leaves, eager, strict=True)):
        if not _close(one, other):
            return Verdict("differs", "dynamo", None, f"result {number} is not what eager PyTorch returns")
    return Verdict("equal", "dynamo")


def of_state(state: Mapping[str, torch.Tensor], eager: Mapping[str, torch.Tensor]) -> Verdict:
    """The same of what the program leaves behind: `eager` are the tensors that it changes or makes as it is."""
    for name, one in eager.items():
        if name not in state or not _close(state[name], one):
            return Verdict("differs", "dynamo", None, f"{name} is not what eager PyTorch leaves")
    return Verdict("equal", "dynamo")


def _close(one: Any, other: Any) -> bool:
    """Whether two values are the same but for the order in which the same kernels add."""
    if not is_tensor(one) or not is_tensor(other):
        return type(one) is type(other) and (one == other or one != one)
    try:
        torch.testing.assert_close(one.detach(), other, equal_nan=True)
    except AssertionError:
        return False
    return True
