"""Helion kernels to MLIR: every Device IR node, in one verified module that runs.

`lower_kernel(kernel, args)` is the whole way; the steps of it are public under
the names that users of helion-mlir know. Neither Helion nor torch is imported
before one of them is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from irwidget.helion.private import is_kernel

if TYPE_CHECKING:
    from irwidget.helion.handlers import register_handler
    from irwidget.helion.importer import (
        TorchMLIRNodeImporter,
        import_aten_node_to_mlir,
        normalize_helion_node,
        synthesize_tensor_meta,
    )
    from irwidget.helion.inline import TextBuilder, inline_torch_mlir_output
    from irwidget.helion.linking import SourceLink
    from irwidget.helion.lowering import EmittedKernel, HelionLowering, emit_kernel, lower, lower_kernel
    from irwidget.helion.programs import Programs
    from irwidget.helion.search_space import configurations
    from irwidget.helion.triton import HelionLaunch, launches

_HOMES = {
    "EmittedKernel": "lowering",
    "HelionLowering": "lowering",
    "configurations": "search_space",
    "emit_kernel": "lowering",
    "lower": "lowering",
    "lower_kernel": "lowering",
    "Programs": "programs",
    "SourceLink": "linking",
    "register_handler": "handlers",
    "TorchMLIRNodeImporter": "importer",
    "import_aten_node_to_mlir": "importer",
    "normalize_helion_node": "importer",
    "synthesize_tensor_meta": "importer",
    "TextBuilder": "inline",
    "inline_torch_mlir_output": "inline",
    "HelionLaunch": "triton",
    "launches": "triton",
}

__all__ = [
    "EmittedKernel",
    "HelionLaunch",
    "HelionLowering",
    "Programs",
    "SourceLink",
    "TextBuilder",
    "TorchMLIRNodeImporter",
    "configurations",
    "emit_kernel",
    "import_aten_node_to_mlir",
    "inline_torch_mlir_output",
    "is_kernel",
    "launches",
    "lower",
    "lower_kernel",
    "normalize_helion_node",
    "register_handler",
    "synthesize_tensor_meta",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"irwidget.helion.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
