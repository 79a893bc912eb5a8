"""Arguments of launches with something else for their tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any


def mapped(argument: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with `change(tensor)` for each tensor in it: itself, in a tuple, of a descriptor, reinterpreted."""
    import torch

    from irwidget.frontends.triton.memory import Ref

    if isinstance(argument, torch.Tensor | Ref):
        return change(argument)
    if isinstance(argument, tuple | list):
        items = [mapped(item, change) for item in argument]  # pyright: ignore[reportUnknownVariableType]
        return type(argument)(*items) if hasattr(argument, "_fields") else type(argument)(items)  # pyright: ignore
    base = getattr(argument, "base", None)
    if isinstance(base, torch.Tensor | Ref):
        changed: Any = copy.copy(argument)
        object.__setattr__(changed, "base", change(base))
        return changed
    return argument
