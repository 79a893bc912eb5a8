"""What is changed for a while and comes back: attributes, and how tensors show themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from irwidget.private_torch import DisableTorchFunction, disable_current_modes

_missing = object()


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Generator[None]:
    """Set an attribute for a while; what was there, or its absence, comes back."""
    before = vars(owner).get(name, _missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _missing:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


@contextlib.contextmanager
def as_it_is() -> Generator[None]:
    """Within `pretend`, tensors as they really are: for code of Triton's that copies what it finds."""
    with DisableTorchFunction(), disable_current_modes():
        yield
