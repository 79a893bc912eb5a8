"""Find what a cell wants lowered: its models and the inputs that go with each.

As PyTorch Explorer pairs them (`explore(model, input)`, else modules with the
tensors that fit), and further: a call on the last line says it, `model(x[:1], mask=m)`, and so
does any call of a Helion kernel; parameters find variables of their own name,
several inputs, functions; a submodule is no model of its own.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from irwidget import ipython_syntax
from irwidget.errors import UsageError
from irwidget.frontends import base, modes
from irwidget.frontends.cell import Call, Candidate, variable
from irwidget.frontends.last_line import NotedCall
from irwidget.registry import frontends

MOST_ATTEMPTS = 24


_pairs: ContextVar[list[Candidate] | None] = ContextVar("irwidget_pairs", default=None)


def explore(model: Any, *inputs: Any, name: str | None = None, dynamic_shapes: Any = None, **kwargs: Any) -> None:
    """Inside a `%%lower` cell: pair a model with its inputs. May be called several times.

    A single tuple is taken for several inputs; `dynamic_shapes` are theirs, as torch.export takes them. Raises
    UsageError outside of a `%%lower` cell; there, call `irwidget.lower(model, *inputs, to=...)`.
    """
    pairs = _pairs.get()
    if pairs is None:
        raise UsageError("explore() pairs a model with its inputs inside a %%lower cell; elsewhere call lower()")
    if len(inputs) == 1 and isinstance(inputs[0], tuple):
        (inputs,) = inputs
    call = Call(inputs, kwargs, told=True, modes=modes.current(), dynamic_shapes=dynamic_shapes)
    pairs.append(Candidate(name or _class_name(model), model, (call,)))


@contextlib.contextmanager
def collected(source: str) -> Generator[list[Candidate]]:
    """Collect the `explore` calls made while a cell runs, and the calls that front ends watch for."""
    pairs: list[Candidate] = []
    token = _pairs.set(pairs)
    try:
        with contextlib.ExitStack() as stack:
            for front_end in frontends:
                stack.enter_context(_watched(front_end, source, partial(_note, pairs)))
            yield pairs
    finally:
        _pairs.reset(token)


def _watched(front_end: base.FrontEnd, source: str, note: base.Note) -> contextlib.AbstractContextManager[object]:
    return frontends.ask(front_end, lambda one: one.watched(source, note), contextlib.nullcontext())


def _note(pairs: list[Candidate], kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """A kernel that is called again with inputs of the same shapes and types is the same to lower."""
    call = Call(args, kwargs, told=True, modes=modes.current())
    seen = (pair.calls[0] for pair in pairs if pair.model is kernel)
    if base.looks(args, kwargs) not in (base.looks(one.args, one.kwargs) for one in seen):
        pairs.append(Candidate(kernel.name, kernel, (call,)))


def find(
    source: str,
    namespace: Mapping[str, Any],
    *,
    model: str | None = None,
    inputs: Sequence[str] | None = None,
    calls: Sequence[NotedCall] = (),
) -> list[Candidate]:
    """The models of a cell that has just run, with the inputs to try for each.

    `model` and `inputs` are the names that the user gave, if any; `calls` those of its last line, each with what it was
    given. Raises UsageError that says what was found when there is nothing to lower.
    """
    names = _Names.of(source)
    visible = _visible(names, namespace)
    if inputs:
        called = Call(tuple(variable(name, namespace, "input") for name in inputs), told=True)
        models = {model: variable(model, namespace, "model")} if model else _models(names, visible)
        return [Candidate(name, value, (called,)) for name, value in models.items()]
    closing = next((one for one in calls if one.closing and _is_model_call(one)), None)
    if closing and model is None:
        return [_called(closing.name or _class_name(closing.callee), closing)]
    models = {model: variable(model, namespace, "model")} if model else _models(names, visible)
    last = {id(one.callee): one for one in calls if _takes_tensors(one)}
    found = [
        _called(name, last[id(value)]) if id(value) in last else Candidate(name, value, tuple(_calls(value, visible)))
        for name, value in models.items()
    ]
    missing = [candidate for candidate in found if not candidate.calls]
    if not found or missing:
        raise UsageError(_nothing_found(visible, missing))
    return found


def find_kernels(source: str, namespace: Mapping[str, Any]) -> list[Candidate]:
    """As `find`, where the cell sets an object that a front end recognises; nothing otherwise."""
    names = _Names.of(source)
    return find(source, namespace) if _kernels(names, _visible(names, namespace)) else []


def with_dynamic_shapes(
    found: Sequence[Candidate], source: str, namespace: Mapping[str, Any], name: str | None
) -> list[Candidate]:
    """The same with the dynamic shapes that a variable holds: that of a name, else the cell's own `dynamic_shapes`.

    Those that `explore` was given stay. By default an exported program, which has its own, and what a front end
    recognises are left out. Raises UsageError for a name that is none.
    """
    if name is None:
        shapes = _visible(_Names.of(source), namespace).get("dynamic_shapes")
        if not _are_shapes(shapes):
            return list(found)
    else:
        shapes = variable(name, namespace, "dynamic shapes")
    return [
        one
        if one.refused or (name is None and (base.is_exported(one.model) or base.of_kind(one.model)))
        else replace(one, calls=tuple(_with_shapes(call, shapes) for call in one.calls))
        for one in found
    ]


def _are_shapes(value: Any) -> bool:
    """Whether it is of a type that torch.export takes for dynamic shapes, and says something."""
    import torch.export

    return isinstance(value, Mapping | list | tuple | torch.export.ShapesCollection) and bool(value)


def _with_shapes(call: Call, shapes: Any) -> Call:
    return call if call.dynamic_shapes is not None else replace(call, dynamic_shapes=shapes)


def _visible(names: _Names, namespace: Mapping[str, Any]) -> dict[str, Any]:
    return {name: namespace[name] for name in [*names.bound, *names.used] if name in namespace}


def _kernels(names: _Names, visible: Mapping[str, Any]) -> dict[str, Any]:
    """The objects that the cell is about because they are of a front end's own kind."""
    bound = {name: visible[name] for name in names.bound if name in visible}
    found: dict[str, Any] = {}
    for front_end in frontends:
        found |= frontends.ask(front_end, lambda one: one.kernels(bound), {})
    return found


@dataclass(frozen=True)
class _Names:
    bound: list[str]
    """Names that the cell assigns or defines, in order."""
    used: list[str]
    """Names that it only reads."""

    @classmethod
    def of(cls, source: str) -> _Names:
        bound: dict[str, None] = {}
        used: dict[str, None] = {}
        for statement in ipython_syntax.parsed(source):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                bound[statement.name] = None
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    (bound if isinstance(node.ctx, ast.Store) else used)[node.id] = None
                elif inside := ipython_syntax.code_of_magic(node):
                    inner = cls.of(inside)
                    bound |= dict.fromkeys(inner.bound)
                    used |= dict.fromkeys(inner.used)
        return _Names(list(bound), [name for name in used if name not in bound])


def _models(names: _Names, visible: Mapping[str, Any]) -> dict[str, Any]:
    """Modules of the cell, without those that are part of another; else the function defined last.

    An object of a front end's own kind, as a Helion kernel, is what the cell is about.
    """
    import torch
    from torch.export import ExportedProgram

    if kernels := _kernels(names, visible):
        return kernels
    modules = {n: v for n, v in visible.items() if isinstance(v, torch.nn.Module | ExportedProgram)}
    if any(name in names.bound for name in modules):
        modules = {name: value for name, value in modules.items() if name in names.bound}
    inner = {
        id(part)
        for whole in modules.values()
        if isinstance(whole, torch.nn.Module)
        for part in whole.modules()
        if part is not whole
    }
    seen: dict[int, str] = {}
    for name, value in modules.items():
        if id(value) not in inner:
            seen.setdefault(id(value), name)
    if seen:
        return {name: modules[name] for name in seen.values()}
    functions = [n for n in names.bound if inspect.isfunction(visible.get(n))]
    return {functions[-1]: visible[functions[-1]]} if functions else {}


def _is_model_call(call: NotedCall) -> bool:
    """Whether a call with tensors is the user's own pairing: of a module, or a function by its name or just made."""
    import torch

    is_function = inspect.isfunction(call.callee) or isinstance(call.callee, partial)
    is_model = isinstance(call.callee, torch.nn.Module) or (is_function and bool(call.name or call.made))
    return is_model and _takes_tensors(call)


def _takes_tensors(call: NotedCall) -> bool:
    return any(_is_input(value) for value in (*call.args, *call.kwargs.values()))


def _called(name: str, call: NotedCall) -> Candidate:
    return Candidate(name, call.callee, (Call(call.args, call.kwargs, told=True, modes=call.modes),))


def _is_input(value: Any) -> bool:
    import torch

    from irwidget.private_torch import pytree

    return any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(value))


def _calls(model: Any, visible: Mapping[str, Any]) -> Iterator[Call]:
    """Ways to call a model with the cell's variables, best first, at most MOST_ATTEMPTS."""
    import torch
    from torch.export import ExportedProgram

    if isinstance(model, ExportedProgram):
        yield Call(*(base.own_inputs(model) or ((), {})), told=True)
        return
    parameters = _parameters(model)
    nameable = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    by_name = {p.name: visible[p.name] for p in nameable if p.name in visible}
    required = [p for p in parameters if p.default is p.empty]
    if by_name and all(p.name in by_name for p in required) and any(_is_input(v) for v in by_name.values()):
        bound = inspect.Signature(parameters).bind(**by_name)
        yield Call(bound.args, bound.kwargs, told=True)
    names = {p.name for p in nameable}
    for value in visible.values():
        if isinstance(value, Mapping) and names.issuperset(value) and any(map(_is_input, value.values())):
            yield Call((), dict(value), told=True)
    tensors = [v for v in visible.values() if isinstance(v, torch.Tensor) and not isinstance(v, torch.nn.Parameter)]
    positional = [p for p in required if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    wanted = max(1, len(positional))
    if not parameters:
        yield Call((), told=True)
        return
    rows = (tuple(v) for v in visible.values() if isinstance(v, tuple | list) and any(map(_is_input, v)))
    chosen = itertools.chain(itertools.permutations(tensors, wanted), (one for one in rows if len(one) >= wanted))
    yield from map(Call, itertools.islice(chosen, MOST_ATTEMPTS))


def _parameters(model: Any) -> list[inspect.Parameter]:
    front_end = base.of_kind(model)
    return front_end.parameters(model) if front_end else base.parameters(model)


def _class_name(model: Any) -> str:
    from irwidget.private_torch import uncompiled_module

    model = uncompiled_module(model)
    return getattr(model, "__name__", None) or type(model).__name__


def _nothing_found(visible: Mapping[str, Any], missing: Sequence[Candidate]) -> str:
    import torch

    tensors = [f"{n} {list(v.shape)}" for n, v in visible.items() if isinstance(v, torch.Tensor)]
    have = f"tensors: {', '.join(tensors)}" if tensors else "no tensors"
    if missing:
        names = ", ".join(f"{c.name}{inspect.signature(getattr(c.model, 'forward', c.model))}" for c in missing)
        what = f"found {names}, but {have}: no input that fits"
    else:
        what = f"found no model (torch.nn.Module or function) in the cell; {have}"
    return (
        f"Nothing to lower: {what}. Pair them in the cell with irwidget.explore(model, *inputs), "
        "end the cell with a call such as model(x), or name them: --model NAME --inputs NAME,NAME"
    )
