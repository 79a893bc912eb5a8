"""Trace a function or module to FX over fake tensors: nothing is allocated, nothing is run."""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx.traceback as fx_traceback
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from irwidget.errors import ExportError, IRWidgetError, UnsupportedError, UsageError
from irwidget.private_torch import (
    AutoDispatchBelowAutograd,
    FakeTensorMode,
    FunctionalTensorMode,
    computed_in_half,
    dispatch_functionalize,
    make_fx,
    pytree,
    reads_base,
    storage_id,
    traced_as_written,
    writes,
)
from irwidget.spyre import aliases
from irwidget.spyre.aliases import fake_of
from irwidget.spyre.attention import fuse_attention
from irwidget.spyre.decompositions import decomposition_table
from irwidget.spyre.fakes import eager_strides
from irwidget.spyre.hints import active_hints, fresh_hints
from irwidget.spyre.hostregions import gather_host_regions
from irwidget.spyre.instance_norm import COMPOSED
from irwidget.spyre.ir import BufferView
from irwidget.spyre.notes import custom
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.spyreops import register
from irwidget.spyre.stepper import Stepper
from irwidget.spyre.tensorspec import Input, TensorSpec, as_spec, check_input
from irwidget.spyre.transformed import has_transformed, may_be_transformed, trace_transformed


@dataclass(frozen=True)
class CapturedGraph:
    """The FX graph of a function with its inputs described."""

    graph: torch.fx.GraphModule
    inputs: tuple[Input, ...]
    """One per placeholder: the tensors of the call first, then the module's parameters that are used."""
    bound: Mapping[str, torch.Tensor]
    """Values of parameters and captured constants by placeholder name, where they are real tensors."""
    call_inputs: tuple[str, ...]
    """Placeholders that a call fills, in order."""
    output_tree: Any
    """How the flat outputs go back into what the function returns."""
    fakes: tuple[torch.Tensor, ...] = ()
    mutated: tuple[str, ...] = ()
    """Placeholders that the function writes into; their new values are the last outputs of the graph, in this order."""

    @property
    def strides(self) -> tuple[tuple[int, ...] | None, ...]:
        """The strides of each result as the function makes it; None of what is no tensor."""
        (values,) = next(n.args for n in self.graph.graph.nodes if n.op == "output")
        returned = list(values)[: len(values) - len(self.mutated)]  # pyright: ignore[reportArgumentType]
        return tuple(tuple(one.stride()) if isinstance(one, torch.Tensor) else None for one in map(fake_of, returned))

    @property
    def aliases(self) -> tuple[BufferView | None, ...]:
        """Of each result that has the memory of an input, also of what was written there: where in it."""
        return aliases.of_results(self.graph.graph, self.inputs, self.mutated)


class _Annotate(TorchFunctionMode):
    """Write the user's line and the active hints on every node, and answer what a tensor is a view of.

    Functional tensors have no base, which is None to who asks; here it is the first tensor with the same memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self._owners: dict[int, torch.Tensor] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        place = _replaying.get()
        note: dict[str, Any] = {"line": _user_line() if place is None else place[0]}
        path = _module_path.get() if place is None else place[1]
        if path:
            note["module"] = path
        hints = active_hints()
        if hints:
            note["hints"] = hints
        for one in pytree.tree_leaves(args):
            if isinstance(one, torch.Tensor):
                self._owner(one)
        if reads_base(func) and (base := self._owner(args[0])) is not None:
            return None if base is args[0] else base
        with fx_traceback.annotate(note):
            return COMPOSED.get(func, func)(*args, **(kwargs or {}))

    def _owner(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The first tensor with its memory; None for what has none of its own: sparse, or wrapped by a transform."""
        try:
            return self._owners.setdefault(storage_id(tensor), tensor)
        except NotImplementedError:
            return None


_replaying: ContextVar[tuple[tuple[str, int], str] | None] = ContextVar("replaying", default=None)
"""The user's line and module of the node that `Replayed` is at."""
_module_path: ContextVar[str] = ContextVar("module_path", default="")
"""The module whose forward runs."""


class Replayed:
    """A graph that Dynamo has captured, called node by node under each node's own line and module."""

    line: tuple[str, int] = ("", 0)
    """The user's line of the node that was called last."""

    def __init__(self, module: torch.fx.GraphModule, pairs: Sequence[int] = ()) -> None:
        self.module, self.pairs = module, pairs
        self.paired: list[int] = []
        """The results that are complex, of those that the last call returned as pairs of real numbers."""

    def __call__(self, *args: Any) -> Any:
        """Run it; the arguments numbered `pairs` are complex ones as pairs, as complex results are."""
        given = [torch.view_as_complex(a) if i in self.pairs else a for i, a in enumerate(args)]
        made, tree = pytree.tree_flatten(_Replay(self).run(*given))
        self.paired = [i for i, one in enumerate(made) if isinstance(one, torch.Tensor) and one.is_complex()]
        return pytree.tree_unflatten(
            [torch.view_as_real(one.resolve_conj()) if i in self.paired else one for i, one in enumerate(made)], tree
        )


class _Replay(torch.fx.Interpreter):
    extra_traceback = False

    def __init__(self, of: Replayed) -> None:
        super().__init__(of.module)
        self.of = of

    def run_node(self, n: torch.fx.Node) -> Any:
        self.of.line = _line_of(n)
        token = _replaying.set((self.of.line, _path_of(n)))
        try:
            return super().run_node(n)
        finally:
            _replaying.reset(token)

    def fetch_args_kwargs_from_env(self, n: torch.fx.Node) -> tuple[Any, Any]:
        """Tensors without values are on another device than those that stand for them here."""
        given = super().fetch_args_kwargs_from_env(n)
        return pytree.tree_map(lambda value: _HOST if isinstance(value, torch.device) else value, given)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Other devices, and tensors without values, have a histogram of integers; the host counts in float32."""
        if target is torch.histc and not args[0].dtype.is_floating_point:
            return super().call_function(target, (args[0].float(), *args[1:]), kwargs).to(args[0].dtype)
        return super().call_function(target, args, kwargs)


_HOST = torch.device("cpu")


def _line_of(node: torch.fx.Node) -> tuple[str, int]:
    """The innermost line of the stack that Dynamo saw."""
    found = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    mine = [place for place in found if "/torch/" not in place[0]] or found
    return (mine[-1][0], int(mine[-1][1])) if mine else ("", 0)


def _path_of(node: torch.fx.Node) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return (
        re.sub(r"^L\['self'\]\.?|\._modules|\['|'\]", lambda m: "." if m[0] == "['" else "", str(stack[-1][0])).strip(
            "."
        )
        if stack
        else ""
    )


@contextmanager
def _following_modules(root: Any) -> Generator[None]:
    """Keep `_module_path` at the module of `root` whose forward runs."""
    names = {id(m): name for name, m in root.named_modules()} if isinstance(root, torch.nn.Module) else {}
    tokens: list[Token[str]] = []

    def enter(module: torch.nn.Module, _: Any) -> None:
        tokens.append(_module_path.set(names.get(id(module), _module_path.get())))

    def leave(module: torch.nn.Module, _: Any, __: Any) -> None:
        _module_path.reset(tokens.pop())

    if not names:
        yield
        return
    hooks = (
        register_module_forward_pre_hook(enter),
        register_module_forward_hook(leave, always_call=True),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _user_line() -> tuple[str, int]:
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if _of_user(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _of_user(path: str) -> bool:
    return "/torch/" not in path and "/irwidget/spyre/" not in path and "/contextlib" not in path


def _where_raised(error: BaseException, obj: Any) -> str:
    """The user's line that a function failed at while it was traced."""
    if isinstance(obj, Replayed):
        return _at(obj.line)
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    return _at(next((place for place in reversed(frames) if _of_user(place[0])), ("", 0)))


def _at(line: tuple[str, int]) -> str:
    return f"\n  at {line[0]}:{line[1]}" if line[0] else ""


def capture(obj: Any, inputs: Any, options: SpyreSwitches) -> CapturedGraph:
    """Trace `obj` called with `inputs`: tensors, TensorSpecs and plain values, a sequence or a mapping of keywords.

    Raises UsageError and UnsupportedError for inputs that the device has no layout for, ExportError when the
    function cannot be traced.
    """
    register()
    if not callable(obj) and not hasattr(obj, "module"):
        raise UsageError(f"cannot compile a {type(obj).__name__}: give a function, an nn.Module or an ExportedProgram.")
    if isinstance(obj, torch.export.ExportedProgram):
        obj = obj.module()
    args, kwargs = ((), dict(inputs)) if isinstance(inputs, Mapping) else (_as_tuple(inputs), {})
    leaves, tree = pytree.tree_flatten((args, kwargs), is_leaf=lambda leaf: isinstance(leaf, TensorSpec))
    specs = [as_spec(leaf) for leaf in leaves]
    checked = [check_input(f"arg{i}_1", spec) for i, spec in enumerate(s for s in specs if s is not None)]
    parameters = _parameters(obj, options, len(checked))
    mode = eager_strides()
    described = [*checked, *(p for p, _ in parameters)]
    with mode:
        fakes = [torch.empty_strided(i.size, i.stride, dtype=getattr(torch, i.dtype)) for i in described]
    call = _Call(obj, leaves, specs, tree, [p.parameter for p, _ in parameters])
    graph = _trace(call, fakes, mode)
    mutated = _keep_mutations(graph, len(described))
    bound = {p.name: value for p, value in parameters if type(value) in (torch.Tensor, torch.nn.Parameter)}
    named = {i: (*call.names.get(i, ()),) for i in range(len(described))}
    described = [i if not named[k] or i.dims else _named(i, named[k]) for k, i in enumerate(described)]
    names = tuple(i.name for i in checked)
    written = tuple(described[i].name for i in mutated)
    return _drop_unused(CapturedGraph(graph, tuple(described), bound, names, call.output_tree, tuple(fakes), written))


def _named(given: Input, dims: tuple[str, ...]) -> Input:
    from dataclasses import replace

    return replace(given, dims=dims)


def _as_tuple(inputs: Any) -> tuple[Any, ...]:
    if isinstance(inputs, tuple | list):
        return tuple(inputs)
    return (inputs,)


def _parameters(obj: Any, options: SpyreSwitches, first: int) -> list[tuple[Input, torch.Tensor]]:
    """Parameters and buffers of a module with their layouts: linear weights stick on out_features."""
    if not isinstance(obj, torch.nn.Module):
        return []
    linear = {
        f"{name}.weight" if name else "weight"
        for name, module in obj.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    found: list[tuple[Input, torch.Tensor]] = []
    state = {**dict(obj.named_parameters()), **dict(obj.named_buffers())}
    for name, value in state.items():
        order = options.layouts.get(name)
        if order is None and options.linear_weights and name in linear and value.dim() == 2:
            order = (1, 0)
        spec = TensorSpec(tuple(value.shape), value.dtype, order, stride=tuple(value.stride()))
        found.append((check_input(f"arg{first + len(found)}_1", spec, name), value))
    for name in options.layouts:
        if name not in state:
            raise UsageError(f"layouts names no parameter {name!r} of the module; it has {', '.join(state)}.")
    return found


class _Call:
    """The traced function: flat tensors in, flat tensors out."""

    def __init__(
        self,
        obj: Any,
        leaves: Sequence[Any],
        specs: Sequence[TensorSpec | None],
        tree: Any,
        parameters: list[str],
    ) -> None:
        self.obj, self.leaves, self.specs, self.tree, self.parameters = obj, leaves, specs, tree, parameters
        self.output_tree: Any = None
        self.names: dict[int, tuple[str, ...]] = {}

    def __call__(self, *flat: torch.Tensor) -> list[Any]:
        tensors = iter(flat)
        values = [leaf if spec is None else next(tensors) for leaf, spec in zip(self.leaves, self.specs, strict=True)]
        args, kwargs = pytree.tree_unflatten(values, self.tree)
        names: dict[int, tuple[str, ...]] = {}
        with fresh_hints(names), _Annotate(), _following_modules(self.obj):
            if self.parameters:
                state = dict(zip(self.parameters, tensors, strict=True))
                result = torch.func.functional_call(self.obj, state, args, kwargs)
            else:
                result = self.obj(*args, **kwargs)
        self.names = {i: names[id(t)] for i, t in enumerate(flat) if id(t) in names}
        outputs, self.output_tree = pytree.tree_flatten(result)
        return [*outputs, *flat]


_OF_VALUES = ("DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode")
"""What fake tensors raise for an op that would have to look at values."""


def _trace(call: _Call, fakes: list[torch.Tensor], mode: FakeTensorMode) -> torch.fx.GraphModule:
    with ExitStack() as stack:
        for context in (
            fx_traceback.preserve_node_meta(),
            torch.no_grad(),
            mode,
            warnings.catch_warnings(),
            traced_as_written(),
        ):
            stack.enter_context(context)
        warnings.filterwarnings("ignore", "At pre-dispatch tracing")  # of our own operators, which are functional
        try:
            return _dense(_functional(call, fakes))
        except IRWidgetError:
            raise
        except Exception as error:
            place = _where_raised(error, call.obj)
            if type(error).__name__ in _OF_VALUES:
                raise UnsupportedError(
                    f"Spyre backend does not support: {getattr(error, 'func', error)}: what comes out of it, or how"
                    " much of it, depends on values, and a program for Spyre is fixed before it has any."
                    f' torch.compile(..., backend="irwidget_spyre") cuts the program there.{place}'
                ) from error
            raise ExportError(f"tracing for Spyre failed: {type(error).__name__}: {error}{place}") from error


def _functional(call: _Call, fakes: list[torch.Tensor]) -> torch.fx.GraphModule:
    functional = dispatch_functionalize(call, mode=FunctionalTensorMode(pre_dispatch=True, export=True))
    try:
        graph = make_fx(functional, pre_dispatch=True)(*fakes)
    except Exception as error:
        if not may_be_transformed(error):
            raise
        return trace_transformed(call, fakes)
    return trace_transformed(call, fakes) if has_transformed(graph) else graph


def _dense(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph; UnsupportedError where a value of it is sparse."""
    for node in graph.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and value.layout != torch.strided:
                place = _at(custom(node).get("line", ("", 0)))
                raise UnsupportedError(f"Spyre backend does not support: {node.name}: sparse tensors.{place}")
    return graph


def _keep_mutations(graph: torch.fx.GraphModule, count: int) -> list[int]:
    """Of the inputs, which the graph returns last, drop those that are what they were; the numbers of the others."""
    placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
    output = next(n for n in graph.graph.nodes if n.op == "output")
    values = list(output.args[0])
    returned, after = (values[:-count], values[-count:]) if count else (values, [])
    changed = [i for i, (was, now) in enumerate(zip(placeholders, after, strict=True)) if now is not was]
    output.args = ([*returned, *(after[i] for i in changed)],)
    graph.recompile()
    return changed


def _drop_unused(captured: CapturedGraph) -> CapturedGraph:
    """Remove parameters that no node reads; the tensors of the call stay."""
    graph = captured.graph.graph
    for node in list(graph.nodes):
        if "_assert_tensor_metadata" in str(node.target) and not node.users:
            graph.erase_node(node)
    graph.eliminate_dead_code()
    nodes = [n for n in graph.nodes if n.op == "placeholder"]
    kept: list[int] = []
    for i, node in enumerate(nodes):
        if not node.users and captured.inputs[i].parameter and captured.inputs[i].name not in captured.mutated:
            graph.erase_node(node)
        else:
            kept.append(i)
    inputs = tuple(captured.inputs[i] for i in kept)
    captured.graph.recompile()
    return CapturedGraph(
        captured.graph,
        inputs,
        captured.bound,
        captured.call_inputs,
        captured.output_tree,
        tuple(captured.fakes[i] for i in kept),
        captured.mutated,
    )


def decompose(captured: CapturedGraph, options: SpyreSwitches) -> torch.fx.GraphModule:
    """The graph over the device's operators: our decompositions applied, views explicit."""
    graph = fuse_attention(captured.graph)
    mode = _fake_mode(captured)
    mutated = len(captured.mutated)
    interpreter = Stepper(graph, mutated)
    with ExitStack() as stack:
        steps = (
            fx_traceback.preserve_node_meta(),
            torch.no_grad(),
            mode,
            AutoDispatchBelowAutograd(),
            computed_in_half(),
        )
        for context in steps:
            stack.enter_context(context)
        table = decomposition_table(options.host_for_refused)
        try:
            made = make_fx(interpreter.run, decomposition_table=table)(*captured.fakes)
            if any(
                writes(node.target) for node in made.graph.nodes
            ):  # a decomposition of PyTorch's own may write in place
                interpreter = Stepper(made, mutated)
                functional = dispatch_functionalize(interpreter.run, mode=FunctionalTensorMode())
                made = make_fx(functional, decomposition_table=table)(*captured.fakes)
        except IRWidgetError as error:
            raise type(error)(f"{error}{_at(interpreter.line)}") from error.__cause__
        except Exception as error:
            raise ExportError(f"decomposing for Spyre failed: {error}{_at(interpreter.line)}") from error
    made.graph.eliminate_dead_code()
    for i, node in enumerate(n for n in made.graph.nodes if n.op == "placeholder"):
        node.name = node.target = captured.inputs[i].name
    made.recompile()
    if options.host_for_refused:
        with mode, torch.no_grad():
            made = gather_host_regions(made)
    return made


def _fake_mode(captured: CapturedGraph) -> FakeTensorMode:
    for fake in captured.fakes:
        return fake.fake_mode  # pyright: ignore[reportAttributeAccessIssue]
    return eager_strides()
