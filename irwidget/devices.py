"""Code that names a GPU, on a machine without one: what asks for `cuda` gets the CPU."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")


def on_cpu(value: Any) -> Any:
    """A device moved to the CPU; everything else as it is."""
    if isinstance(value, torch.device):
        return CPU if value.type == "cuda" else value
    if isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value):
        return "cpu"
    return value


def on_cpu_kwargs(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keyword arguments with `device` moved to the CPU; a number is one of a GPU. No memory is pinned there."""
    kwargs = dict(kwargs or {})
    if "pin_memory" in kwargs:
        kwargs["pin_memory"] = False
    if "device" in kwargs:
        kwargs["device"] = CPU if isinstance(kwargs["device"], int) else on_cpu(kwargs["device"])
    return kwargs


def without_gpu() -> contextlib.AbstractContextManager[Any]:
    """Meanwhile, tensors that are made on a GPU, or moved there, are on the CPU; nothing where there is one."""
    return contextlib.nullcontext() if torch.cuda.is_available() else _OnCpu()


class _OnCpu(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        if func is torch.Tensor.cuda:
            return args[0]
        return func(*map(on_cpu, args), **on_cpu_kwargs(kwargs))
