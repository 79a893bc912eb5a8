"""The process that tries the candidates of a reduction, each in a copy of itself, several side by side.

One may crash, hang or eat memory, and the next begins as if it had not been.

`irwidget.reducing.pool` starts it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from irwidget import arguments, cells, files
from irwidget.cells import AlreadyShown
from irwidget.commands import first_that_fits, targets_of
from irwidget.errors import IRWidgetError
from irwidget.frontends import raw_text
from irwidget.lowering import Lowering, lower
from irwidget.reducing import failing
from irwidget.reducing.failing import Kind
from irwidget.reducing.tasks import FileTask, IRTask, Outcome, Task
from irwidget.toolchain import child, forked, mlir
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Failure, Step, Trace

if TYPE_CHECKING:
    from irwidget.toolchain.events import PassStarted

_MOST = 1 << 16
"""Bytes for what a copy was at when it ended."""


def main() -> None:
    connection = child.serving()
    warnings.simplefilter("ignore")
    sending = threading.Lock()

    def answer(number: int, task: Task) -> None:
        data = pickle.dumps((number, outcome(task)))
        with sending:
            connection.send_bytes(data)

    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            number, task = pickle.loads(connection.recv_bytes())
            _warm(task)
            threading.Thread(target=answer, args=(number, task), daemon=True).start()


def outcome(task: Task) -> Outcome:
    """What comes of a task, run in a copy of this process."""
    noted = _Noted()
    started = time.monotonic()
    work: Callable[[], Outcome]
    work = (lambda: _of_ir(task, noted)) if isinstance(task, IRTask) else (lambda: _of_file(task, noted))
    try:
        found = forked.call(work, seconds=task.seconds, memory=task.memory, cuda=False)
    except forked.Died as death:
        found = noted.ended(f"crashed (the worker {death})")
    except forked.TimedOut:
        found = noted.ended(f"timed out (after {task.seconds:.3g} s)")
    except MemoryError:
        found = noted.ended("ran out of memory")
    except Exception as error:  # text that is no IR; a defect of ours in one candidate does not cost the others
        found = Outcome(failing.of_error(error), message=str(error))
    return replace(found, seconds=time.monotonic() - started)


_warmed: set[str] = set()


def _warm(task: Task) -> None:
    """Have what a copy needs imported once, and run on a program of our own where that loads more."""
    what = task.steps[0].tool if isinstance(task, IRTask) and task.steps else type(task).__name__
    if what in _warmed:
        return
    _warmed.add(what)
    quiet = Options(isolate=False, dumps=False)
    with contextlib.suppress(Exception):
        if isinstance(task, FileTask):
            _warm_for_file(task)
        elif what in ("opt", "llc"):
            Source("define void @f() {\n  ret void\n}", "llvm").run((Step(what, "-O1"),), quiet)
        else:
            Source("module {}").run((), quiet)
            mlir.prepare()  # a context, of which each copy has its own


_OURS = {
    "triton": (
        "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x):\n"
        "    tl.store(x, 1.0)\n\n\nkernel[(1,)](torch.ones(1))\n",
        ("--to", "triton_gpu_ir", "--arch", "sm_90"),
    ),
    "helion": (
        "import helion\nimport helion.language as hl\nimport torch\n\nimport irwidget\n\n\n"
        "@helion.kernel(config=helion.Config(block_sizes=[16]))\ndef kernel(x: torch.Tensor) -> torch.Tensor:\n"
        "    out = torch.empty_like(x)\n    for tile in hl.tile(x.size(0)):\n        out[tile] = x[tile]\n"
        "    return out\n"
        "\n\nirwidget.explore(kernel, torch.ones(16))\n",
        ("--to", "helion_mlir"),
    ),
    "torch": (
        "import torch\n\nimport irwidget\n\nirwidget.explore(torch.nn.ReLU(), torch.ones(1))\n",
        ("--to", "linalg_on_tensors_mlir"),
    ),
}
"""Programs of our own, by what they import: lowering one loads all that a candidate needs."""


def _warm_for_file(task: FileTask) -> None:
    """Lower a program of our own of the kind of a file, where it is of one."""
    if kind := next((name for name in ("helion", "triton", "torch") if name in task.text), None):
        text, words = _OURS[kind]
        _of_file(FileTask(text, words), _Noted())
        mlir.prepare()


class _Noted:
    """The pass that a copy is at, in memory that it shares with this process."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _MOST)

    def pass_began(self, started: PassStarted, step: Step, _: float) -> None:
        """Told by a run of each pass."""
        data = pickle.dumps((step.tool, started.name, started.pipeline[: _MOST // 8], started.step))
        self._memory.seek(0)
        self._memory.write(len(data).to_bytes(8, "little") + data)

    def ended(self, how: str) -> Outcome:
        """The outcome where a copy ended before it could say anything."""
        size = int.from_bytes(self._memory[:8], "little")
        tool, name, pipeline, step = pickle.loads(self._memory[8 : 8 + size]) if size else ("", "", "", -1)
        failure = Failure(step, name, f"{tool}: pass {name} {how}" if name else f"the lowering {how}", kind="tool")
        return Outcome(failing.kind_of(failure), message=failure.message, reproducer=pipeline, step=step)


def _of_ir(task: IRTask, noted: _Noted) -> Outcome:
    wants = task.wanted == "text"
    options = Options(
        isolate=False,
        dumps=False,
        verify=task.verify,
        target=task.target,
        progress=noted.pass_began,
        memory=task.memory,
    )
    trace = raw_text.source(task.text, task.steps).run(task.steps, options)
    return _told(trace, wants=wants)


def _told(trace: Trace, *, wants: bool) -> Outcome:
    failure = trace.failure
    if failure is None:
        kind = failing.of_verdict(trace.check) if trace.check else None
        return Outcome(kind, trace.dumps[-1].text if wants else "", str(trace.check or ""), tools=dict(trace.tools))
    before = trace.dumps[-1].text if wants and trace.dumps else ""
    tools = dict(trace.tools)
    kind = failing.kind_of(failure)
    return Outcome(kind, "", failure.message, failure.reproducer, before, tools, failure.step)


def _of_file(task: FileTask, noted: _Noted) -> Outcome:
    """Lower a file in this process; an error of the file's own is no failure of a lowering."""
    with tempfile.TemporaryDirectory(prefix="irwidget-") as folder:
        path = Path(folder, "program.py")
        path.write_text(task.text, encoding="utf-8")
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # the copy ends soon
        shell = files.FileShell(path, task.text)
        with shell.as_main():
            try:
                traces = [low.trace for low in _lowered(task, shell, noted)]
            except AlreadyShown:
                return _ITS_OWN
            except IRWidgetError as error:
                traces = [error.lowering.trace] if error.lowering and error.lowering.trace.failure else []
                if not traces:
                    return Outcome(failing.of_error(error), message=str(error).replace(f"{folder}/", ""))
    if shell.shown:
        return _ITS_OWN
    told = [_told(trace, wants=task.wanted == "text") for trace in traces]
    return next((one for one in told if one.kind), told[0] if told else _NOTHING)


_NOTHING = Outcome(Kind("program", "", "", "the program has nothing to lower"))
_ITS_OWN = Outcome(Kind("program", "", "", "the program itself ends with an error"))


def _lowered(task: FileTask, shell: files.FileShell, noted: _Noted) -> list[Lowering]:
    """What the file wants lowered. Raises as `lower`, and AlreadyShown."""
    parsed = arguments.parse(task.words, "irwidget", objects=True)
    parsed.source = "python"
    wanted = targets_of(parsed)
    options = {**arguments.lower_options(parsed), **arguments.target_options(parsed, wanted)}
    options |= {"isolate": False, "progress": noted.pass_began}
    make = cast("Callable[..., dict[str, Lowering]]", partial(lower, to=list(wanted), **options))
    found: list[Lowering] = []
    for candidate in cells.candidates(shell, "", task.text, wanted, parsed):
        found += first_that_fits(candidate, make).values()
    return found


if __name__ == "__main__":
    main()
