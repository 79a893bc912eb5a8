"""Have torch.export note the user's whole call stack for every operation.

By itself it keeps only frames called `forward`: plain functions, and helpers
that forward calls, would lose their lines.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Generator
from typing import Any

from irwidget.private_torch import traceback_filter
from irwidget.toolchain.locations import is_user_file

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@contextlib.contextmanager
def whole_user_stacks() -> Generator[None]:
    """While it lasts, torch's tracers keep every frame of the user's files below our call, and all `forward`s."""
    with traceback_filter(_filter):
        yield


def _filter(_: Any, stack: traceback.StackSummary) -> traceback.StackSummary:
    ours = [number for number, frame in enumerate(stack) if frame.filename.startswith(_OURS)]
    below = stack[ours[-1] + 1 :] if ours else stack
    kept = [frame for frame in below if is_user_file(frame.filename) or frame.name == "forward"]
    return traceback.StackSummary.from_list(kept)
