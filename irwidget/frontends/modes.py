"""The modes of PyTorch under which a call is made, which decide what it computes: gradients, inference, autocast."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

_DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Modes:
    """Modes to be entered again: a call of this is a context."""

    gradients: bool
    inference: bool
    autocast: tuple[tuple[bool, Any], ...]
    """Of each sort of device whether it casts, and to which type."""

    @contextlib.contextmanager
    def __call__(self) -> Generator[None]:
        import torch

        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode(self.inference))
            stack.enter_context(torch.set_grad_enabled(self.gradients))
            for device, (enabled, dtype) in zip(_DEVICES, self.autocast, strict=True):
                stack.enter_context(torch.autocast(device, dtype, enabled))
            yield


USUAL = Modes(gradients=True, inference=False, autocast=((False, None),) * len(_DEVICES))


def current() -> Callable[[], AbstractContextManager[None]]:
    """The modes of this moment; before PyTorch is there, none."""
    if "torch" not in sys.modules:
        return contextlib.nullcontext
    import torch

    casts = ((torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in _DEVICES)
    return Modes(torch.is_grad_enabled(), torch.is_inference_mode_enabled(), tuple(casts))
