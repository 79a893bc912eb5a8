"""What a cell gives to torch.compile and calls: noted, and run as it is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from irwidget.frontends import modes
from irwidget.frontends.base import Note, looks
from irwidget.frontends.cell import Call

MOST_CALLS = 8
"""Calls of one object that are followed: Dynamo compiles no function more often, unless it is told to."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A function or module as a cell gives it to torch.compile, with the options that it says."""

    obj: Any
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    calls: list[Call] = field(default_factory=list[Call])
    """Its calls whose inputs look different, the first ones of a cell: it may be compiled again for each."""

    @property
    def name(self) -> str:
        return getattr(self.obj, "__name__", None) or type(self.obj).__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.obj(*args, **kwargs)

    def note(self, call: Call) -> None:
        """Keep a call that looks like none before."""
        seen = ((one.modes, looks(one.args, one.kwargs)) for one in self.calls)
        if len(self.calls) < MOST_CALLS and (call.modes, looks(call.args, call.kwargs)) not in seen:
            self.calls.append(call)


@contextlib.contextmanager
def calls(note: Note) -> Generator[None]:
    """While it lasts, what torch.compile gives runs eagerly, and its calls are noted.

    Not those that such a call makes itself: Dynamo would trace through them. PyTorch's own operators of higher order
    (`cond`, `flex_attention`), when they run eagerly, call torch.compile as well.
    """
    import torch

    original = torch.compile
    inside = ContextVar("inside", default=False)

    def run(compiled: Compiled, call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if inside.get():
            return call(*args, **kwargs)
        if not compiled.calls:
            note(compiled, args, kwargs)
        compiled.note(Call(args, kwargs, told=True, modes=modes.current()))
        before = inside.set(True)
        try:
            return call(*args, **kwargs)
        finally:
            inside.reset(before)

    def compile(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda function: compile(function, **options)  # pyright: ignore[reportUnknownLambdaType]
        compiled = Compiled(model, options)
        if isinstance(model, torch.nn.Module):
            return _noted_module(model, compiled, run)
        return _noted(model, compiled, run)

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = original


_Run = Callable[[Compiled, Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Any]


def _noted(function: Callable[..., Any], compiled: Compiled, run: _Run) -> Callable[..., Any]:
    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        return run(compiled, function, args, kwargs)

    return noted


def _noted_module(module: Any, compiled: Compiled, run: _Run) -> Any:
    """The module itself in all but the call: torch.compile's has the same parameters, too."""
    import torch

    class Noted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._orig_mod = module

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return run(compiled, self._orig_mod, args, kwargs)

        def __getattr__(self, name: str) -> Any:
            return super().__getattr__(name) if name == "_orig_mod" else getattr(module, name)

    return Noted()
