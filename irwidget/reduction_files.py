"""Files of Python as candidates of a reduction: run, and what they want lowered, lowered."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from irwidget import arguments, cells, files
from irwidget.cells import AlreadyShown
from irwidget.commands import first_that_fits, targets_of
from irwidget.errors import IRWidgetError
from irwidget.lowering import Lowering, lower
from irwidget.reducing import failing
from irwidget.reducing.failing import Kind
from irwidget.reducing.tasks import FileTask, Outcome

Progress = Callable[[Any, Any, float], None]
"""Told of each pass that begins, with its step and the time."""

_OURS = {
    "triton": (
        "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x):\n"
        "    tl.store(x, 1.0)\n\n\nkernel[(1,)](torch.ones(1))\n"
    ),
    "helion": (
        "import helion\nimport helion.language as hl\nimport torch\n\nimport irwidget\n\n\n"
        "@helion.kernel(config=helion.Config(block_sizes=[16]))\ndef kernel(x: torch.Tensor) -> torch.Tensor:\n"
        "    out = torch.empty_like(x)\n    for tile in hl.tile(x.size(0)):\n        out[tile] = x[tile]\n"
        "    return out\n"
        "\n\nirwidget.explore(kernel, torch.ones(16))\n"
    ),
    "torch": "import torch\n\nimport irwidget\n\nirwidget.explore(torch.nn.ReLU(), torch.ones(1))\n",
}
"""Programs of our own, by what they import: lowering one loads all that a candidate needs."""


def warm(task: FileTask) -> None:
    """Read the words of a task, and lower a program of our own of the kind of its file, where it is of one: what that
    takes is imported then.
    """
    _, wanted, options = _asked(task.words)
    if kind := next((name for name in ("helion", "triton", "torch") if name in task.text), None):
        arch = ("--arch", str(options["arch"])) if options.get("arch") else ()
        outcome(FileTask(_OURS[kind], ("--to", ",".join(wanted), *arch)), lambda *_: None)


def outcome(task: FileTask, progress: Progress) -> Outcome:
    """Lower a file in this process, which should end soon; an error of the file's own is no failure of a lowering."""
    with tempfile.TemporaryDirectory(prefix="irwidget-") as folder:
        path = Path(folder, "program.py")
        path.write_text(task.text, encoding="utf-8")
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # the copy ends soon
        shell = files.FileShell(path, task.text)
        with shell.as_main():
            try:
                traces = [low.trace for low in _lowered(task, shell, progress)]
            except AlreadyShown:
                return _ITS_OWN
            except IRWidgetError as error:
                traces = [error.lowering.trace] if error.lowering and error.lowering.trace.failure else []
                if not traces:
                    return Outcome(failing.of_error(error), message=str(error).replace(f"{folder}/", ""))
    if shell.error:
        return _ITS_OWN
    told = [Outcome.of(trace, wants=task.wanted == "text") for trace in traces]
    found = next((one for one in told if one.kind), told[0] if told else _NOTHING)
    return replace(found, message=found.message.replace(f"{folder}/", ""))


_NOTHING = Outcome(Kind("program", "", "", "the program has nothing to lower"))
_ITS_OWN = Outcome(Kind("program", "", "", "the program itself ends with an error"))


def _lowered(task: FileTask, shell: files.FileShell, progress: Progress) -> list[Lowering]:
    """What the file wants lowered. Raises as `lower`, and AlreadyShown."""
    parsed, wanted, options = _asked(task.words)
    make = cast("Callable[..., dict[str, Lowering]]", partial(lower, to=list(wanted), progress=progress, **options))
    found: list[Lowering] = []
    for candidate in cells.unrefused(cells.candidates(shell, "", task.text, wanted, parsed)):
        found += first_that_fits(candidate, make).values()
    return found


@cache
def _asked(words: tuple[str, ...]) -> tuple[argparse.Namespace, list[str], dict[str, Any]]:
    """What the words of a task ask for: the same for all candidates, and read by the tools once. Raises UsageError."""
    parsed = arguments.parse(words, "irwidget", objects=True)
    parsed.source, parsed.isolate = "python", False
    wanted = targets_of(parsed)
    return parsed, wanted, {**arguments.lower_options(parsed), **arguments.target_options(parsed, wanted)}
