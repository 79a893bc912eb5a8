"""What torch-mlir makes of a model by itself, in a copy of this process, which it may crash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from irwidget.toolchain import forked, mlir

OUTPUT_TYPES = {
    "torch_mlir": "torch",
    "linalg_on_tensors_mlir": "linalg-on-tensors",
    "tosa_mlir": "tosa",
    "stablehlo_mlir": "stablehlo",
}
SECONDS = 120.0


def lowered(
    model: torch.nn.Module, args: tuple[Any, ...], target: str, kwargs: Mapping[str, Any] | None = None
) -> str | None:
    """The text that `torch_mlir.fx.export_and_import` gives for one of `OUTPUT_TYPES`; None where it gives none."""
    from torch_mlir import fx  # pyright: ignore[reportMissingImports]

    def work() -> str | None:
        try:
            kind = OUTPUT_TYPES[target]
            module: Any = fx.export_and_import(model, *args, output_type=kind, func_name="main", **(kwargs or {}))
        except Exception:
            return None
        text: str = module.operation.get_asm(
            large_elements_limit=mlir.LARGE_ELEMENTS, large_resource_limit=mlir.LARGE_RESOURCE
        )
        return mlir.content(text).text

    try:
        return forked.call(work, seconds=SECONDS)
    except (forked.Died, forked.TimedOut):
        return None
