"""The Spyre front end: from a PyTorch function to tiles, OpSpec, SuperDSC and bundle (June 2026 semantics).

Nothing here imports torch before a function needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irwidget.spyre.comparison import compare
    from irwidget.spyre.compiler import compile
    from irwidget.spyre.dynamo import programs
    from irwidget.spyre.hints import declare_tensor_dim, name_tensor_dims, spyre_hint
    from irwidget.spyre.options import SpyreSwitches
    from irwidget.spyre.program import SpyreProgram
    from irwidget.spyre.recorded.opening import open
    from irwidget.spyre.searching import search
    from irwidget.spyre.targets import lower
    from irwidget.spyre.tensorspec import TensorSpec
    from irwidget.spyre.upstream.frontend import FrontEnd

_HOMES = {
    "compare": "comparison",
    "compile": "compiler",
    "FrontEnd": "upstream.frontend",
    "open": "recorded.opening",
    "programs": "dynamo",
    "declare_tensor_dim": "hints",
    "name_tensor_dims": "hints",
    "spyre_hint": "hints",
    "SpyreSwitches": "options",
    "SpyreProgram": "program",
    "search": "searching",
    "lower": "targets",
    "TensorSpec": "tensorspec",
}

__all__ = [
    "FrontEnd",
    "SpyreProgram",
    "SpyreSwitches",
    "TensorSpec",
    "compare",
    "compile",
    "declare_tensor_dim",
    "lower",
    "name_tensor_dims",
    "open",
    "programs",
    "search",
    "spyre_hint",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
