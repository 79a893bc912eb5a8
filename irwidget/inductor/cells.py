"""What a cell gives to torch.compile and calls: noted, and run as it is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from irwidget.frontends.base import Note


@dataclass(frozen=True, eq=False)
class Compiled:
    """A function or module as a cell gives it to torch.compile, with the options that it says."""

    obj: Any
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        return getattr(self.obj, "__name__", None) or type(self.obj).__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.obj(*args, **kwargs)


@contextlib.contextmanager
def calls(note: Note) -> Generator[None]:
    """While it lasts, what torch.compile gives runs eagerly, and its calls are noted."""
    import torch

    original = torch.compile

    def compile(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda function: compile(function, **options)  # pyright: ignore[reportUnknownLambdaType]
        compiled = Compiled(model, options)
        if isinstance(model, torch.nn.Module):
            return _noted_module(model, compiled, note)
        return _noted(model, compiled, note)

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = original


def _noted(function: Callable[..., Any], compiled: Compiled, note: Note) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        note(compiled, args, kwargs)
        return function(*args, **kwargs)

    return run


def _noted_module(module: Any, compiled: Compiled, note: Note) -> Any:
    """The module itself in all but the call: torch.compile's has the same parameters, too."""
    import torch

    class Noted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._orig_mod = module

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            note(compiled, args, kwargs)
            return self._orig_mod(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            return super().__getattr__(name) if name == "_orig_mod" else getattr(module, name)

    return Noted()
