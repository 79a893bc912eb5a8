"""Triton kernels: find them, note their launches without a GPU, lower them pass by pass.

`capture(run_cell, arch) -> launches`, `lower(launch_or_kernel, ..., to="triton_gpu_ir") -> Trace`,
`from_cache(directory) -> traces`. Importing this does not import Triton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irwidget.frontends.triton.kernels import is_kernel, kernels

if TYPE_CHECKING:
    from irwidget.frontends.triton.cache import from_cache
    from irwidget.frontends.triton.compiling import TARGETS, default_arch, lower_launch
    from irwidget.frontends.triton.configurations import Configurations
    from irwidget.frontends.triton.launch import Launch
    from irwidget.frontends.triton.launches import Launches
    from irwidget.frontends.triton.lowering import launch_of, lower, parse_signature, select
    from irwidget.frontends.triton.recipe import Recipe
    from irwidget.frontends.triton.recorder import capture, recording, require_launch, run_cell

__all__ = [
    "TARGETS",
    "Configurations",
    "Launch",
    "Launches",
    "Recipe",
    "capture",
    "default_arch",
    "from_cache",
    "is_kernel",
    "kernels",
    "launch_of",
    "lower",
    "lower_launch",
    "parse_signature",
    "recording",
    "require_launch",
    "run_cell",
    "select",
]

_HOME = {
    "from_cache": "cache",
    "Launch": "launch",
    "Launches": "launches",
    "capture": "recorder",
    "recording": "recorder",
    "require_launch": "recorder",
    "run_cell": "recorder",
    "TARGETS": "compiling",
    "default_arch": "compiling",
    "launch_of": "lowering",
    "lower": "lowering",
    "lower_launch": "compiling",
    "parse_signature": "lowering",
    "Configurations": "configurations",
    "Recipe": "recipe",
    "select": "lowering",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
