"""Names of torch-spyre that it does not document, as its commits of June and July 2026 have them.

`tests/spyre/test_frontend.py` asks a checkout for them, where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

EXTENSION = "torch_spyre._C"
"""The compiled extension."""
NORMALIZES = "_normalize_op_args"
"""In `split_multi_ops`: what it hands on of an operation's arguments."""


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
