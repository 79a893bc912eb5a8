"""TorchScript: the graph that torch.jit.trace records, with the user's line for every line of it."""

from __future__ import annotations

import copy
import inspect
import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irwidget.errors import IRWidgetError, UsageError
from irwidget.frontends import held
from irwidget.frontends import torch as frontend
from irwidget.frontends.base import Begun, Given, Made, go_on
from irwidget.frontends.pytorch import Model, PyTorch
from irwidget.frontends.undo import tracing
from irwidget.llvm_routes import TorchOptions
from irwidget.registry import Target
from irwidget.toolchain.locations import is_user_file
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Diagnostic, Dump, Location, Step, Trace, Verdict, dump, not_checked

STEP = Step("torch.jit.trace", "check_trace=False", "torch.jit.trace")
TARGETS = (
    Target(
        "torch_script_graph_ir",
        "pytorch",
        "torchscript",
        summary="the graph that torch.jit.trace records",
        options=TorchOptions,
        front_end="torchscript",
    ),
)
_PLACE = re.compile(r" # (\S+):(\d+):(\d+)$")


def lower(model: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Trace:
    """Trace a module or function: the graph as recorded, then with its submodules inlined.

    Raises ExportError with the user's line when the model cannot run, and
    UsageError for an ExportedProgram, which has no Python left to trace.
    """
    import torch

    if isinstance(model, torch.export.ExportedProgram):
        raise UsageError("torch_script_graph_ir needs the module itself; an ExportedProgram cannot be traced again")
    started = time.perf_counter()
    model = frontend.uncompiled(model)
    given = _apart(model, inputs, kwargs)
    around = warnings.catch_warnings(), torch.random.fork_rng(devices=[]), held.as_it_was(model, buffers=True)
    try:
        # Under no_grad a fused attention op would hide the layers; torch calls tracing deprecated on every use.
        with tracing("torch.jit.trace", model, *around):
            warnings.simplefilter("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)  # pyright: ignore[reportPrivateImportUsage]
            traced = _traced(*_positional(*given))
    except IRWidgetError:
        raise
    except Exception as error:
        raise frontend.explain(error, name, "torch.jit.trace") from error
    seconds = time.perf_counter() - started
    graph, inlined = from_zero(str(traced.graph), str(traced.inlined_graph))
    dumps = (_dump("torch.jit.trace", graph, seconds), _dump("inline", inlined, 0.0))
    return Trace(
        "torch_script_graph_ir",
        dumps,
        (STEP,),
        name=name,
        tools={"torch": torch.__version__},
        sources=frontend.read_sources(place.file for d in dumps for place in d.locations if place),
    )


def _traced(model: Any, inputs: tuple[Any, ...]) -> Any:
    """What the tracer records of a module, of one of its methods, or of anything else that can be called."""
    import torch

    trace: Any = torch.jit.trace
    owner = getattr(model, "__self__", None)
    if isinstance(owner, torch.nn.Module) and not isinstance(model, torch.nn.Module):
        methods: Any = torch.jit.trace_module
        name = str(model.__name__)
        traced = methods(owner, {name: inputs}, check_trace=False)
        return traced if name == "forward" else getattr(traced, name)
    return trace(
        model if isinstance(model, torch.nn.Module) else frontend.as_function(model), inputs, check_trace=False
    )


def _apart(model: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...], Any]:
    """Copies for the tracer, which runs the model: counters, running means and inputs change. Weights are shared."""
    import torch

    weights = model.parameters() if isinstance(model, torch.nn.Module) else ()
    memo: dict[int, Any] = {id(weight): weight for weight in weights}

    def copied(value: Any) -> Any:
        try:
            return copy.deepcopy(value, memo)
        except Exception:  # a lock, an open file, a tensor with a history: buffers are put back
            return value

    return copied(model), tuple(map(copied, inputs)), {name: copied(value) for name, value in kwargs.items()}


def _positional(model: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """The model as a function of its tensors alone, and these: the tracer takes no keywords and no other values.

    Numbers, flags and None are part of the program that is recorded, as they are for torch.export.
    """
    values: list[Any] = [*inputs, *kwargs.values()]
    if not kwargs and all(map(_has_tensors, values)):
        return model, inputs
    names = _names(model, len(inputs), kwargs)
    traced = [number for number, value in enumerate(values) if _has_tensors(value)]
    call = getattr(model, "forward", model)

    def forward(*tensors: Any) -> Any:
        given = list(values)
        for number, tensor in zip(traced, tensors, strict=True):
            given[number] = tensor
        return call(*given[: len(inputs)], **dict(zip(kwargs, given[len(inputs) :], strict=True)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature([inspect.Parameter(names[number], kind) for number in traced])  # pyright: ignore[reportFunctionMemberAccess]
    chosen = tuple(values[number] for number in traced)
    if not hasattr(model, "forward"):
        forward.__name__ = forward.__qualname__ = getattr(model, "__name__", "forward")
        return forward, chosen
    shown = copy.copy(model)
    shown.forward = forward
    return shown, chosen


def _has_tensors(value: Any) -> bool:
    import torch

    from irwidget.private_torch import pytree

    return any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(value))


def _names(model: Any, count: int, kwargs: Mapping[str, Any]) -> list[str]:
    """What the model calls its inputs."""
    try:
        known = list(inspect.signature(getattr(model, "forward", model)).parameters.values())
    except (TypeError, ValueError):
        known = []
    said = [one.name for one in known if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return [*(said[i] if i < len(said) else f"input_{i}" for i in range(count)), *kwargs]


_MANGLED = re.compile(r"(?P<module>__torch__\.(?:\w+\.)*?)___torch_mangle_(?P<number>\d+)\.(?P<name>\w+)")
_TYPE = re.compile(r"__torch__\.(?:\w+\.)*\w+")


def from_zero(*graphs: str) -> tuple[str, ...]:
    """Graphs with the numbers that TorchScript tells types of one name apart by, as a process of their own has them.

    It counts them in the whole process, so that each trace of a model has others.
    """
    plain: set[str] = set()
    numbers: dict[int, str] = {}
    for found in (found for graph in graphs for found in _TYPE.finditer(graph)):
        mangled = _MANGLED.fullmatch(found[0])
        if mangled:
            numbers[int(mangled["number"])] = mangled["module"] + mangled["name"]
        else:
            plain.add(found[0])
    renamed: dict[str, str] = {}
    following = 0
    for number, name in sorted(numbers.items()):
        module, _, last = name.rpartition(".")
        old = f"{module}.___torch_mangle_{number}.{last}"
        if name not in plain:
            plain.add(name)
            renamed[old] = name
        else:
            renamed[old] = f"{module}.___torch_mangle_{following}.{last}"
            following += 1
    return tuple(_TYPE.sub(lambda found: renamed.get(found[0], found[0]), graph) for graph in graphs)


def _dump(name: str, graph: str, seconds: float) -> Dump:
    lines = graph.rstrip("\n").split("\n")
    places: list[Location | None] = []
    for number, line in enumerate(lines):
        found = _PLACE.search(line)
        lines[number] = line[: found.start()] if found else line
        user = found and is_user_file(found[1])
        places.append(Location(found[1], int(found[2]), int(found[3])) if found and user else None)
    return dump(name, "\n".join(lines) + "\n", step=0, language="torchscript", locations=tuple(places), seconds=seconds)


class _Traced(Model):
    """A model, traced for each lowering; nothing of it is exported."""

    def prepare(self, options: Options) -> None:
        """Nothing can be done before."""

    def lower(self, target: Target, extra: tuple[Step, ...], options: Options) -> Made:
        self.check_model()
        given = self.given
        traced = lower(given.obj, given.inputs, given.kwargs, given.called)
        if given.dynamic_shapes is not None:
            said = "dynamic_shapes say nothing here: torch.jit.trace records the sizes of these inputs"
            traced = replace(traced, diagnostics=(*traced.diagnostics, Diagnostic("remark", said)))
        return Made(go_on(traced, extra, target.name, options))

    def verdict(self, target: Target, trace: Trace, options: Options, source: Source | None = None) -> Verdict:
        return not_checked("a TorchScript graph is not executed")


class TorchScript(PyTorch):
    """Takes the same objects as PyTorch, by torch.jit.trace."""

    name = "torchscript"
    packages = ("torch",)

    def begin(self, given: Given) -> Begun:
        return _Traced(self, given)


FRONT_END = TorchScript()
