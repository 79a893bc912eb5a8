"""Names of torch-spyre that it does not document, as its commits of June and July 2026 have them.

`tests/spyre/test_frontend.py` asks a checkout for them, where there is one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

EXTENSION = "torch_spyre._C"
"""The compiled extension."""
NORMALIZES = "_normalize_op_args"
"""In `split_multi_ops`: what it hands on of an operation's arguments."""
NAMED_DIMS = "torch_spyre._inductor.propagate_named_dims"
"""The module that is told how the dims of inputs are called."""


def hint_key(scope: int) -> str:
    """How a scope of `spyre_hint` is called in the notes of the nodes in it; scopes count from 0, outermost first."""
    return f"_hint_{scope + 1}"


def name_dims(tensors: Iterable[tuple[Any, Sequence[int], Sequence[str]]]) -> None:
    """Name the dims of inputs, each with its sizes and its names, of which an empty one is no name.

    Raises ValueError where the front end takes no names.
    """
    try:
        module: Any = importlib.import_module(NAMED_DIMS)
        declare, name, forget = module.declare_tensor_dim, module.name_tensor_dims, module.reset
    except (ImportError, AttributeError) as error:
        raise ValueError(f"it does not take names of dims: {error}") from None
    forget()
    for tensor, sizes, names in tensors:
        if names:
            called = [given or f"unnamed_{size}" for given, size in zip(names, sizes, strict=True)]
            for one, size in zip(called, sizes, strict=True):
                declare(one, size)
            name(tensor, called)


def enter(package: Any, extension: ModuleType) -> None:
    """Have the package register its device and its back end. Raises AttributeError where that is elsewhere."""
    package._C = extension
    begin = getattr(package, "_autoload", None)
    if begin is None:
        raise AttributeError("torch_spyre has no _autoload, which registers its device")
    begin()


def printer(passes: ModuleType) -> Callable[[Any], str] | None:
    """How it prints its loop IR, where it does."""
    return getattr(passes, "_format_operations", None)
