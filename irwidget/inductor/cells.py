"""What a cell gives to torch.compile and calls: noted, and run as it is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from irwidget.frontends import modes
from irwidget.frontends.base import Note, looks
from irwidget.frontends.cell import Call
from irwidget.inductor.private import MADE, compiled_with, of_call

MOST_CALLS = 8
"""Calls of one object that are followed: Dynamo compiles no function more often, unless it is told to."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A function or module as a cell gives it to torch.compile, with what it says (`private.compiled_with`)."""

    obj: Any
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    in_place: bool = False
    """Whether it is a module that `Module.compile` gives."""
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
    """While it lasts, what torch.compile gives runs eagerly, and its calls are noted. Then it is what it always is.

    Not those that such a call makes itself: Dynamo would trace through them. PyTorch's own operators of higher order
    (`cond`, `flex_attention`), when they run eagerly, call torch.compile as well.
    """
    import torch

    original = torch.compile
    inside = ContextVar("inside", default=False)
    noted = list[Noted]()

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
        if torch.compile is not compile:  # the cell has kept it
            return original(model, **options)
        made = original(model, **options)
        if made is model:  # which it leaves as it is, with disable=True
            return made
        given = of_call(model)
        compiled = Compiled(given, compiled_with(made), in_place=given is not model)
        noted.append(Noted(made, partial(run, compiled, model)))
        return noted[-1].of_module() if isinstance(model, torch.nn.Module) else noted[-1].of_function()

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = original
        for one in noted:
            one.end()


class Noted:
    """What torch.compile makes of a model, with its calls going elsewhere until that ends."""

    def __init__(self, made: Any, run: Callable[[tuple[Any, ...], Mapping[str, Any]], Any]) -> None:
        self._made = made
        self._run: Callable[[tuple[Any, ...], Mapping[str, Any]], Any] | None = run
        self._forward: Any = None

    def of_function(self) -> Callable[..., Any]:
        """A function in its place."""

        @functools.wraps(self._made)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(args, kwargs)

        setattr(call, MADE, self._made)
        return call

    def of_module(self) -> Any:
        """The module that torch.compile makes, which computes something else."""
        self._forward = self._made.forward
        self._made.forward = lambda *args, **kwargs: self._call(args, kwargs)  # pyright: ignore[reportUnknownLambdaType]
        return self._made

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return self._made(*args, **kwargs) if self._run is None else self._run(args, kwargs)

    def end(self) -> None:
        """From now on the calls are those of what torch.compile has made."""
        self._run = None
        if self._forward is not None:
            self._made.forward = self._forward
