"""What a model or a function leads to: modules, tensors and optimizers, which tracing it must not change."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from irwidget.toolchain.locations import is_user_file

if TYPE_CHECKING:
    import torch

_MANY = 10_000
"""Elements of a container that is not looked into: data."""


@contextlib.contextmanager
def as_it_was(model: Any, *, buffers: bool = False) -> Generator[None]:
    """Put back what tracing a model or a function leaves behind in what it leads to: trained state, and counters.

    torch.export runs operators on tensors of one element, as of batch norm's, that are not the model's own; what runs
    the whole model changes its `buffers`.
    """
    import torch

    tensors, optimizers, modules = _reached(model)
    changed = [one for one in tensors if one.numel() == 1 and one.layout == torch.strided]
    if buffers:
        changed += [one for module in modules for one in module.buffers(recurse=False)]
    kept = [(one, one.detach().clone()) for one in changed]
    try:
        with _untrained(tensors, optimizers):
            yield
    finally:
        for one, before in kept:
            if not torch.equal(one, before):  # batch norm changes its means without a new version
                one.detach().copy_(before)


def untrained(model: Any) -> contextlib.AbstractContextManager[None]:
    """Put back the gradients and the optimizers' states that `backward()` and `step()` leave behind."""
    return _untrained(*_reached(model)[:2])


def is_plain(value: Any) -> bool:
    """Whether it is a tensor of elements in memory, which can be copied and compared."""
    import torch

    if type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        return False
    return value.layout is torch.strided and not (value.is_quantized or value.is_meta)


def state(model: Any) -> dict[str, torch.Tensor]:
    """The tensors that a call of a model or a function can change, their gradients, and the states of optimizers.

    By names that are the same in copies of a process.
    """
    tensors, optimizers, _ = _reached(model)
    found: dict[str, torch.Tensor] = {}
    for number, one in enumerate(filter(is_plain, tensors)):
        kind = "parameter" if one.requires_grad else "tensor"
        found[f"{kind} {number} that it leads to"] = one
        if one.is_leaf and one.grad is not None:
            found[f"the gradient of {kind} {number} that it leads to"] = one.grad
    for number, one in enumerate(optimizers):
        for at, of in enumerate(one.state.values()):
            for name, value in of.items():
                if is_plain(value):
                    found[f"{name} of parameter {at} of {type(one).__name__} {number}"] = value
    return found


@contextlib.contextmanager
def _untrained(tensors: Iterable[torch.Tensor], optimizers: Iterable[Any]) -> Generator[None]:
    gradients = [(tensor, tensor.grad) for tensor in tensors if tensor.is_leaf]
    states = [(one, dict(one.state)) for one in optimizers]
    try:
        for tensor, gradient in gradients:  # both are added to in place
            tensor.grad = None if gradient is None else gradient.clone()
        for one, state in states:
            one.state.update({key: _copied(of) for key, of in state.items()})
        yield
    finally:
        for tensor, gradient in gradients:
            tensor.grad = gradient
        for one, state in states:
            one.state.clear()
            one.state.update(state)


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value.clone() if hasattr(value, "clone") else value for name, value in state.items()}


def _reached(model: Any) -> tuple[list[torch.Tensor], list[Any], list[torch.nn.Module]]:
    """The tensors, the optimizers and the modules among what a model, or a function of the user's, leads to."""
    import torch

    tensors: list[torch.Tensor] = []
    optimizers: list[Any] = []
    modules: list[torch.nn.Module] = []
    left, seen = [model], set[int]()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            tensors.append(one)
        elif isinstance(one, torch.nn.Module):
            modules.append(one)
            left.extend((*vars(one).values(), getattr(type(one), "forward", None)))
        elif isinstance(one, torch.optim.Optimizer):
            optimizers.append(one)
            left.extend(parameter for group in one.param_groups for parameter in group["params"])
        else:
            left.extend(_within(one))
    return tensors, optimizers, modules


def _within(value: Any) -> Iterable[Any]:
    """What a function's code names, and what is in a container, or in what can be called."""
    if isinstance(value, types.FunctionType) and is_user_file(value.__code__.co_filename):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
        names = set(_names(value.__code__)) & value.__globals__.keys()
        return [*cells, *(value.__globals__[name] for name in sorted(names)), *(value.__defaults__ or ())]
    if isinstance(value, types.MethodType):
        return value.__self__, value.__func__, *getattr(value.__self__, "__dict__", {}).values()
    if isinstance(called := vars(type(value)).get("__call__"), types.FunctionType):
        return called, *getattr(value, "__dict__", {}).values()
    if isinstance(value, functools.partial):
        return value.func, *value.args, *value.keywords.values()
    if isinstance(value, dict | list | tuple) and len(value) < _MANY:
        return value.values() if isinstance(value, dict) else value
    return ()


def _is_full(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _names(code: types.CodeType) -> Iterable[str]:
    """All that code looks up, that of the functions within it as well."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
