"""What a front end that was written for another torch is spared, and what is said of it."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from typing import Any

from irwidget.spyre.upstream import private

_HANDLERS = (("torch_spyre._inductor.spyre_kernel", "SpyreOpFuncs"),)
"""Classes of functions that Inductor calls for the operations of a loop body."""
_SPLITTING = "torch_spyre._inductor.split_multi_ops"
"""The pass that takes loop bodies apart: it hands on the keywords that Inductor gave."""


def adapt() -> list[str]:
    """Leave out keywords that this torch passes and these functions do not take, and give back what it has renamed.

    Returns what was adapted, in words.
    """
    said = _size_hint()
    for module, name in _HANDLERS:
        with contextlib.suppress(ImportError, AttributeError):
            kind: Any = getattr(importlib.import_module(module), name)
            said += _without("use_compute_types", kind, "to_dtype")
    with contextlib.suppress(ImportError, AttributeError):
        said += _never_given("use_compute_types", importlib.import_module(_SPLITTING), private.NORMALIZES)
    return said


def _size_hint() -> list[str]:
    """The number that a size has by the inputs, under its older name: TypeError where other symbols are left."""
    from irwidget.private_torch import SizeVarAllocator

    kind: Any = SizeVarAllocator
    if hasattr(kind, "size_hint"):
        return []

    def size_hint(sizes: Any, expr: Any, **_: Any) -> int:
        return int(sizes.replace_backed_symbols_with_hints(expr))

    kind.size_hint = size_hint
    return ["SizeVarAllocator.size_hint is there, which this torch has under other names"]


def _without(keyword: str, kind: Any, name: str) -> list[str]:
    inner: Any = getattr(kind, name)
    takes = inspect.signature(inner).parameters.values()
    if any(p.name == keyword or p.kind is p.VAR_KEYWORD for p in takes):
        return []

    @functools.wraps(inner)
    def called(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(keyword, None)
        return inner(*args, **kwargs)

    setattr(kind, name, staticmethod(called))
    return [f"{kind.__name__}.{name} does not take {keyword}, which this torch passes: it is left out"]


def _never_given(keyword: str, module: Any, name: str) -> list[str]:
    inner: Any = getattr(module, name)

    @functools.wraps(inner)
    def called(*args: Any, **kwargs: Any) -> Any:
        made = inner(*args, **kwargs)
        for part in made if isinstance(made, tuple) else ():  # pyright: ignore[reportUnknownVariableType]
            if isinstance(part, dict):
                part.pop(keyword, None)  # pyright: ignore[reportUnknownMemberType]
        return made

    setattr(module, name, called)
    return [f"{name} does not hand on {keyword}, which this torch gives to casts"]
