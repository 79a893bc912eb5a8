"""Dynamic shapes as torch.export takes them: of `*args` one below the other, where users give them side by side."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import torch


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
