"""Run a notebook without a page and keep what it lowered."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irwidget.errors import UsageError
from irwidget.result import Lowering
from irwidget.trace import Trace


def lowerings(path: Path) -> list[Lowering]:
    """Run the code cells of a notebook here, in its folder, and give every lowering that they showed.

    Raises UsageError when it is no notebook, when a cell fails, or when it lowers nothing.
    """
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    sources = list(_cells(path, "code"))
    shell = InteractiveShell()
    found: dict[int, Lowering] = {}
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        for number, source in enumerate(sources, 1):
            with capture_output():
                ran = shell.run_cell(source)
            if not ran.success:
                raise UsageError(f"{path}: code cell {number} fails: {ran.error_before_exec or ran.error_in_exec}")
            lowered = shell.user_ns.get("_lowering")
            for shown in (*(lowered.values() if isinstance(lowered, dict) else [lowered]), ran.result):
                if isinstance(trace := getattr(shown, "trace", None), Trace):
                    found[id(trace)] = _lowering(shown)
    finally:
        os.chdir(before)
    if not found:
        raise UsageError(f"{path} lowers nothing: no cell begins with %%lower or %lower, or ends with a lowering")
    return list(found.values())


def _lowering(shown: Any) -> Lowering:
    """What a cell showed, a lowering or a program for Spyre, as a lowering."""
    return shown if isinstance(shown, Lowering) else Lowering(shown.trace, getattr(shown, "results", None))


def introduction(path: Path) -> tuple[str, str]:
    """The title of a notebook and the paragraph below it, as plain text; the file's name where it has no text.

    Raises UsageError when it is no notebook.
    """
    title, _, rest = next(_cells(path, "markdown"), path.stem).partition("\n")
    first = rest.strip().split("\n\n")[0].replace("\n", " ")
    return title.lstrip("# "), first.replace("`", "").replace("*", "")


def _cells(path: Path, kind: str) -> Iterator[str]:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no notebook: {error}") from None
    for cell in cells:
        if cell["cell_type"] == kind:
            yield "".join(cell["source"])
