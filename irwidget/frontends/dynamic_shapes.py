"""Dynamic shapes as torch.export takes them: of `*args` one below the other, where users give them side by side."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

import torch

from irwidget.errors import UsageError


def check(shapes: Any, function: Callable[..., Any], inputs: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Raise UsageError for a dimension that its input does not have: torch.export passes over most of these."""
    if shapes is None:
        return
    given = inspect.signature(function).bind(*inputs, **named).arguments
    for dim, of, where in _dims(shapes, given if isinstance(shapes, Mapping) else tuple(given.values()), ""):
        if not 0 <= dim < of:
            counted = f"; count from the front: {dim + of}" if -of <= dim < 0 else ""
            raise UsageError(f"dynamic_shapes{where} names dimension {dim} of an input with {of} dimensions{counted}")


def _dims(shapes: Any, value: Any, where: str) -> Iterator[tuple[int, int, str]]:
    """The dimensions that are named by number, with how many their tensor has and where they stand."""
    if isinstance(value, torch.Tensor):
        named = shapes if isinstance(shapes, Mapping) else {}
        yield from ((dim, value.dim(), where) for dim in named if isinstance(dim, int))
    elif isinstance(shapes, Mapping) and isinstance(value, Mapping):
        for name in shapes.keys() & value.keys():
            yield from _dims(shapes[name], value[name], f"{where}[{name!r}]")
    elif isinstance(shapes, list | tuple) and isinstance(value, list | tuple):
        for at, (below, one) in enumerate(zip(shapes, value, strict=False)):
            yield from _dims(below, one, f"{where}[{at}]")


def flat(shapes: Any, function: Callable[..., Any], inputs: tuple[Any, ...], named: int) -> Any:
    """Those of each input by position, also where the function has `*args` and they are nested as torch.export's.

    `named` says how many inputs have names. What is neither a list nor a tuple stays as it is.
    """
    at = _of_many(function) if isinstance(shapes, list | tuple) else None
    if at is None or len(shapes) != at + 1 + named:
        return shapes
    below, many = shapes[at], inputs[at:]
    if len(many) == 1 and not _are_of(below, many[0]):
        return shapes
    return (*shapes[:at], *(below or [None] * len(many)), *shapes[at + 1 :])


def nested(shapes: Any, function: Callable[..., Any], inputs: tuple[Any, ...], named: int) -> Any:
    """What torch.export takes: the opposite of `flat`."""
    at = _of_many(function) if isinstance(shapes, list | tuple) else None
    if at is None:
        return shapes
    given = flat(shapes, function, inputs, named)
    return (*given[:at], tuple(given[at : len(inputs)]), *given[len(inputs) :])


def with_pairs(shapes: Any, inputs: tuple[Any, ...]) -> Any:
    """Flat ones, for inputs, also those with names, of which complex ones have a dimension more.

    Only shapes given by position as tuples or lists name every dimension; dicts name those that are dynamic.
    """
    if not isinstance(shapes, list | tuple):
        return shapes
    return type(shapes)(
        type(one)([*one, None]) if isinstance(one, list | tuple) and _is_complex(value) else one
        for one, value in zip_longest(shapes, inputs[: len(shapes)])
    )


def _of_many(function: Callable[..., Any]) -> int | None:
    """Where `*args` are among what a function takes by position."""
    names = inspect.signature(function).parameters.values()
    return next((at for at, one in enumerate(names) if one.kind is one.VAR_POSITIONAL), None)


def _are_of(below: Any, value: Any) -> bool:
    """Whether these are the shapes of `*args` with one value, not that of the value."""
    if not isinstance(below, list | tuple) or len(below) != 1:
        return below is None
    return not isinstance(value, torch.Tensor) or below[0] is None or isinstance(below[0], dict | list | tuple)


def _is_complex(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_complex()
