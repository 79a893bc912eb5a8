"""Folders for the files of programs, under a name that says whose they are: a worker that is killed cannot tidy up."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path


def folder() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder of this process, for a `with` statement."""
    return tempfile.TemporaryDirectory(prefix=f"irwidget-{os.getpid()}-")


def clear(pid: int) -> None:
    """Remove what a process that has been killed left."""
    with contextlib.suppress(OSError):
        for left in Path(tempfile.gettempdir()).glob(f"irwidget-{pid}-*"):
            shutil.rmtree(left, ignore_errors=True)
