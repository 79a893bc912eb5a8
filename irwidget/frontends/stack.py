"""Have torch.export note the user's whole call stack for every operation, and where in its line each call is.

By itself it keeps only frames called `forward`: plain functions, and helpers
that forward calls, would lose their lines. And it keeps lines, of which one may
call five operations.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import traceback
from collections.abc import Generator, Iterator
from itertools import islice
from types import FrameType
from typing import Any

from irwidget.frontends.expressions import operation_column
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
    calls = [number for number in ours if stack[number].name != "__torch_dispatch__"]  # which an operator calls
    below = [stack[number] for number in range(calls[-1] + 1 if calls else 0, len(stack)) if number not in ours]
    kept = [frame for frame in below if is_user_file(frame.filename) or frame.name == "forward"]
    return traceback.StackSummary.from_list(list(_with_columns(kept, inspect.currentframe())))


def _with_columns(stack: list[traceback.FrameSummary], innermost: FrameType | None) -> Iterator[traceback.FrameSummary]:
    """The frames of the stack that runs, each with the column of what it calls after its name, for `node_lines`."""
    running = iter(_outermost_first(innermost))
    for frame in stack:
        live = next((one for one in running if _same(one, frame)), None)
        column = _column(live) if live and is_user_file(frame.filename) else 0
        name = f"{frame.name}, column {column}" if column else frame.name
        yield traceback.FrameSummary(frame.filename, frame.lineno, name, lookup_line=False, line=frame.line)


def _outermost_first(frame: FrameType | None) -> list[FrameType]:
    """The frames that called one; without it, which would hold itself, and with it what the user's functions hold."""
    running: list[FrameType] = []
    while frame and (frame := frame.f_back):
        running.append(frame)
    return running[::-1]


def _same(live: FrameType, frame: traceback.FrameSummary) -> bool:
    code = live.f_code
    return (code.co_filename, live.f_lineno, code.co_name) == (frame.filename, frame.lineno, frame.name)


def _column(live: FrameType) -> int:
    line, end_line, start, end = next(islice(live.f_code.co_positions(), live.f_lasti // 2, None))
    if line is None or end_line is None or start is None or end is None:
        return 0
    return operation_column(live.f_code.co_filename, line, end_line, start, end)
